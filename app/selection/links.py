"""A selection as the parameters of the page's URL, and back without loss."""

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args
from urllib.parse import quote_plus

from app.selection.chosen import (
    FINDER_COUNTS,
    FINDER_HALVES,
    FLOW_THRESHOLDS,
    LEAST_TOP_P,
    MOST_NEW,
    MOST_TEMPERATURE,
    Align,
    Attends,
    BWrites,
    CircuitKind,
    Convention,
    FinderData,
    FinderScore,
    Head,
    Measure,
    PatchInto,
    PatchMap,
    Rows,
    Scale,
    Selection,
    Show,
    Side,
    Sink,
    Sort,
    Statistic,
    Unit,
)
from model.edits import MOST_EDITS, Edit, from_text, prompts_from_text, prompts_to_text, to_text
from model.errors import InputError

MAX_URL_PROMPT = 6000  # characters in the URL; a longer prompt is left out of it, and the page says so
LONGEST_PLAIN = 1500  # characters in the URL; a longer prompt is compressed
MAX_HEADS = 1000
MAX_PLACES = 4096
_COMPRESSED = "~"
_MAX_UNPACKED = 1_000_000  # bytes; more is not a prompt but an attack
_LEFT_OUT, _NONE = "left_out", "none"
_PROMPTS = ("prompt", "prompt_b", "source", "translation", "source_b", "translation_b")
_LONG = (*_PROMPTS, "edits", "mean_over")

Codec = tuple[Callable[[Any], str], Callable[[str], Any]]


def to_query(selection: Selection) -> dict[str, str]:
    """The URL's parameters: every field that is not at its default, but for prompts too long for a URL."""
    values = {each.name: getattr(selection, each.name) for each in fields(Selection)}
    query = {name: _CODECS[name][0](value) for name, value in values.items() if value != getattr(Selection, name)}
    if too_long := too_long_for_url(selection):
        query = {name: text for name, text in query.items() if name not in too_long}
        query[_LEFT_OUT] = " ".join(too_long)
    return query


def too_long_for_url(selection: Selection) -> tuple[str, ...]:
    """The names of the prompts that are too long for a URL even when compressed, and of edits with long prompts."""
    values = {name: getattr(selection, name) for name in _LONG}
    texts = {name: _CODECS[name][0](value) for name, value in values.items() if value}
    return tuple(name for name, text in texts.items() if len(quote_plus(text)) > MAX_URL_PROMPT)


def from_query(query: Mapping[str, str]) -> tuple[Selection, tuple[str, ...]]:
    """The selection that the URL's parameters give, and the names of those that could not be read and were left out."""
    chosen: dict[str, Any] = {}
    unread = [name for name in query.get(_LEFT_OUT, "").split() if name in _LONG]
    for name in (name for name in _CODECS if name in query):
        try:
            chosen[name] = _CODECS[name][1](query[name])
        except ValueError:
            unread.append(name)
    return Selection(**chosen), tuple(dict.fromkeys(unread))


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


def _indices_text(indices: tuple[int, ...]) -> str:
    return " ".join(map(str, indices))


def _indices(text: str) -> tuple[int, ...]:
    indices = tuple(dict.fromkeys(map(_index, text.split())))
    if len(indices) > MAX_PLACES:
        raise ValueError(text)
    return indices


def _heads_text(heads: tuple[Head, ...]) -> str:
    return " ".join(f"{layer}.{head}" for layer, head in heads) or _NONE


def _heads(text: str) -> tuple[Head, ...]:
    pairs = [part.split(".") for part in text.split() if text != _NONE]
    heads = tuple(dict.fromkeys((_index(layer), _index(head)) for layer, head in pairs))
    if len(heads) > MAX_HEADS:
        raise ValueError(text)
    return heads


def _head(text: str) -> Head:
    heads = _heads(text)
    if len(heads) != 1:
        raise ValueError(text)
    return heads[0]


def _pair(text: str) -> tuple[Head, ...]:
    pair = _heads(text)
    if len(pair) not in (0, 2):
        raise ValueError(text)
    return pair


def _one_of(*allowed: str) -> Codec:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return str, parse


def _number_from(low: float, high: float) -> Codec:
    def parse(text: str) -> float:
        number = float(text)
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return str, parse


def _count_to(high: int) -> Codec:
    return _count_from(1, high)


def _count_from(low: int, high: int) -> Codec:
    def parse(text: str) -> int:
        count = _index(text)
        if not low <= count <= high:
            raise ValueError(text)
        return count

    return str, parse


def _tokens(text: str) -> tuple[int, ...]:
    tokens = tuple(map(_index, text.split()))  # unlike places, a token may come twice
    if len(tokens) > MOST_NEW:
        raise ValueError(text)
    return tokens


def _node_or_edge(text: str) -> tuple[int, ...]:
    places = tuple(map(_index, text.split()))  # an edge may stay at its place
    if len(places) not in (0, 2, 3):
        raise ValueError(text)
    return places


def _edits_text(edits: tuple[Edit, ...]) -> str:
    return " ".join(map(to_text, edits))


def _edits(text: str) -> tuple[Edit, ...]:
    texts = text.split()
    if len(texts) > MOST_EDITS:
        raise ValueError(text)
    try:
        return tuple(map(from_text, texts))
    except InputError as error:
        raise ValueError(text) from error


_SWITCH: Codec = (lambda on: str(int(on)), lambda text: _one_of("0", "1")[1](text) == "1")

_CODECS: dict[str, Codec] = {
    "model": (str, str),
    "prompt": (_prompt_text, _prompt),
    "bos": _SWITCH,
    "model_b": (str, str),
    "prompt_b": (_prompt_text, _prompt),
    "align": _one_of(*get_args(Align)),
    "heads": (_heads_text, _heads),
    "queries": (_indices_text, _indices),
    "keys": (_indices_text, _indices),
    "show": _one_of(*get_args(Show)),
    "sink": _one_of(*get_args(Sink)),
    "scale": _one_of(*get_args(Scale)),
    "own_scale": _SWITCH,
    "unit": _one_of(*get_args(Unit)),
    "side": _one_of(*get_args(Side)),
    "sort": _one_of(*get_args(Sort)),
    "top": (str, _index),
    "pair": (_heads_text, _pair),
    "layer": (str, _index),
    "position": (str, _index),
    "component": (str, _index),
    "convention": _one_of(*get_args(Convention)),
    "measure": _one_of(*get_args(Measure)),
    "target": (str, str),
    "distractor": (str, str),
    "mean_over": (prompts_to_text, prompts_from_text),
    "statistic": _one_of(*get_args(Statistic)),
    "statistic_head": (lambda head: _heads_text((head,)), _head),
    "table": _SWITCH,
    "numbers": _SWITCH,
    "translator": (str, str),
    "source": (_prompt_text, _prompt),
    "translation": (_prompt_text, _prompt),
    "beams": (str, _index),
    "branch": (str, _index),
    "translator_b": (str, str),
    "source_b": (_prompt_text, _prompt),
    "translation_b": (_prompt_text, _prompt),
    "branch_b": (str, _index),
    "pair_align": _one_of(*get_args(Align)),
    "attends": _one_of(*get_args(Attends)),
    "rows": _one_of(*get_args(Rows)),
    "pair_heads": (_heads_text, _heads),
    "pair_queries": (_indices_text, _indices),
    "pair_keys": (_indices_text, _indices),
    "n_new": _count_to(MOST_NEW),
    "temperature": _number_from(0, MOST_TEMPERATURE),
    "top_k": _count_to(999_999),
    "top_p": _number_from(LEAST_TOP_P, 1),
    "seed": (str, _index),
    "stop": _SWITCH,
    "written": (_indices_text, _tokens),
    "step": (str, _index),
    "b_writes": _one_of(*get_args(BWrites)),
    "finder_score": _one_of(*get_args(FinderScore)),
    "finder_data": _one_of(*get_args(FinderData)),
    "finder_seed": (str, _index),
    "finder_count": _count_from(*FINDER_COUNTS),
    "finder_half": _count_from(*FINDER_HALVES),
    "finder_top": _count_to(999_999),
    "every_head": _SWITCH,
    "circuit": _one_of(*get_args(CircuitKind)),
    "circuit_token": (str, str),
    "patch_map": _one_of(*get_args(PatchMap)),
    "patch_into": _one_of(*get_args(PatchInto)),
    "patch_layer": (str, _index),
    "patch_head": (lambda head: _heads_text((head,)), _head),
    "patch_mlps": _SWITCH,
    "patch_estimate": _SWITCH,
    "edits": (_edits_text, _edits),
    "edits_off": (_indices_text, _indices),
    "flow_threshold": _number_from(*FLOW_THRESHOLDS),
    "flow_chosen": (_indices_text, _node_or_edge),
}
