"""A selection as the parameters of the page's URL, and back without loss."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints
from urllib.parse import quote_plus

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.chosen import Selection
from headlight.app.selection.codecs import Codec, codec_of

MAX_URL_PROMPT = 6000  # characters in the URL; a longer prompt is left out of it, and the page says so
_LEFT_OUT = "left_out"


@cache
def codecs(kind: Any) -> dict[str, Codec]:
    """The parameters that a selection's own fields give, or a page's options, and how each is written."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: codec_of(hints[each.name]) for each in fields(kind) if each.name != "choices"}


def _changed(selection: Selection) -> Iterator[tuple[str, Codec, Any]]:
    """Every parameter that is not at its default, with its codec and value."""
    ordered = (selection, *sorted(selection.choices, key=lambda each: type(each).__module__))
    parts: dict[Any, Any] = {type(each): each for each in ordered}
    for kind, part in parts.items():
        for name, codec in codecs(kind).items():
            if (value := getattr(part, name)) != getattr(kind, name):
                yield name, codec, value


def changed(selection: Selection) -> dict[str, Any]:
    """Every value that is not at its default, by its parameter."""
    return {name: value for name, _, value in _changed(selection)}


def to_query(selection: Selection) -> dict[str, str]:
    """The URL's parameters: every value that is not at its default, but for prompts too long for a URL."""
    too_long = too_long_for_url(selection)
    query = {name: codec.write(value) for name, codec, value in _changed(selection) if name not in too_long}
    return query | {_LEFT_OUT: " ".join(too_long)} if too_long else query


def too_long_for_url(selection: Selection) -> tuple[str, ...]:
    """The names of the prompts that are too long for a URL even when compressed, and of edits with long prompts."""
    texts = {name: codec.write(value) for name, codec, value in _changed(selection) if codec.long}
    return tuple(name for name, text in texts.items() if len(quote_plus(text)) > MAX_URL_PROMPT)


def from_query(query: Mapping[str, str], pages: Iterable[type[PageChoices]] = ()) -> tuple[Selection, tuple[str, ...]]:
    """The selection that the URL's parameters give, with the options of these pages.

    Beside it the names of those parameters that could not be read and were left out.
    """
    kinds: tuple[type, ...] = (Selection, *pages)
    left_out = query.get(_LEFT_OUT, "").split()
    unread = [name for kind in kinds for name, codec in codecs(kind).items() if codec.long and name in left_out]
    read: dict[type, dict[str, Any]] = {kind: {} for kind in kinds}
    for kind in kinds:
        for name, codec in codecs(kind).items():
            try:
                if name in query:
                    read[kind][name] = codec.read(query[name])
            except ValueError:
                unread.append(name)
    choices = frozenset(page(**read[page]) for page in kinds[1:])
    return Selection(**read[Selection], choices=choices), tuple(dict.fromkeys(unread))
