"""The residual stream: its length by layer and token, component norms at one of them, and how it turns."""

from typing import TYPE_CHECKING

import numpy as np

from headlight.app.exports.picture import Colours, colour_bar, label_axis, largest, maps, matrix, origin, scale, ticks
from headlight.app.exports.style import Palette
from headlight.app.parts.pair import place_of
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.comparison import Comparison
from headlight.model.reports.residual import component_norms, component_shares, layer_cosines, stream_norms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = (3.6, 7.0)  # inches at least and at most
PITCH = 0.11  # inches that a token's label wants
BAR = 0.38  # of the room that a layer has
MOST_LEVEL = 13  # layers whose names have room to lie level
HEIGHTS = (2.3, 1.7, 1.9, 2.2)  # inches: norms, what each part adds, shares, cosines


def draw(shown: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """Two by two for A; with a B a column for A, one for B and one for B - A."""
    from matplotlib.figure import Figure

    norms, cosines = stream_norms(shown), layer_cosines(shown)
    lengths, shares = component_norms(shown), component_shares(shown)
    place, labels = place_of(shown, chosen), shown.labels
    width = min(COLUMN[1], max(COLUMN[0], PITCH * len(labels)))
    if shown.b is None:
        figure = Figure(figsize=(width + COLUMN[0] + 0.4, HEIGHTS[0] + HEIGHTS[3]), layout="constrained")
        grid = figure.subplots(2, 2, width_ratios=(width, COLUMN[0]))
        columns = [[grid[0, 0], grid[0, 1], grid[1, 1], grid[1, 0]]]
    else:
        figure = Figure(figsize=(width * len(norms) + 0.4, sum(HEIGHTS)), layout="constrained")
        columns = list(figure.subplots(len(HEIGHTS), len(norms), height_ratios=HEIGHTS).T)
    for (at_norms, at_lengths, at_shares, at_cosines), side in zip(columns, norms, strict=True):
        layers = shown.layer_labels[: norms[side].values.shape[0]]
        _norm_map(figure, at_norms, norms, side, palette)
        label_axis(at_norms, "x", labels, width)
        label_axis(at_norms, "y", layers, HEIGHTS[0] - 0.8)
        _bars(at_lengths, lengths[side], place, layers, palette)
        _bars(at_shares, shares[side], place, layers, palette)
        at_shares.legend(fontsize=6.5, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14), handlelength=1)
        _cosines(figure, at_cosines, cosines[side], layers, palette, side == DIFFERENCE)
        name = "" if shown.b is None else f"{side.replace('-', '−')}:  "
        at_norms.set_title(f"{name}residual stream norm (L2)")
        at_lengths.set_title(f"{name}component norms at {labels[place]} (L2 norm)")
        at_shares.set_title(f"{name}share of the final stream at {labels[place]}")
        at_cosines.set_title(f"{name}cosine between layers")
    origin(figure, shown, palette)
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


def _bars(axes: "Axes", measure: Measure, place: int, layers: tuple[str, ...], palette: Palette) -> None:
    """The embeddings side by side at the first layer's place, then attention and MLP of each layer."""
    token, position, *written = measure.values[:, place].tolist()
    n_layers = len(layers) - 1
    kinds = ("attention", "MLP") if len(written) >= 2 * n_layers else ("attention",)
    axes.bar(-0.2, token, color=palette.faded, width=BAR, label="token embedding")
    axes.bar(0.2, position, color=palette.faded, width=BAR, alpha=0.5, label="position embedding")
    for slot, kind in enumerate(kinds):
        centres = np.arange(1, len(layers)) + (slot - 0.5 if len(kinds) == 2 else 0) * 0.4
        axes.bar(
            centres, written[slot : len(kinds) * n_layers : len(kinds)], width=BAR, color=palette.bars[slot], label=kind
        )
    axes.axhline(0, color=palette.border, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    label_axis(axes, "x", layers, COLUMN[0])
    axes.tick_params(axis="x", rotation=0 if len(layers) <= MOST_LEVEL else 90)
    if all(value != value for value in written):
        axes.text(0.5, 0.5, "no such token in this run", color=palette.faded, ha="center", transform=axes.transAxes)
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
