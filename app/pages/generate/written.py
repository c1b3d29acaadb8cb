"""Generated text for the browser: its steps, the selected one, and its heads."""

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


def step_of(continuations: Continuations, chosen: Selection) -> int:
    """The step that is looked at: the one chosen, or the last."""
    return min(chosen.choices_of(Choices).step, len(continuations.a.labels) - 1)


def heads_of(continuations: Continuations, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those with the clearest roles on A's text, if B has them too."""
    heads = clearest(continuations.comparison) if chosen.heads is None else chosen.heads
    comparison = continuations.comparison
    return tuple((layer, head) for layer, head in heads if layer < comparison.n_layers and head < comparison.n_heads)


def steps_of(continuations: Continuations) -> dict[str, list[WritingStep]]:
    """Every step as the browser draws it, of each run; in the steps that both have they choose from the same tokens."""
    listed = continuations.candidates()
    return {side: _steps(each, listed[side]) for side, each in continuations.sides.items()}


def _steps(continuation: Written, listed: Candidates) -> list[WritingStep]:
    labels = continuation.run.tokenizer.labels
    rows = zip(
        listed.tokens.tolist(), listed.ranks.tolist(), listed.before.tolist(), listed.after.tolist(), strict=True
    )
    return [
        WritingStep(
            token=int(continuation.tokens[step]),
            label=continuation.labels[step],
            is_given=step < continuation.n_given,
            log_prob=float(continuation.log_probs[step]),
            entropies=(float(continuation.entropies[0, step]), float(continuation.entropies[1, step])),
            choices=[TokenChoice(*choice) for choice in zip(ids, labels(ids), ranks, before, after, strict=True)],
        )
        for step, (ids, ranks, before, after) in enumerate(rows)
    ]


def beside(continuations: Continuations, steps: list[WritingStep]) -> Beside:
    """Run B's text and steps as the browser draws them."""
    assert continuations.own is not None  # used only where there is a B
    assert continuations.b is not None
    return Beside(
        prompt=continuations.own.run.labels[: continuations.own.n_prompt],
        own=list(zip(continuations.own.labels, continuations.own.log_probs.tolist(), strict=True)),
        steps=steps,
        apart=[(own, drawn) for own, drawn in continuations.divergence().T.tolist()],
    )


def axis(continuations: Continuations) -> Axis:
    """The prompts' tokens and the written ones."""
    return axis_of(continuations.comparison, "token", continuations.align)


def token_axis(continuations: Continuations) -> TokenAxis:
    """The prompts' tokens and the written ones, as the components take them."""
    return TokenAxis(continuations.comparison.labels, continuations.comparison.presence)


def panel(continuations: Continuations, head: Head) -> HeadPanel:
    """One head over prompts and written tokens."""
    return panels.panel(continuations.comparison, head, axis(continuations), "token")
