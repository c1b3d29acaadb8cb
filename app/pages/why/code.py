"""The script of the page *Why*."""

from headlight.app.exports.script import imports_of, opening, report, runs_made, written
from headlight.app.pages.why.by_features import Reader, wanted
from headlight.app.pages.why.chosen import asked_of
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.explain.explained import Asked


def script(shown: Comparison, chosen: Selection) -> str:
    """A script that prints a cell's score in parts, its write, what cutting it changes, and who made the prediction."""
    asked = asked_of(shown, chosen)
    layer, head = asked.head
    purpose = f"Why head {head} of layer {layer} looks there, and what of it."
    if (reader := wanted(shown, chosen, layer)) is not None:
        return _with_features(purpose, shown, chosen, asked, reader)
    return report(purpose, shown, chosen.align, "why_tables", asked=asked)


def _with_features(purpose: str, shown: Comparison, chosen: Selection, asked: Asked, reader: Reader) -> str:
    """The same script, and then the score and what the head moves by features."""
    imports = {
        **imports_of(shown),
        "headlight.model.dictionaries.opening": {"open_dictionary"},
        "headlight.model.explain.explained": {"Asked"},
        "headlight.model.reports": {"print_tables", "why_feature_tables", "why_tables"},
    }
    lines = [
        *runs_made(shown, chosen.align),
        f"asked = {asked!r}",
        f"dictionary = {opening(reader.name)}[{reader.dictionary.layer}]",
        "print_tables(why_tables(shown, asked))",
        "print_tables(why_feature_tables(shown, asked, dictionary))",
    ]
    return written(purpose, imports, lines)
