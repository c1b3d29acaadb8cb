"""The page *Generate* in numbers: every step, the tokens that one chose from, and where heads looked for it."""

from collections.abc import Mapping, Sequence

import numpy as np

from headlight.app import selection
from headlight.app.components import Number, WritingStep
from headlight.app.pages.generate.choices import Choices
from headlight.app.pages.generate.written import axis, heads_of, step_of, steps_of
from headlight.app.parts import options, tables
from headlight.app.parts.sides import SIDES, with_difference
from headlight.model.attention import fields
from headlight.model.attention.fields import How
from headlight.model.decoding.compared import Continuations
from headlight.model.runs.edits import head_name


def draw(continuations: Continuations) -> None:
    """Every step in a row, and the tokens that the one looked at chose from."""
    tables.draw(_every_step(continuations), "Every written token, step by step")
    n_steps, step = len(continuations.a.labels), step_of(continuations, selection.current())

    def look_at(number: int) -> None:
        selection.choose(Choices, step=number - 1)

    options.row(
        options.tie(Number, "step", "Step", step + 1, look_at, least=1, most=n_steps, width=90),
        name="step",
    )
    steps = {side: each[step] for side, each in steps_of(continuations).items() if step < len(each)}
    tables.draw(_choices(steps), "The likeliest tokens of this step, before and after temperature and cuts")


def draw_heads(continuations: Continuations) -> None:
    """The chosen heads' rows at the place where the step's token was written."""
    place = continuations.place(step_of(continuations, selection.current()))
    seen = slice(place + 1)
    columns: tables.Columns = {"Place": range(place + 1), "Token": continuations.comparison.labels[seen]}
    for head in heads_of(continuations, selection.current()):
        for side in list(SIDES)[: 1 if continuations.b is None else None]:
            called = "" if continuations.b is None else SIDES[side]
            cells = fields.on_axis(continuations.comparison, side, head, How(), axis(continuations))[place, seen]
            columns[f"{head_name(head)} {called}".rstrip()] = cells.numpy()
    tables.draw(columns, "Attention weight of the chosen heads from the pinned place to every place up to it")


def _every_step(continuations: Continuations) -> tables.Columns:
    n_steps = len(continuations.a.labels)
    columns: tables.Columns = {
        "Step": range(1, n_steps + 1),
        "Token": continuations.a.labels,
        "Put there by you": [place < continuations.a.n_given for place in range(n_steps)],
    }
    if continuations.own is not None and continuations.b is not None:
        columns["B's own token"] = _filled(continuations.own.labels, n_steps)
    log_probs = {side: each.log_probs[:n_steps].numpy() for side, each in continuations.sides.items()}
    columns |= _named("Log-probability", log_probs, n_steps)
    for place, title in enumerate(["Entropy", "Entropy of what is drawn from"]):
        entropies = {side: each.entropies[place, :n_steps].numpy() for side, each in continuations.sides.items()}
        columns |= _named(title, entropies, n_steps)
    if continuations.b is not None:
        titles = ["JS(A, B)", "JS(A, B) after temperature and cuts"]
        for title, values in zip(titles, continuations.divergence(), strict=True):
            columns[f"{title} (nats)"] = _filled(values.numpy(), n_steps, np.nan)
    return columns


def _named(title: str, sides: Mapping[str, np.ndarray], n_steps: int) -> tables.Columns:
    """A column a side, with B - A; under its title alone where there is one side."""
    if len(sides) == 1:
        return {f"{title} (nats)": sides["A"]}
    by_side = with_difference(sides)
    return {f"{title} {side} (nats)": _filled(values, n_steps, np.nan) for side, values in by_side.items()}


def _filled(values: Sequence[str] | np.ndarray, n_steps: int, missing: float | None = None) -> list[object]:
    """Values padded to as many steps as A has."""
    return [*values[:n_steps], *[missing] * (n_steps - len(values))]


def _choices(steps: Mapping[str, WritingStep]) -> tables.Columns:
    choices = {side: step.choices for side, step in steps.items()}
    alone = len(choices) == 1
    columns: tables.Columns = {
        "Rank" if alone else f"Rank {side}": [each.rank for each in listed] for side, listed in choices.items()
    }
    columns["Token"] = [each.label for each in choices["A"]]
    for title, when in [("Probability", "before"), ("Drawn with", "after")]:
        sides = {side: np.array([getattr(each, when) for each in listed]) for side, listed in choices.items()}
        named = with_difference(sides)
        columns |= {title if alone else f"{title} {side}": values for side, values in named.items()}
    return columns
