"""What was written as the browser draws it: its steps, the one looked at, and its heads."""

from headlight.app.components import Beside, HeadPanel, TokenAxis, TokenChoice, WritingStep
from headlight.app.pages.generate.choices import Choices
from headlight.app.parts import panels
from headlight.app.parts.first_heads import clearest
from headlight.app.selection import Selection
from headlight.model.attention.axis import Axis, axis_of
from headlight.model.decoding.compared import Candidates, Continuations
from headlight.model.decoding.continued import Written
from headlight.model.runs.edits import Head

GROUP = "generated"  # of the components that point at the same tokens


def step_of(found: Continuations, chosen: Selection) -> int:
    """The step that is looked at: the one chosen, or the last."""
    return min(chosen.of(Choices).step, len(found.a.labels) - 1)


def heads_of(found: Continuations, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those that are the clearest on all that A read and wrote, if B has them too."""
    heads = clearest(found.comparison) if chosen.heads is None else chosen.heads
    shown = found.comparison
    return tuple((layer, head) for layer, head in heads if layer < shown.n_layers and head < shown.n_heads)


def steps_of(found: Continuations) -> dict[str, list[WritingStep]]:
    """Every step as the browser draws it, of each run; in the steps that both have they choose from the same tokens."""
    listed = found.candidates()
    return {side: _steps(each, listed[side]) for side, each in found.sides.items()}


def _steps(found: Written, listed: Candidates) -> list[WritingStep]:
    labels = found.run.tokenizer.labels
    rows = zip(
        listed.tokens.tolist(), listed.ranks.tolist(), listed.before.tolist(), listed.after.tolist(), strict=True
    )
    return [
        WritingStep(
            token=int(found.tokens[step]),
            label=found.labels[step],
            given=step < found.n_given,
            log_prob=float(found.log_probs[step]),
            entropies=(float(found.entropies[0, step]), float(found.entropies[1, step])),
            choices=[TokenChoice(*choice) for choice in zip(ids, labels(ids), ranks, before, after, strict=True)],
        )
        for step, (ids, ranks, before, after) in enumerate(rows)
    ]


def beside(found: Continuations, steps: list[WritingStep]) -> Beside:
    """Run B's text and steps as the browser draws them."""
    assert found.own is not None  # asked where there is a B
    assert found.b is not None
    return Beside(
        prompt=found.own.run.labels[: found.own.n_prompt],
        own=list(zip(found.own.labels, found.own.log_probs.tolist(), strict=True)),
        steps=steps,
        apart=[(own, drawn) for own, drawn in found.divergence().T.tolist()],
    )


def axis(found: Continuations) -> Axis:
    """The prompts' tokens and the written ones."""
    return axis_of(found.comparison, "token", found.align)


def token_axis(found: Continuations) -> TokenAxis:
    """The prompts' tokens and the written ones, as the components take them."""
    return TokenAxis(found.comparison.labels, found.comparison.presence)


def panel(found: Continuations, head: Head) -> HeadPanel:
    """One head over prompts and written tokens."""
    return panels.panel(found.comparison, head, axis(found), "token")
