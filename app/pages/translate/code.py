"""The script of the page *Translate*."""

from headlight.app.exports.script import call, written
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.heads import chosen_of
from headlight.app.runs import models
from headlight.app.selection.chosen import Selection
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations

PURPOSE = "What an encoder-decoder writes for a source, and where its heads look."


def script(found: Translations, chosen: Selection) -> str:
    """A script that prints the tokens, the chosen heads' cells and the beams."""
    own = chosen.of(Choices)
    lines = [f"model = {_loading(found.a)}", f"a = {_translated(found.a, 'model', chosen.translation, chosen.beams)}"]
    if found.b is None:
        lines.append("found = Translations(a)")
    else:
        same = found.b.model is found.a.model
        lines += [] if same else [f"model_b = {_loading(found.b)}"]
        of_b = _translated(found.b, "model" if same else "model_b", chosen.translation_b, chosen.beams)
        lines += [f"b = {of_b}", f"found = compare_translations(a, b, {found.align!r})"]
    options = {"attends": own.attends, "heads": chosen_of(found, chosen), "rows": own.rows}
    printed = call("translate_tables", "found", **{name: repr(value) for name, value in options.items()})
    imports = {
        "headlight.model": {"load_seq2seq"},
        "headlight.model.decoding": {"translate", "Translations" if found.b is None else "compare_translations"},
        "headlight.model.reports": {"print_tables", "translate_tables"},
    }
    return written(PURPOSE, imports, [*lines, f"print_tables({printed})"])


def _loading(found: Translation) -> str:
    return f"load_seq2seq({models.opened_by(found.source)!r})"


def _translated(found: Translation, model: str, target: str | None, beams: int) -> str:
    """The branch of the beams that is looked at, or what was given."""
    if found.search is None:
        return call("translate", model, repr(found.source_text), target=repr(target))
    return call("translate", model, repr(found.source_text), beams=repr(beams), leaf=repr(found.leaf))
