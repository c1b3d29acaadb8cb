"""Translations of a selection, one or two side by side, within the page's limits."""

from dataclasses import replace

from headlight.app.runs import models, prompts, runs, seen
from headlight.app.selection import Selection
from headlight.model.base.errors import ConfigError, HeadlightError, InputError, UnknownWordsError
from headlight.model.decoding.translation import Languages, Translation, translate
from headlight.model.decoding.translations import Translations, compare_translations
from headlight.model.nn.seq2seq import Seq2SeqTransformer, languages_of

MAX_BEAMS = 16


def for_selection(chosen: Selection) -> Translations:
    """The translations that a selection asks for.

    Raises:
        HeadlightError: one of them cannot be had, or their tokens cannot be compared; the message says why.
    """
    a = of_one(chosen)
    if chosen.source_b is None:
        return Translations(a)
    try:
        b = of_one(_as_b(chosen, a))
    except HeadlightError as error:
        raise type(error)(f"B: {error}") from error
    return compare_translations(a, b, chosen.pair_align)


def of_one(chosen: Selection) -> Translation:
    """The translation that a selection asks for as A.

    Raises:
        HeadlightError: the model, the source or the target does not allow it; the message says what would.
    """
    example = prompts.first_source(chosen.translator)
    source = example.source if chosen.source is None else chosen.source
    prompts.check_text(source, "source")
    if not 1 <= chosen.beams <= MAX_BEAMS:
        raise ConfigError(f"Beams: {chosen.beams}. Choose 1 (greedy) to {MAX_BEAMS}.")
    name = chosen.translator or example.model
    runs.check_unchanged(name)
    model = models.open_seq2seq(name)
    seen.note(name)
    runs.forget_closed()
    languages = _languages(chosen, model)
    try:
        return translate(model, source, chosen.translation, chosen.beams, chosen.branch, runs.HOST, languages)
    except UnknownWordsError as error:
        raise InputError(f"{error} Beside a result “About this model” lists all of them.") from error


def _languages(chosen: Selection, model: Seq2SeqTransformer) -> Languages:
    """The chosen languages, of those that the model has."""
    names = languages_of(model.target_tokenizer)
    source, target = (name if name in names else None for name in (chosen.source_language, chosen.target_language))
    return source, target


def _as_b(chosen: Selection, a: Translation) -> Selection:
    return replace(
        chosen,
        translator=chosen.translator_b or a.source.name,
        source=chosen.source_b,
        translation=chosen.translation_b,
        branch=chosen.branch_b,
    )


def within(chosen: Selection, translations: Translations) -> Selection:
    """Selection without parts that these translations lack."""
    return replace(
        chosen,
        translator=translations.a.source.name,
        source=translations.a.source_text,
        translator_b="" if translations.b is None else chosen.translator_b,
        translation_b=None if translations.b is None else chosen.translation_b,
        source_language=translations.a.languages[0] or "",
        target_language=translations.a.languages[1] or "",
        branch=_branch(chosen.branch, translations.a),
        branch_b=_branch(chosen.branch_b, translations.b),
    )


def _branch(chosen: int | None, translation: Translation | None) -> int | None:
    is_there = (
        translation is not None and translation.search is not None and (chosen or 0) < len(translation.search.tree)
    )
    return chosen if is_there else None
