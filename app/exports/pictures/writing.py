"""Tokens of a generation step as a picture: the model's own probability above the one sampled from."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headlight.app.components import TokenBars, TokenChoice, WritingStep
from headlight.app.exports.pictures.axes import number
from headlight.app.exports.style import Palette
from headlight.app.figures.text import token_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

HEIGHT, WIDTH = 3.4, 6.4  # inches
HALF = 0.4  # of the room that a token's two bars have
WHENS = ("before", "after")


def size(drawn: TokenBars) -> tuple[float, float]:
    """Inches across and down."""
    return WIDTH if drawn.beside is None else 2 * WIDTH, HEIGHT


def draw(drawn: TokenBars, figure: "SubFigure", palette: Palette) -> None:
    """The likeliest tokens of the step from the top down; with B there are three columns: A, B and B − A."""
    steps = _at_step(drawn)
    grid = figure.subplots(1, 3 if "B" in steps else 1, squeeze=False)[0]
    if not steps:
        grid[0].set_axis_off()
        grid[0].set_title("Nothing was written: the prompt fills the context")
        return
    for axes, (side, step) in zip(grid, steps.items(), strict=False):
        _bars(axes, {when: [getattr(choice, when) for choice in step.choices] for when in WHENS}, palette)
        axes.set_xlabel("probability", fontsize=7)
        of_run = f"{side}, step" if "B" in steps else "Step"
        axes.set_title(f"{of_run} {drawn.step + 1} of {len(drawn.steps)}: {_facts(step)}", fontsize=7)
    grid[0].legend(fontsize=6.5, loc="lower right")
    _name_tokens(grid[0], steps)
    if "B" in steps:
        pairs = list(zip(steps["A"].choices, steps["B"].choices, strict=True))
        _bars(grid[2], {when: [getattr(b, when) - getattr(a, when) for a, b in pairs] for when in WHENS}, palette)
        grid[2].axvline(0, color=palette.text, linewidth=0.6)
        grid[2].set_title("B − A")
        for axes in grid[1:]:
            axes.set_yticks([])


def _at_step(drawn: TokenBars) -> dict[str, WritingStep]:
    sides = {"A": drawn.steps, **({} if drawn.beside is None else {"B": drawn.beside.steps})}
    return {side: steps[drawn.step] for side, steps in sides.items() if 0 <= drawn.step < len(steps)}


def _bars(axes: "Axes", values: Mapping[str, Sequence[float]], palette: Palette) -> None:
    places = np.arange(len(values["before"]))
    axes.barh(places - HALF / 2, values["before"], HALF, color=palette.faded, label="the model's own probability")
    axes.barh(
        places + HALF / 2, values["after"], HALF, color=palette.bars[0], label="drawn from, after temperature and cuts"
    )
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _name_tokens(axes: "Axes", steps: Mapping[str, WritingStep]) -> None:
    """Write the tokens beside their bars, with the generated ones marked, and those that are cut off in every run."""
    listed = [step.choices for step in steps.values()]
    labels = [_label(same, steps) for same in zip(*listed, strict=True)]
    axes.set_yticks(range(len(labels)), labels, fontsize=7)


def _label(same: tuple[TokenChoice, ...], steps: Mapping[str, WritingStep]) -> str:
    first = same[0]
    written = first.token == steps["A"].token
    by_b = not written and "B" in steps and first.token == steps["B"].token
    mark = "◆ " if written else "◇ " if by_b else ""
    return f"{mark}{token_name(first.label, 1)}{'' if any(choice.after for choice in same) else ' (cut)'}"


def _facts(step: WritingStep) -> str:
    own, drawn = step.entropies
    return ",\n".join(
        [
            token_name(step.label, 1),
            f"log-probability {number(step.log_prob, '.2f')} nats",
            f"entropy {own:.2f} nats",
            f"of what is drawn from {drawn:.2f} nats",
        ]
    )
