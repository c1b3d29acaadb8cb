"""From which layer on the prediction at the position looked at is the final one, as a sentence."""

from collections.abc import Mapping, Sequence

from headlight.app import selection
from headlight.app.pages.lens.choices import ColourBy, cell_of
from headlight.app.parts.labels import quoted_word
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import positions_at
from headlight.app.selection import Selection
from headlight.model.lens.kinds import Lens
from headlight.model.lens.run_lens import logit_lens_at
from headlight.model.lens.story import settled_layers
from headlight.model.runs.comparison import Comparison

HOW = (
    "Colour: probability of the model's final answer at that position. A word stands where a layer's best guess "
    "changes; it is bold, with an edge, from where it is the final answer for good."
)


def draw(comparison: Comparison, by: Mapping[str, Lens], measure: ColourBy) -> None:
    """The sentence as a heading, of A where there is a B, and how to read the words and colours below it."""
    if said := finding(comparison, by, selection.current()):
        heading(said, caption=HOW if measure == "final" else "", level=1, key="finding")


def finding(comparison: Comparison, by: Mapping[str, Lens], chosen: Selection) -> str:
    """The sentence of each side that has the position looked at."""
    place = cell_of(comparison, chosen)[1]
    sentences = []
    for side, position in positions_at(comparison, place).items():
        run = comparison.sides[side]
        best = logit_lens_at(run, position, by[side]).top_tokens.values[..., 0]
        word, settled = run.tokenizer.labels(best[-1].tolist())[0], int(settled_layers(best)[0])
        sentences.append(
            f"{f'{side}: ' if comparison.b is not None else ''}{sentence(word, run.layer_labels, settled)}"
        )
    return " ".join(sentences)


def sentence(word: str, layers: Sequence[str], settled: int) -> str:
    """When the final answer becomes the best guess for good.

    Args:
        word: the final answer's label.
        layers: the layers' labels, of the embedding first.
        settled: the layer from which on it is the best guess.
    """
    answer = quoted_word(word)
    if settled == 0:
        return f"{answer} is the best guess from the embedding on."
    if settled == len(layers) - 1:
        return f"{answer} becomes the best guess only in the last layer, {layers[-1]}."
    return f"{answer} is the best guess from {layers[settled]} on."
