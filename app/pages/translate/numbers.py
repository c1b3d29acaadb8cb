"""The page *Translate* in numbers: sources, targets and their log-probabilities, heads' cells, beams."""

from headlight.app.exports.data import Data
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.heads import chosen_of
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.analysis.difference import sides_of
from headlight.model.decoding.translations import Translations
from headlight.model.edits import head_name
from headlight.model.reports.translate import translate_tables


def data(found: Translations, chosen: Selection) -> Data:
    """All patterns as arrays; as tables the tokens, the chosen heads' cells and every expansion of the beams."""
    own = chosen.of(Choices)
    heads = chosen_of(found, chosen)
    cells = {name: found.cells(side, own.attends, own.rows) for name, side in sides_of(found.b is not None).items()}
    arrays = {
        f"{side} {name} attention": Measure(
            "attention weight", "probability", ("layer", "head", "query", "key"), each.pattern
        )
        for side, translation in found.sides.items()
        for name, each in translation.attention.items()
    }
    if found.b is not None:
        for side, values in cells.items():
            axes = ("layer", "head", "query place", "key place")
            name = f"{side.replace(' ', '')} {own.attends} attention side by side"
            arrays[name] = Measure("attention weight", "probability", axes, values)
        divergence = found.divergence(own.attends, own.rows)
        arrays["divergence"] = divergence
    shows: dict[str, object] = {
        "attention of": own.attends,
        "heads": list(map(head_name, heads)),
        "rows are called by the token": own.rows,
    }
    return Data("translate", shows, translate_tables(found, own.attends, heads, own.rows), arrays)
