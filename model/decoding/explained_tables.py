"""Explanation of a written token and of an attention cell of an encoder-decoder, in tables."""

from collections.abc import Iterator, Mapping
from dataclasses import astuple

from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.tables import (
    CELL,
    EFFECTS,
    OUTCOMES,
    PROMOTED,
    SCORE,
    Change,
    NamedPart,
    changes_by,
    compared_changes,
    pairs,
    parts_table,
    promoted_rows,
    rows_table,
)
from headlight.model.decoding.explained_sides import ExplainedToken, TranslationQuestion, explain_translations
from headlight.model.decoding.translations import Translations
from headlight.model.runs.tables import Tables

SOURCES = ("run", "cross-attention head", "source token", "logits")


def translate_why_tables(translations: Translations, question: TranslationQuestion) -> Tables:
    """Tabulate why a token was written and why a head looks where it does.

    The tables have the score's parts, the direct effects of all components of the decoder on the written token's logit,
    those of cross-attention by source token, the tokens that the head's write promotes, and the effects of ablating the
    head; with B - A where both translations have the cell.

    Args:
        translations: one translation, or two to compare.
        question: the written token and the cell.
    """
    return explained_tables(explain_translations(translations, question)[0])


def explained_tables(sides: Mapping[str, ExplainedToken]) -> Tables:
    """Tabulate the explanations of these translations' cells and written tokens."""
    tables: Tables = {
        "cell": rows_table(CELL, {side: summary(at).items() for side, at in sides.items()}),
        "score": parts_table(SCORE, {side: pairs(at.why) for side, at in sides.items()}),
        "effects": parts_table(
            EFFECTS,
            {side: (((name,), value) for name, value in at.effects.by_name.items()) for side, at in sides.items()},
        ),
        "sources": parts_table(SOURCES, {side: _sources(at) for side, at in sides.items()}),
        "outcomes": rows_table(
            OUTCOMES,
            {side: map(astuple, entry) for side, entry in changes_of(sides).items()},
            differs=False,
        ),
    }
    if promoted := promoted_of(sides):
        rows = {side: promoted_rows(entry, sides[side].translation.outputs) for side, entry in promoted.items()}
        tables["promoted"] = rows_table(PROMOTED, rows, differs=False)
    return tables


def summary(at: ExplainedToken) -> dict[str, float]:
    """A cell and a written token in a few numbers."""
    of_write = {}
    if (write := at.write) is not None:
        of_write = {
            "length of its write (L2 norm)": float(write.norm.values),
            "direct effect of the whole head": float(write.by_key.values.sum()),
        }
    return {
        "score": float(at.why.parts.score.values),
        "attention weight": at.why.weight,
        **of_write,
        "change when the edge is cut": float(at.outcomes.total.values[0]),
        "logit" if at.written.distractor is None else "target − distractor": float(at.effects.difference.values),
    }


def promoted_of(sides: Mapping[str, ExplainedToken]) -> dict[str, Promoted]:
    """Tokens that each head's write promotes and suppresses; none of the encoder's heads."""
    writes = {side: at.write for side, at in sides.items()}
    return {side: write.tokens for side, write in writes.items() if write is not None}


def changes_of(sides: Mapping[str, ExplainedToken]) -> dict[str, list[Change]]:
    """Effects of each intervention in each translation, and B - A of those done in both."""
    return compared_changes({side: changes_by(at.outcomes, at.translation.outputs) for side, at in sides.items()})


def _effects(at: ExplainedToken) -> Iterator[NamedPart]:
    yield from (((name,), value) for name, value in at.effects.by_name.items())


def _sources(at: ExplainedToken) -> Iterator[NamedPart]:
    labels = [f"{place} {label}" for place, label in enumerate(at.translation.source_labels)]
    for part, row in zip(at.effects.heads, at.effects.by_source.values.tolist(), strict=True):
        yield from (((part.name, label), value) for label, value in zip(labels, row, strict=True))
