"""What is taken along of the page *Translate*: its script, its numbers, and a file of all heads."""

from headlight.app.exports.data import Data
from headlight.app.exports.html.document import document
from headlight.app.exports.html.grid import opened_from_grid
from headlight.app.exports.script import call, printing
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.heads import chosen_of, panel, thumbnails, token_axes
from headlight.app.pages.translate.view import ATTENDS
from headlight.app.runs import models
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.decoding.translate_tables import translate_tables
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations
from headlight.model.measure import Measure
from headlight.model.measure.difference import Side, sides_of
from headlight.model.runs.edits import head_name

PURPOSE = "What an encoder-decoder writes for a source, and where its heads look."


def script(translations: Translations, chosen: Selection) -> str:
    """A script that prints the tokens, the chosen heads' cells and the beams."""
    own = chosen.choices_of(Choices)
    lines = [
        f"model = {_loading(translations.a)}",
        f"a = {_translated(translations.a, 'model', chosen.translation, chosen.beams)}",
    ]
    if translations.b is None:
        lines.append("translations = Translations(a)")
    else:
        same = translations.b.model is translations.a.model
        lines += [] if same else [f"model_b = {_loading(translations.b)}"]
        of_b = _translated(translations.b, "model" if same else "model_b", chosen.translation_b, chosen.beams)
        lines += [f"b = {of_b}", f"translations = compare_translations(a, b, {translations.align!r})"]
    options = {"attends": own.attends, "heads": chosen_of(translations, chosen), "rows": own.rows}
    names = {"load_seq2seq", "translate", "Translations" if translations.b is None else "compare_translations"}
    return printing(PURPOSE, names, lines, "translate_tables", "translations", **options)


def _loading(translation: Translation) -> str:
    return f"load_seq2seq({models.opened_by(translation.source)!r})"


def _translated(translation: Translation, model: str, target: str | None, beams: int) -> str:
    """The chosen beam, or the provided target."""
    if translation.search is None:
        return call("translate", model, repr(translation.source_text), target=target)
    return call("translate", model, repr(translation.source_text), beams=beams, leaf=translation.leaf)


def data(translations: Translations, chosen: Selection) -> Data:
    """All patterns as arrays; as tables the tokens, the chosen heads' cells and every expansion of the beams."""
    own = chosen.choices_of(Choices)
    heads = chosen_of(translations, chosen)
    cells = {
        name: translations.cells(side, own.attends, own.rows)
        for name, side in sides_of(translations.b is not None).items()
    }
    arrays = {
        f"{side} {name} attention": Measure(
            "attention weight", "probability", ("layer", "head", "query", "key"), each.pattern
        )
        for side, translation in translations.sides.items()
        for name, each in translation.attention.items()
    }
    if translations.b is not None:
        for side, values in cells.items():
            axes = ("layer", "head", "query place", "key place")
            name = f"{side.replace(' ', '')} {own.attends} attention side by side"
            arrays[name] = Measure("attention weight", "probability", axes, values)
        divergence = translations.divergence(own.attends, own.rows)
        arrays["divergence"] = divergence
    shows: dict[str, object] = {
        "attention of": own.attends,
        "heads": list(map(head_name, heads)),
        "rows are called by the token": own.rows,
    }
    return Data("translate", shows, translate_tables(translations, own.attends, heads, own.rows), arrays)


def page(translations: Translations, chosen: Selection) -> bytes:
    """A file in which every head can be opened from the grid."""
    own = chosen.choices_of(Choices)
    attends, selected = own.attends, chosen_of(translations, chosen)
    n_layers, n_heads = translations.shape(attends)
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    heads = (*selected, *(head for head in every if head not in selected))
    panels = [panel(translations, head, attends, own.rows) for head in heads]
    rows, columns = token_axes(translations, attends, own.rows)
    side: Side = "a" if translations.b is None else chosen.side or "difference"
    seen = thumbnails(translations, side, attends, own.rows)
    title = "attention weight"
    mounted = opened_from_grid(
        seen, panels, rows, columns, chosen, selected=selected, title=title, side=side, how=How()
    )
    return document(f"Attention, {ATTENDS[attends]},", translations, mounted, "attention")
