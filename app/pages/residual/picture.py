"""The residual stream: its length by layer and token, component norms at one of them, and how it turns."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, colour_bar, label_axis, largest, maps, matrix, origin, scale, ticks
from headlight.app.exports.style import Palette
from headlight.app.figures import plots
from headlight.app.pages.residual.charts import COLOURS, by_kind, places_of
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.attention.residual_tables import component_norms, component_shares, layer_cosines, stream_norms
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = (3.6, 7.0)  # inches at least and at most
PITCH = 0.11  # inches that a token's label wants
ROOM = 0.8  # that bars have of the way to the next layer
NO_SUM = "the stream is no sum of components"
MAX_LEVEL = 13  # layers whose names have room to lie level
HEIGHTS = (2.3, 1.7, 1.9, 2.2)  # inches: norms, what each part adds, shares, cosines


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """Two by two for A; with a B a column for A, one for B and one for B - A."""
    from matplotlib.figure import Figure

    norms, cosines = stream_norms(comparison), layer_cosines(comparison)
    lengths, shares = component_norms(comparison), component_shares(comparison)
    place, labels = place_of(comparison, chosen), comparison.labels
    width = min(COLUMN[1], max(COLUMN[0], PITCH * len(labels)))
    if comparison.b is None:
        figure = Figure(figsize=(width + COLUMN[0] + 0.4, HEIGHTS[0] + HEIGHTS[3]), layout="constrained")
        grid = figure.subplots(2, 2, width_ratios=(width, COLUMN[0]))
        columns = [[grid[0, 0], grid[0, 1], grid[1, 1], grid[1, 0]]]
    else:
        figure = Figure(figsize=(width * len(norms) + 0.4, sum(HEIGHTS)), layout="constrained")
        columns = list(figure.subplots(len(HEIGHTS), len(norms), height_ratios=HEIGHTS).T)
    for (at_norms, at_lengths, at_shares, at_cosines), side in zip(columns, norms, strict=True):
        layers = comparison.layer_labels[: norms[side].values.shape[0]]
        _norm_map(figure, at_norms, norms, side, palette)
        label_axis(at_norms, "x", labels, width)
        label_axis(at_norms, "y", layers, HEIGHTS[0] - 0.8)
        lacks = _lacks(comparison, side, place)
        _bars(at_lengths, comparison, lengths[side], place, lacks, palette)
        _bars(at_shares, comparison, shares[side], place, lacks or NO_SUM, palette)
        if not lacks:
            at_lengths.legend(fontsize=6.5, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14), handlelength=1)
        _cosines(figure, at_cosines, cosines[side], layers, palette, side == DIFFERENCE)
        name = "" if comparison.b is None else f"{side.replace('-', '−')}:  "
        at_norms.set_title(f"{name}residual stream norm (L2)")
        at_lengths.set_title(f"{name}component norms at {labels[place]} (L2 norm)")
        at_shares.set_title(f"{name}share of the final stream at {labels[place]}")
        at_cosines.set_title(f"{name}cosine between layers")
    origin(figure, comparison, palette)
    return figure


def _norm_map(figure: "Figure", axes: "Axes", norms: dict[str, Measure], side: str, palette: Palette) -> None:
    """Colours by the logarithm of the norm, on one scale for A and B; the change by its square root."""
    from matplotlib.colors import LogNorm

    values, signed = norms[side].values.numpy(), side == DIFFERENCE
    own = np.concatenate([norms[name].values.numpy().ravel() for name in norms if name != DIFFERENCE])
    lowest, highest, limit = float(np.nanmin(own)), float(np.nanmax(own)), largest([values])
    norm = scale(limit, signed, root=True) if signed else LogNorm(lowest, highest)
    image = matrix(axes, values, palette, norm, signed)
    axes.patch.set_facecolor(palette.secondary)
    axes.invert_yaxis()
    marks = ticks(limit, signed, root=True) if signed else list(np.geomspace(lowest, highest, 5))
    colour_bar(figure, image, [axes], "change of L2 norm" if signed else "L2 norm", marks)


def _lacks(comparison: Comparison, side: str, place: int) -> str:
    """What to say in place of bars where a run has no token."""
    here = comparison.sides_at(place)
    if side == DIFFERENCE:
        return "" if len(here) == len(comparison.runs) else "no such token in both runs"
    return "" if side in here else "no such token in this run"


def _bars(axes: "Axes", comparison: Comparison, measure: Measure, place: int, lacks: str, palette: Palette) -> None:
    """Side by side at each place what is written there: at the first the embeddings, then what each layer adds."""
    kinds, places = by_kind(comparison, measure.values[:, place].numpy()), places_of(comparison)
    for kind, values in kinds.items():
        there = np.flatnonzero(np.isfinite(values))
        beside = [other for other, at in kinds.items() if np.isfinite(at[there]).any()]
        width = ROOM / len(beside)
        centres = there + width * (beside.index(kind) - (len(beside) - 1) / 2)
        axes.bar(centres, values[there], width=0.95 * width, color=plots.COLOURS[COLOURS[kind]], label=kind)
    axes.axhline(0, color=palette.border, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(-0.6, len(places) - 0.4)
    label_axis(axes, "x", places, COLUMN[0])
    axes.tick_params(axis="x", rotation=0 if len(places) <= MAX_LEVEL else 90)
    if not kinds:
        axes.text(0.5, 0.5, lacks, color=palette.faded, ha="center", transform=axes.transAxes)
        axes.set_yticks([])


def _cosines(
    figure: "Figure", axes: "Axes", measure: Measure, layers: tuple[str, ...], palette: Palette, signed: bool
) -> None:
    values = measure.values.numpy()
    limit = largest([values]) if signed else 1.0
    called = "change of cosine" if signed else "cosine"
    maps(figure, [(axes, values, Colours(called, limit, signed, root=False))], palette)
    axes.set_box_aspect(1)
    for which in "xy":
        label_axis(axes, which, layers, HEIGHTS[3] / 2)
