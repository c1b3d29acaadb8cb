"""What was written as the browser draws it: its steps, the one looked at, and its heads."""

from app import runs
from app.components import HeadPanel, TokenAxis, TokenChoice, WritingStep
from app.generation import Written
from app.selection import Selection
from app.selection.chosen import Head
from app.shown import BOTH
from app.views import panels
from app.views.attention import clearest


def step_of(found: Written, chosen: Selection) -> int:
    """The step that is looked at: the one chosen, or the last."""
    return min(chosen.step, len(found.labels) - 1)


def heads_of(found: Written, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those that are the clearest on all that was read and written."""
    return clearest(found.run) if chosen.heads is None else chosen.heads


def steps_of(found: Written) -> list[WritingStep]:
    """Every step as the browser draws it."""
    each, labels = found.candidates, found.run.tokenizer.labels
    rows = zip(each.tokens, each.ranks.tolist(), each.before.tolist(), each.after.tolist(), strict=True)
    choices = [
        [TokenChoice(*choice) for choice in zip(tokens.tolist(), labels(tokens), ranks, before, after, strict=True)]
        for tokens, ranks, before, after in rows
    ]
    return [
        WritingStep(
            token=int(found.tokens[step]),
            label=label,
            given=step < found.n_given,
            log_prob=float(found.log_probs[step]),
            entropies=(float(found.entropies[0, step]), float(found.entropies[1, step])),
            choices=choices[step],
        )
        for step, label in enumerate(found.labels)
    ]


def panel(found: Written, head: Head) -> HeadPanel:
    """One head over prompt and written tokens."""
    coded = runs.remembered((*found.key, "head", head), lambda: panels.of_run(found.run, head))
    return HeadPanel(coded)


def axis(found: Written) -> TokenAxis:
    """The prompt's tokens and the written ones."""
    return TokenAxis(found.run.labels, (BOTH,) * len(found.run.labels))
