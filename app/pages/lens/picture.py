"""The logit lens as a table of top tokens, of A or of A, B and B - A."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from headlight.app.exports.picture import colour_bar, largest, matrix, origin, scale, ticks, write
from headlight.app.exports.style import Palette
from headlight.app.pages.lens.choices import Choices, ColourBy
from headlight.app.pages.lens.chosen import cell_of, followed_token, lens_by_side, title_of
from headlight.app.selection.chosen import Selection
from headlight.model.lens.run_lens import followed_ranks
from headlight.model.lens.tables import MEASURES, Reading, measures_of, readings
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL = (0.62, 0.2)  # inches
MAX_PLACES = 32  # beside each other; of a longer prompt those around the place looked at
FONT, LONGEST_TEXT = 6.5, 10  # points, characters
TITLES: dict[ColourBy, str] = {
    "top": "probability of the top token",
    "entropy": "entropy (nats)",
    "kl": "KL(final ‖ layer) (nats)",
    "target": "probability of “{}”",
    "rank": "log10 of the rank of “{}”",
}


@dataclass(frozen=True)
class _Picture:
    """One side's cells: texts and values [layer, place], and whether more and less than zero are told apart."""

    side: str
    texts: list[list[str]]
    values: Float[np.ndarray, "layer place"]
    signed: bool


def draw(comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """The final layer on top, the input tokens below, each cell with its top token."""
    from matplotlib.figure import Figure

    read = readings(comparison, followed_token(comparison, chosen), lens_by_side(comparison, chosen))
    measures = _measures(comparison, chosen, read)
    places = _window(len(comparison.labels), cell_of(comparison, chosen)[1])
    pictures = [_picture(comparison, read, side, measure, places) for side, measure in measures.items()]
    layers = comparison.layer_labels
    width, height = len(places) * CELL[0] + 0.6, len(layers) * CELL[1] + 1.0
    figure = Figure(figsize=(max(4.0, width), height * len(pictures) + 0.3), layout="constrained")
    measure = chosen.choices_of(Choices).measure
    title = TITLES[measure].format(comparison.a.tokenizer.labels([followed_token(comparison, chosen)])[0])
    title = f"{title_of(comparison, chosen)}: {title}"
    rows = figure.subplots(len(pictures), 1, squeeze=False)[:, 0]
    own = largest(picture.values for picture in pictures if not picture.signed)
    for axes, picture in zip(rows, pictures, strict=True):
        limit = largest([picture.values]) if picture.signed else 1.0 if measure in ("top", "target") else own
        _draw(axes, picture, limit, palette)
        _labels(axes, comparison, layers[: len(picture.values)], places)
        axes.set_title("" if comparison.b is None else picture.side.replace("-", "−"))
        if picture.side != "A" or comparison.b is None:  # A and B have one scale
            named = f"change of {title}" if picture.signed else title
            colour_bar(figure, axes.images[0], [axes], named, ticks(limit, picture.signed, root=False))
    origin(figure, comparison, palette)
    return figure


def _measures(comparison: Comparison, chosen: Selection, read: dict[str, Reading]) -> dict[str, Measure]:
    """What colours the cells [layer, place], of A, B and B - A."""
    own = chosen.choices_of(Choices)
    if own.measure != "rank":
        names = dict(zip(("top", "entropy", "kl", "target"), MEASURES, strict=True))
        return measures_of(comparison, read)[names[own.measure]]
    token, by = followed_token(comparison, chosen), {reading.run.key: reading.by for reading in read.values()}

    def ranks(run: Run) -> Measure:
        found = followed_ranks(run, token, by=by[run.key])
        return Measure("log10 of the rank", "rank", found.axes, found.values.float().log10())  # NaN of -1: not read

    return comparison.measured_by_place(ranks)


def _window(n_places: int, place: int) -> range:
    first = max(0, min(place - MAX_PLACES // 2, n_places - MAX_PLACES))
    return range(first, min(n_places, first + MAX_PLACES))


def _picture(comparison: Comparison, read: dict[str, Reading], side: str, measure: Measure, places: range) -> _Picture:
    values = measure.values.numpy()[:, places.start : places.stop]
    of_runs = {name: _texts(comparison, reading, places) for name, reading in read.items()}
    if side != DIFFERENCE:
        return _Picture(side, of_runs[side], values, signed=False)
    layers = zip(of_runs["A"], of_runs["B"], strict=False)  # those that both have
    both = [[_change(*pair) for pair in zip(*layer, strict=True)] for layer in layers]
    return _Picture(side, both, values, signed=True)


def _texts(comparison: Comparison, reading: Reading, places: range) -> list[list[str]]:
    positions = comparison.positions(reading.run)[places.start : places.stop]
    best = reading.lens.top_tokens.values[..., 0]
    labels = [reading.run.tokenizer.labels(ids.clamp_min(0)) for ids in best]  # where none is, nothing is drawn
    return [["" if position is None else layer[position] for position in positions] for layer in labels]


def _change(a: str, b: str) -> str:
    return "" if not (a and b) else b if a == b else f"{_short(a, 4)}→{_short(b, 4)}"


def _draw(axes: "Axes", picture: _Picture, limit: float, palette: Palette) -> None:
    norm = scale(limit, picture.signed, root=False)
    image = matrix(axes, picture.values, palette, norm, picture.signed)
    axes.patch.set_facecolor(palette.secondary)
    axes.invert_yaxis()
    n_layers, n_places = picture.values.shape
    axes.vlines(np.arange(n_places - 1) + 0.5, -0.5, n_layers - 0.5, color=palette.background, linewidth=0.8)
    axes.hlines(np.arange(n_layers - 1) + 0.5, -0.5, n_places - 0.5, color=palette.background, linewidth=0.8)

    def say(layer: int, place: int, value: float) -> str:
        return _short(picture.texts[layer][place], LONGEST_TEXT)

    write(image, picture.values, palette, say, fontsize=FONT, va="center_baseline", clip_on=True)


def _labels(axes: "Axes", comparison: Comparison, layers: tuple[str, ...], places: range) -> None:
    axes.set_yticks(range(len(layers)), layers, fontsize=7)
    labels = [_short(comparison.labels[place], LONGEST_TEXT + 2) for place in places]
    axes.set_xticks(range(len(places)), labels, fontsize=7, fontweight="bold")
    if len(places) < len(comparison.labels):
        axes.set_xlabel(f"places {places.start} to {places.stop - 1} of {len(comparison.labels)}", fontsize=7)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
