"""Exports of the page *Translate*: its script, its numbers, and a file of all heads."""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from headlight.app.exports.data import Count, Data
from headlight.app.exports.drawings import BarList, Drawing, Drawings
from headlight.app.exports.openable_heads import openable_heads, pattern_maps
from headlight.app.exports.script import call, printing, written
from headlight.app.pages.translate import explaining, why
from headlight.app.pages.translate.choices import Choices
from headlight.app.pages.translate.explaining import (
    changes_by_side,
    effects_of,
    head_title,
    question_of,
    score_matrix,
    side_of,
    total_name,
)
from headlight.app.pages.translate.finding import finding
from headlight.app.pages.translate.heads import FIRST_HEADS, chosen_of, panel, thumbnails, token_axes
from headlight.app.pages.translate.view import ATTENDS
from headlight.app.parts import part_maps
from headlight.app.parts.sides import compared, is_there
from headlight.app.runs import models
from headlight.app.selection.chosen import Selection
from headlight.model.attention.fields import How
from headlight.model.decoding.explained_sides import ExplainedToken, TranslationQuestion, explain_translations
from headlight.model.decoding.explained_tables import explained_tables
from headlight.model.decoding.translate_tables import translate_tables
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations, clearest
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
    question = question_of(translations, chosen)
    if question is None:
        return printing(PURPOSE, names, lines, "translate_tables", "translations", **options)
    names |= {"TranslationQuestion", "print_tables", "translate_tables", "translate_why_tables"}
    lines += [
        f"question = {question!r}",
        f"print_tables({call('translate_tables', 'translations', **options)})",
        "print_tables(translate_why_tables(translations, question))",
    ]
    return written(PURPOSE, names, lines)


def _loading(translation: Translation) -> str:
    return f"load_seq2seq({models.opened_by(translation.source)!r})"


def _translated(translation: Translation, model: str, target: str | None, beams: int) -> str:
    """The chosen beam, or the provided target."""
    if translation.search is None:
        how: dict[str, object] = {"target": target}
    else:
        how = {"beams": beams, "leaf": translation.leaf}
    how |= {"languages": translation.languages} if any(translation.languages) else {}
    return call("translate", model, repr(translation.source_text), **how)


def data(translations: Translations, chosen: Selection) -> Data:
    """All patterns as arrays; as tables the tokens, the chosen heads' cells and every expansion of the beams."""
    own = chosen.choices_of(Choices)
    heads = chosen_of(translations, chosen)
    cells = {
        name: translations.cells(side, own.attends, own.rows)
        for name, side in sides_of(translations.b is not None).items()
    }
    arrays: dict[str, Measure | Count] = {
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
    tables = translate_tables(translations, own.attends, heads, own.rows)
    if (question := question_of(translations, chosen)) is not None:
        sides = explain_translations(translations, question)[0]
        tables |= explained_tables(sides)
        shows["explained"] = asdict(question)
        arrays |= _explained_arrays(sides)
    return Data("translate", shows, tables, arrays)


def _explained_arrays(sides: Mapping[str, ExplainedToken]) -> dict[str, Measure | Count]:
    arrays: dict[str, Measure | Count] = {}
    for side, at in sides.items():
        of_side = {
            "score parts": at.why.parts.matrix,
            "score": at.why.parts.score,
            "score residual": at.why.parts.residual,
            "direct effects": at.effects.values,
            "difference": at.effects.difference,
            "difference residual": at.effects.residual,
            "effects by source": at.effects.by_source,
            "interventions direct": at.outcomes.direct,
            "interventions total": at.outcomes.total,
            "interventions KL": at.outcomes.kl,
        }
        arrays |= {f"{side} {name}": measure for name, measure in of_side.items()}
    return arrays


def drawings(translations: Translations, chosen: Selection) -> Drawings:
    """Every head, to be opened from the grid; in a picture the chosen ones, or the clearest."""
    own = chosen.choices_of(Choices)
    attends, selected = own.attends, chosen_of(translations, chosen)
    n_layers, n_heads = translations.shape(attends)
    every = [(layer, head) for layer in range(n_layers) for head in range(n_heads)]
    listed = (*selected, *(head for head in every if head not in selected))
    panels = [panel(translations, head, attends, own.rows) for head in listed]
    rows, columns = token_axes(translations, attends, own.rows)
    side: Side = "a" if translations.b is None else chosen.side or "difference"
    title, pooled = "attention weight", thumbnails(translations, side, attends, own.rows)
    openable = openable_heads(
        pooled, panels, rows, columns, chosen, selected=selected, title=title, side=side, how=How()
    )
    heads = selected or clearest(translations, attends, FIRST_HEADS)
    sides = sides_of(translations.b is not None)
    cells = {
        name: np.stack([translations.cells(cells, attends, own.rows)[head].numpy() for head in heads])
        for name, cells in sides.items()
    }
    patterns = pattern_maps(
        heads,
        cells,
        rows.labels,
        (columns or rows).labels,
        title=title,
        unit_limit=True,
        signed=False,
        root=chosen.scale == "sqrt",
        own_scale=chosen.own_scale,
    )
    explained, said = _explained(translations, chosen)
    rows_drawn = [[openable], *patterns, *explained]
    said = said or finding(translations, heads[0], chosen)
    return Drawings(f"Attention, {ATTENDS[attends]},", translations, rows_drawn, finding=said)


def _explained(translations: Translations, chosen: Selection) -> tuple[list[list[Drawing]], str]:
    """What explains the written token and the cell, of every side, and in a sentence; nothing where none is asked."""
    question = question_of(translations, chosen)
    if question is None:
        return [], ""
    sides = explain_translations(translations, question)[0]
    shown = side_of(translations, chosen, sides)
    columns = [_explained_side(translations, question, sides, side) for side in compared(sides, score_matrix)]
    said = explaining.finding(sides, shown) if is_there(sides, shown) else ""
    return [list(row) for row in zip(*columns, strict=True)], said


def _explained_side(
    translations: Translations, question: TranslationQuestion, sides: Mapping[str, ExplainedToken], side: str
) -> list[Drawing]:
    called = "" if translations.b is None else f"{side}: "
    scores, head = compared(sides, score_matrix), head_title(question)
    total = total_name(sides.get(side) or sides["A"])
    fall = part_maps.fall_rows(effects_of(sides, side), f"{called}{total}")
    changes = part_maps.outcome_rows(changes_by_side(sides)[side])
    return [
        Drawing(BarList(fall, f"{called}direct effect on {total} (logits)", "logits")),
        Drawing(why.sources_map(translations, sides, side)),
        Drawing(part_maps.score(scores, side, f"{called}{head}: {part_maps.SCORE}")),
        Drawing(BarList(changes, f"{called}change of {total} (logits)", "logits", part_maps.SERIES)),
    ]
