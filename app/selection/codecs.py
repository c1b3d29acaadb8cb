"""Encoding of choices in a page's address: a codec for each type of field."""

import base64
import binascii
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import quote_plus

from headlight.model.base.errors import InputError
from headlight.model.runs.edits import MAX_EDITS, Edit, from_text, prompts_from_text, prompts_to_text, to_text
from headlight.model.text.chat import LITERAL, Begin

LONGEST_PLAIN = 1500  # characters in the URL; a longer prompt is compressed
MAX_HEADS = 1000
MAX_PLACES = 4096
_COMPRESSED = "~"
_MAX_UNPACKED = 1_000_000  # bytes; more is not a prompt but an attack
_NONE = "none"


@dataclass(frozen=True)
class Codec:
    """Writes a value as text, and reads it; a text that stands for no value is a ValueError.

    A text that may be too `long` for an address is left out of it then.
    """

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    long: bool = False


def codec_of(hint: Any) -> Codec:
    """The codec of a field: one that its annotation names beside the type, or that of the type; None is not written."""
    if get_origin(hint) is Annotated:
        return next(each for each in hint.__metadata__ if isinstance(each, Codec))
    if get_origin(hint) is Literal:
        return one_of(*get_args(hint))
    if NoneType in (either := get_args(hint)):
        return codec_of(next(each for each in either if each is not NoneType))
    return _OF_TYPE[hint]


def one_of(*allowed: str) -> Codec:
    """One of these words."""

    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return Codec(str, read)


def count(least: int, most: int) -> Codec:
    """A whole number from the least to the most."""
    return _between(_index, least, most)


def number(least: float, most: float) -> Codec:
    """A number from the least to the most."""
    return _between(float, least, most)


def _between(number: Callable[[str], float], least: float, most: float) -> Codec:
    def read(text: str) -> float:
        value = number(text)
        if not least <= value <= most:
            raise ValueError(text)
        return value

    return Codec(str, read)


def _prompt_text(prompt: str) -> str:
    plain = not prompt.startswith(_COMPRESSED) and len(quote_plus(prompt)) <= LONGEST_PLAIN
    if plain:
        return prompt
    packed = base64.urlsafe_b64encode(zlib.compress(prompt.encode(), 9))
    return _COMPRESSED + packed.decode().rstrip("=")


def _prompt(text: str) -> str:
    if not text.startswith(_COMPRESSED):
        return text
    packed = text.removeprefix(_COMPRESSED)
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), _MAX_UNPACKED)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(text) from error
    if not unpacking.eof:
        raise ValueError(text)
    return raw.decode()  # half a surrogate pair is a ValueError: no page could show it


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise ValueError(text)
    return int(text)


def indices(allowed: Callable[[int], bool]) -> Codec:
    """Ordered indices, possibly repeated, up to a maximum number."""

    def read(text: str) -> tuple[int, ...]:
        each = tuple(map(_index, text.split()))
        if not allowed(len(each)):
            raise ValueError(text)
        return each

    return Codec(_indices_text, read)


def _indices_text(indices: tuple[int, ...]) -> str:
    return " ".join(map(str, indices))


def _places(text: str) -> tuple[int, ...]:
    places = tuple(dict.fromkeys(map(_index, text.split())))
    if len(places) > MAX_PLACES:
        raise ValueError(text)
    return places


def _heads_text(heads: tuple[tuple[int, int], ...]) -> str:
    return " ".join(f"{layer}.{head}" for layer, head in heads) or _NONE


def _heads(text: str) -> tuple[tuple[int, int], ...]:
    pairs = [part.split(".") for part in text.split() if text != _NONE]
    heads = tuple(dict.fromkeys((_index(layer), _index(head)) for layer, head in pairs))
    if len(heads) > MAX_HEADS:
        raise ValueError(text)
    return heads


def _head(text: str) -> tuple[int, int]:
    heads = _heads(text)
    if len(heads) != 1:
        raise ValueError(text)
    return heads[0]


def _pair(text: str) -> tuple[tuple[int, int], ...]:
    pair = _heads(text)
    if len(pair) not in (0, 2):
        raise ValueError(text)
    return pair


def _edits_text(edits: tuple[Edit, ...]) -> str:
    return " ".join(map(to_text, edits))


def _edits(text: str) -> tuple[Edit, ...]:
    texts = text.split()
    if len(texts) > MAX_EDITS:
        raise ValueError(text)
    try:
        return tuple(map(from_text, texts))
    except InputError as error:
        raise ValueError(text) from error


def _begin_text(begin: Begin) -> str:
    return begin if isinstance(begin, str) else str(int(begin))


def _begin(text: str) -> Begin:
    allowed: tuple[Begin, ...] = (False, True, "chat", *LITERAL)
    words = {_begin_text(begin): begin for begin in allowed}
    return words[one_of(*words).read(text)]


PROMPT = Codec(_prompt_text, _prompt, long=True)
PROMPTS = Codec(prompts_to_text, prompts_from_text, long=True)
EDITS = Codec(_edits_text, _edits, long=True)
PAIR = Codec(_heads_text, _pair)

_OF_TYPE: dict[Any, Codec] = {
    str: Codec(str, str),
    bool: Codec(lambda on: str(int(on)), lambda text: one_of("0", "1").read(text) == "1"),
    Begin: Codec(_begin_text, _begin),
    int: Codec(str, _index),
    tuple[int, ...]: Codec(_indices_text, _places),
    tuple[int, int]: Codec(lambda head: _heads_text((head,)), _head),
    tuple[tuple[int, int], ...]: Codec(_heads_text, _heads),
}
