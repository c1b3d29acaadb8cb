"""The lens page in numbers: every layer's prediction at every place, and the ten best of the cell looked at."""

from headlight.app.exports.data import Data
from headlight.app.exports.sides import named
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.errors import HeadlightError
from headlight.model.reports.lens import lens_tables, measures_of, readings


def followed_token(shown: Comparison, chosen: Selection) -> int:
    """The token typed into the page, or else A's prediction."""
    if chosen.target:
        try:
            return shown.a.tokenizer.to_single_token(chosen.target)
        except HeadlightError:  # the page says so, and goes on with the prediction
            pass
    return int(shown.a.next_logits.argmax())


def cell_of(shown: Comparison, chosen: Selection) -> tuple[int, int]:
    """The layer and place looked at: the final prediction, unless another cell was chosen."""
    if chosen.layer is None or chosen.position is None:
        return len(shown.layer_labels) - 1, shown.default_place
    return chosen.layer, chosen.position


def data(shown: Comparison, chosen: Selection) -> Data:
    """The lens as a table, the ten best tokens of the cell looked at, and the followed token's way to it."""
    token, (layer, place) = followed_token(shown, chosen), cell_of(shown, chosen)
    found = readings(shown, token)
    measures = measures_of(shown, found)
    arrays = {key: measure for name, found in measures.items() for key, measure in named(name, found).items()}
    for side, reading in found.items():
        arrays |= {f"{side} top tokens": reading.lens.top_tokens, f"{side} top probabilities": reading.lens.top_probs}
    shows = {
        "followed token": shown.a.tokenizer.labels([token])[0],
        "its id": token,
        "cell": {"after layer": shown.layer_labels[layer], "place": place},
        "layers": shown.layer_labels,
    }
    return Data("lens", shows, lens_tables(shown, token, layer, place), arrays)
