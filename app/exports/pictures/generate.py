"""One step's tokens before and after temperature and cuts, and where the chosen heads looked at every step."""

from typing import TYPE_CHECKING

from app import generation
from app.exports.pictures.parts import colour_bar, label_axis, matrix, origin
from app.exports.pictures.scales import scale, ticks
from app.exports.pictures.style import Palette
from app.fields import attention_of
from app.generation import Written
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.attention import clearest
from app.views.head_tables import name
from app.views.written import heads_of, step_of, steps_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 3.4  # inches: the height of the chart
WIDTH = (6.4, 12.0)  # inches at least and at most
PITCH = 0.14  # inches that a token's label wants
HALF = 0.4  # of the room that a token's two bars have


def draw(shown: Shown, chosen: Selection, palette: Palette) -> "Figure":
    """The bars of the step, and under them a map a head: a row a written token, a column a token looked at."""
    from matplotlib.figure import Figure

    found = generation.of(shown.a, chosen)
    heads = heads_of(found, chosen) or clearest(found.run)
    labels, n_steps = found.run.labels, len(found.labels)
    width = min(WIDTH[1], max(WIDTH[0], PITCH * len(labels)))
    height = max(1.2, PITCH * n_steps) + 0.7
    n_maps = len(heads) if n_steps else 0
    figure = Figure(figsize=(width, BARS + height * n_maps + 0.4), layout="constrained")
    bars, *maps = figure.subplots(1 + n_maps, 1, height_ratios=[BARS, *[height] * n_maps], squeeze=False)[:, 0]
    _bars(bars, found, chosen, palette)
    for axes, head in zip(maps, heads, strict=False):
        weights = attention_of(found.run, head).weights[found.n_prompt - 1 : -1].numpy()
        image = matrix(axes, weights, palette, scale(1.0, False, root=True), False)
        axes.set_title(f"{name(head)}: where it looked when each token was written")
        label_axis(axes, "y", found.labels, height - 0.7)
        label_axis(axes, "x", labels if axes is maps[-1] else [], width)
    if maps:
        colour_bar(figure, image, maps, "attention weight", ticks(1.0, False, root=True))
    origin(figure, shown, palette)
    return figure


def _bars(axes: "Axes", found: Written, chosen: Selection, palette: Palette) -> None:
    """The likeliest tokens from the top down, the model's own probability above the one that was drawn with."""
    if not found.labels:
        axes.set_axis_off()
        axes.set_title("Nothing was written: the prompt fills the context")
        return
    step = step_of(found, chosen)
    at = steps_of(found)[step]
    places = range(len(at.choices))
    before, after = ([getattr(choice, when) for choice in at.choices] for when in ("before", "after"))
    above, below = ([place + shift for place in places] for shift in (-HALF / 2, HALF / 2))
    axes.barh(above, before, HALF, color=palette.faded, label="the model's own probability")
    axes.barh(below, after, HALF, color=palette.bars[0], label="drawn from, after temperature and cuts")
    written = ["◆ " if choice.token == at.token else "" for choice in at.choices]
    cut = [" (cut)" if choice.after == 0 else "" for choice in at.choices]
    labels = [f"{mark}{choice.label}{note}" for mark, choice, note in zip(written, at.choices, cut, strict=True)]
    axes.set_yticks(list(places), labels, fontsize=7)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("probability", fontsize=7)
    axes.legend(fontsize=6.5, loc="lower right")
    own, drawn = at.entropies
    log_prob = f"{at.log_prob:.2f}".replace("-", "−")
    axes.set_title(
        f"Step {step + 1} of {len(found.labels)}: {at.label}\nlog-probability {log_prob} nats, entropy {own:.2f} nats, "
        f"of what is drawn from {drawn:.2f} nats"
    )
