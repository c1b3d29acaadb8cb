"""Every head's mean and standard deviation over the prompts, as two maps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headlight.app.exports.picture import LARGEST, PITCH, Colours, label_heads, largest, maps, origin
from headlight.app.exports.style import Palette
from headlight.app.pages.prompts.choices import Choices
from headlight.app.pages.prompts.exports import statistics_of
from headlight.app.pages.prompts.view import Listed
from headlight.app.parts.scores import SCORES
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST = 2.8, 1.4  # inches across and down


def draw(listed: Sequence[Listed], comparison: Comparison, chosen: Selection, palette: Palette) -> "Figure":
    """A square a head, the first layer on top; each map on a scale of its own, from 0."""
    from matplotlib.figure import Figure

    found = statistics_of(listed, comparison, chosen)
    down, across = found.spread.count.shape
    sizes = (across, down)
    width, height = (min(most, max(least, PITCH * n)) for least, most, n in zip(SMALLEST, LARGEST, sizes, strict=True))
    figure = Figure(figsize=(2 * width + 0.6, height + 1.2), layout="constrained")
    figure.suptitle(
        f"{SCORES[chosen.choices_of(Choices).statistic].title} {found.over}", fontsize=10, x=0.01, ha="left"
    )
    measures = {"mean": found.spread.mean, "standard deviation": found.spread.sd}
    for axes, (name, measure) in zip(figure.subplots(1, 2), measures.items(), strict=True):
        values = measure.values.numpy()
        colours = Colours(f"{name} ({measure.unit})", largest([values]), signed=False, root=False)
        maps(figure, [(axes, values, colours)], palette)
        axes.set_title(name)
        label_heads(axes, values.shape, (width, height), palette)
    origin(figure, Comparison(comparison.a), palette)
    return figure
