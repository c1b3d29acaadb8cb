"""One step's tokens before and after temperature and cuts, and where the chosen heads looked at every step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.components import TokenChoice, WritingStep
from headlight.app.exports.picture import Colours, label_axis, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.generate import generation
from headlight.app.pages.generate.written import axis, heads_of, step_of, steps_of
from headlight.app.parts.first_heads import clearest
from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.attention.fields import How
from headlight.model.decoding.compared import Continuations
from headlight.model.measure.difference import DIFFERENCE, SIDES, sides_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

BARS = 3.4  # inches: the height of the chart
WIDTH = (6.4, 12.0)  # inches at least and at most
PITCH = 0.14  # inches that a token's label wants
HALF = 0.4  # of the room that a token's two bars have
WHENS = ("before", "after")


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The bars of the step, and under them maps of each head: a row a written token, a column a token looked at.

    With B there are three of each: A, B and B - A.
    """
    from matplotlib.figure import Figure

    found = generation.both(comparison, chosen)
    heads = (heads_of(found, chosen) or clearest(found.comparison)) if found.a.labels else ()
    sides = sides_of(found.b is not None)
    n_places, n_steps = len(found.comparison.labels), len(found.a.labels)
    width = min(WIDTH[1], max(WIDTH[0], PITCH * n_places))
    height = max(1.2, PITCH * n_steps) + 0.7
    n_rows = 1 + len(heads) * (1 if found.b is None else len(sides))
    figure = Figure(figsize=(width, BARS + height * (n_rows - 1) + 0.4), layout="constrained")
    grid = figure.add_gridspec(n_rows, 1, height_ratios=[BARS, *[height] * (n_rows - 1)])
    _steps(figure, grid[0], found, chosen, palette)
    at = [figure.add_subplot(grid[row]) for row in range(1, n_rows)]
    _maps(figure, at, found, [(head, side) for head in heads for side in sides], palette, (width, height - 0.7))
    origin(figure, comparison, palette)
    return figure


def _maps(
    figure: "Figure",
    at: Sequence["Axes"],
    found: Continuations,
    wanted: Sequence[tuple[Head, str]],
    palette: Palette,
    size: tuple[float, float],
) -> None:
    places = [found.place(step) for step in range(len(found.a.labels))]
    cells = {
        (head, side): fields.on_axis(found.comparison, SIDES[side], head, How(), axis(found))[places].numpy()
        for head, side in wanted
    }
    most = largest(values for (_, side), values in cells.items() if side == DIFFERENCE) if found.b is not None else 1.0
    drawn = []
    for axes, (head, side) in zip(at, wanted, strict=True):
        signed = side == DIFFERENCE
        called = f"attention weight{', B − A' if signed else ''}"
        drawn.append((axes, cells[head, side], Colours(called, most if signed else 1.0, signed, root=True)))
        run = "" if found.b is None else f", {side}".replace("-", "−")
        axes.set_title(f"{head_name(head)}{run}: where it looked when each token was written")
        label_axis(axes, "y", found.a.labels, size[1])
        label_axis(axes, "x", found.comparison.labels if axes is at[-1] else [], size[0])
    maps(figure, drawn, palette)


def _steps(figure: "Figure", where: "SubplotSpec", found: Continuations, chosen: Selection, palette: Palette) -> None:
    """The likeliest tokens from the top down, the model's own probability above the one that was drawn with."""
    step = step_of(found, chosen)
    steps = {side: listed[step] for side, listed in steps_of(found).items() if 0 <= step < len(listed)}
    n_columns = 3 if "B" in steps else 1
    grid = where.subgridspec(1, n_columns)
    at = [figure.add_subplot(grid[column]) for column in range(n_columns)]
    if not steps:
        at[0].set_axis_off()
        at[0].set_title("Nothing was written: the prompt fills the context")
        return
    for axes, (side, each) in zip(at, steps.items(), strict=False):
        _bars(axes, {when: [getattr(choice, when) for choice in each.choices] for when in WHENS}, palette)
        axes.set_xlabel("probability", fontsize=7)
        of_run = f"{side}, step" if "B" in steps else "Step"
        title = f"{of_run} {step + 1} of {len(found.a.labels)}: {_facts(each)}"
        axes.set_title(title, fontsize=7 if "B" in steps else None)
    at[0].legend(fontsize=6.5, loc="lower right")
    _name_tokens(at[0], steps)
    if "B" in steps:
        pairs = list(zip(steps["A"].choices, steps["B"].choices, strict=True))
        _bars(at[2], {when: [getattr(b, when) - getattr(a, when) for a, b in pairs] for when in WHENS}, palette)
        at[2].axvline(0, color=palette.text, linewidth=0.6)
        at[2].set_title("B − A")
        for axes in at[1:]:
            axes.set_yticks([])


def _bars(axes: "Axes", values: dict[str, list[float]], palette: Palette) -> None:
    places = np.arange(len(values["before"]))
    axes.barh(places - HALF / 2, values["before"], HALF, color=palette.faded, label="the model's own probability")
    axes.barh(
        places + HALF / 2, values["after"], HALF, color=palette.bars[0], label="drawn from, after temperature and cuts"
    )
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _name_tokens(axes: "Axes", steps: dict[str, WritingStep]) -> None:
    """The tokens beside their bars, the written ones marked, and those that are cut off in every run."""
    listed = [each.choices for each in steps.values()]
    labels = [_called(same, steps) for same in zip(*listed, strict=True)]
    axes.set_yticks(range(len(labels)), labels, fontsize=7)


def _called(same: tuple[TokenChoice, ...], steps: dict[str, WritingStep]) -> str:
    first = same[0]
    written = first.token == steps["A"].token
    by_b = not written and "B" in steps and first.token == steps["B"].token
    mark = "◆ " if written else "◇ " if by_b else ""
    return f"{mark}{first.label}{'' if any(each.after for each in same) else ' (cut)'}"


def _facts(at: WritingStep) -> str:
    own, drawn = at.entropies
    log_prob = f"{at.log_prob:.2f}".replace("-", "−")
    numbers = [f"log-probability {log_prob} nats", f"entropy {own:.2f} nats", f"of what is drawn from {drawn:.2f} nats"]
    return ",\n".join([at.label, *numbers])
