"""A score of every head as a map, with the labels that the heads have."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from headlight.app.exports.picture import LARGEST, PITCH, Colours, label_heads, maps, origin, write
from headlight.app.exports.style import Palette
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.exports import rankings_of
from headlight.app.pages.heads.head_map import limit_of
from headlight.app.pages.heads.ranking import HeadRanking, Ranking, changed
from headlight.app.parts.labels import SCORES, by_kind, words
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = (4.2, 1.6)  # inches across and down
ROOM_FOR_TEXT = 0.3  # inches that a number needs


def draw(texts: Sequence[str], comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A square a head, the first layer on top, with its label's icon where it has one; A, B and B - A side by side."""
    from matplotlib.figure import Figure

    found = rankings_of(texts, comparison, chosen)
    sides: dict[str, Ranking] = {**found}
    if "B" in found:
        sides[DIFFERENCE] = changed(found["A"], found["B"])
    down, across = (max(each.values.shape[axis] for each in sides.values()) for axis in (0, 1))
    width, height = (
        min(most, max(least, 1.6 * PITCH * n)) for least, most, n in zip(SMALLEST, LARGEST, (across, down), strict=True)
    )
    figure = Figure(figsize=(len(sides) * (width + 0.8), height + 1.4), layout="constrained")
    figure.suptitle(_title(found, chosen), fontsize=10, x=0.01, ha="left")
    grid = figure.subplots(1, len(sides), squeeze=False)
    limit = limit_of([*found.values()])
    for axes, (side, each) in zip(grid[0], sides.items(), strict=True):
        own = limit_of([each]) if side == DIFFERENCE else limit
        _map(figure, axes, each, palette, own, (width, height))
        if len(sides) > 1:
            axes.set_title(side)
    origin(figure, comparison if "B" in found else Comparison(comparison.a), palette)
    return figure


def _map(
    figure: "Figure", axes: "Axes", found: Ranking, palette: Palette, limit: float, inches: tuple[float, float]
) -> None:
    colours = Colours(f"{found.measure.name} ({found.unit})", limit, found.signed, root=False)
    (image,) = maps(figure, [(axes, found.values, colours)], palette)
    label_heads(axes, found.values.shape, inches, palette)
    if inches[0] / found.values.shape[1] >= ROOM_FOR_TEXT:
        write(image, found.values, palette, partial(_said, found), fontsize=6)


def _title(found: Mapping[str, HeadRanking], chosen: Selection) -> str:
    """What is shown, and what the icons stand for."""
    a = found["A"]
    of = f"{a.n_sequences:,} {'random repeats' if chosen.choices_of(Choices).finder_data == 'repeats' else 'prompts'}"
    title = SCORES[a.score].title if a.score == "copying" else f"{SCORES[a.score].title} over {of}"
    kinds = {kind: None for each in found.values() for kind in by_kind(each.labels)}
    return "\n".join(filter(None, (title, "   ".join(map(words, kinds)))))


def _said(found: Ranking, layer: int, head: int, value: float) -> str:
    """A head's score, and under it the icons of its labels."""
    labels = found.labels if isinstance(found, HeadRanking) else {}
    icons = " ".join(SCORES[kind].icon for kind in labels.get((layer, head), ()))
    return f"{value:.2f}\n{icons}".strip().replace("-", "−")
