"""The translations that a selection asks for: one, or two side by side."""

from dataclasses import replace

from headlight.app.runs import translation
from headlight.app.selection import Selection
from headlight.model.decoding.translation import Translation
from headlight.model.decoding.translations import Translations, compare_translations
from headlight.model.errors import HeadlightError


def of(chosen: Selection) -> Translations:
    """The translations that a selection asks for.

    Raises:
        HeadlightError: one of them cannot be had, or their tokens cannot be compared; the message says why.
    """
    a = translation.of(chosen)
    if chosen.source_b is None:
        return Translations(a)
    try:
        b = translation.of(_as_b(chosen, a))
    except HeadlightError as error:
        raise type(error)(f"B: {error}") from error
    return compare_translations(a, b, chosen.pair_align)


def _as_b(chosen: Selection, a: Translation) -> Selection:
    return replace(
        chosen,
        translator=chosen.translator_b or a.source.name,
        source=chosen.source_b,
        translation=chosen.translation_b,
        branch=chosen.branch_b,
    )


def within(chosen: Selection, found: Translations) -> Selection:
    """The selection without what these translations do not have."""
    return replace(
        chosen,
        translator=found.a.source.name,
        source=found.a.source_text,
        translator_b="" if found.b is None else chosen.translator_b,
        translation_b=None if found.b is None else chosen.translation_b,
        branch=_branch(chosen.branch, found.a),
        branch_b=_branch(chosen.branch_b, found.b),
    )


def _branch(chosen: int | None, found: Translation | None) -> int | None:
    is_there = found is not None and found.search is not None and (chosen or 0) < len(found.search.tree)
    return chosen if is_there else None
