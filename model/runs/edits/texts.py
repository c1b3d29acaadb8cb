"""Edits as short texts without spaces, for addresses of pages, and back."""

import base64
import binascii
import json
import math
import zlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args
from urllib.parse import quote_plus, unquote_plus

from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Align
from headlight.model.runs.edits.kinds import KINDS, Ablation, Action, Edit, Featuring, Head, Part, Steering

MAX_PROMPTS = 2000  # that a mean is taken over
_MAX_INDICES = 4096
_MAX_UNPACKED = 1_000_000  # bytes; more is no list of prompts but an attack

# Defaults for fields that older links lack.
_SINCE_ADDED = {"ablate": ("", "tokens"), "patch": ("tokens",)}


def to_text(edit: Edit) -> str:
    """The edit as a short text without spaces: its kind and its fields, with colons between them."""
    kind = next(kind for kind, each in KINDS.items() if type(edit) is each)
    return ":".join([kind, *(_FIELDS[each.name][0](getattr(edit, each.name)) for each in fields(edit))])


def from_text(text: str) -> Edit:
    """The edit that `to_text` wrote.

    Raises:
        InputError: the text is none of an edit.
    """
    kind, *written = text.split(":")
    names = [each.name for each in fields(KINDS[kind])] if kind in KINDS else []
    try:
        if len(written) == len(names) - len(_SINCE_ADDED.get(kind, ())):
            written += _SINCE_ADDED.get(kind, ())
        values = {name: _FIELDS[name][1](each) for name, each in zip(names, written, strict=True)}
        return KINDS[kind](**values)
    except (ValueError, KeyError):
        allowed = ", ".join(KINDS)
        raise InputError(f"{text[:60]!r} is not an edit: it begins with one of {allowed}, then its fields.") from None


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise ValueError(text)
    return int(text)


def _indices(text: str) -> tuple[int, ...]:
    indices = tuple(dict.fromkeys(map(_index, text.split(",")))) if text else ()
    if len(indices) > _MAX_INDICES:
        raise ValueError(text)
    return indices


def _head(text: str) -> Head:
    layer, head = text.split(".")
    return _index(layer), _index(head)


def _heads(text: str) -> tuple[Head, ...]:
    return tuple(dict.fromkeys(map(_head, text.split(",")[:_MAX_INDICES]))) if text else ()


def _factor(text: str) -> float:
    factor = float(text)
    if not math.isfinite(factor):
        raise ValueError(text)
    return factor


def _prompt(text: str) -> str:
    return unquote_plus(text, errors="strict")


def prompts_to_text(prompts: tuple[str, ...]) -> str:
    """Several prompts as one short text."""
    if not prompts:
        return ""
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(prompts).encode(), 9)).decode().rstrip("=")


def prompts_from_text(text: str) -> tuple[str, ...]:
    """The prompts that `prompts_to_text` wrote.

    Raises:
        ValueError: it did not.
    """
    if not text:
        return ()
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MAX_UNPACKED)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(text) from error
    content = json.loads(raw) if unpacking.eof else None
    if (
        not isinstance(content, list)
        or len(content) > MAX_PROMPTS
        or not all(isinstance(each, str) for each in content)
    ):
        raise ValueError(text)
    "".join(content).encode()  # half a surrogate pair is a ValueError: no page could show it
    return tuple(content)


def _one_of(*allowed: str) -> tuple[Callable[[Any], str], Callable[[str], Any]]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return str, parse


def _write_head(head: Head) -> str:
    return f"{head[0]}.{head[1]}"


def _write_indices(indices: tuple[int, ...]) -> str:
    return ",".join(map(str, indices))


_FIELDS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "heads": (lambda heads: ",".join(map(_write_head, heads)), _heads),
    "by": _one_of(*get_args(Ablation)),
    "prompt": (quote_plus, _prompt),
    "over": (prompts_to_text, prompts_from_text),
    "align": _one_of(*get_args(Align)),
    "head": (_write_head, _head),
    "query": (str, _index),
    "key": (str, _index),
    "renormalise": (lambda on: str(int(on)), lambda text: _one_of("0", "1")[1](text) == "1"),
    "layers": (_write_indices, _indices),
    "name": (quote_plus, _prompt),
    "positions": (_write_indices, _indices),
    "one_head": (lambda head: "" if head is None else str(head), lambda text: _index(text) if text else None),
    "layer": (str, _index),
    "toward": (quote_plus, _prompt),
    "away": (quote_plus, _prompt),
    "factor": (repr, _factor),
    "mode": _one_of(*get_args(Steering)),
    "direction": (quote_plus, _prompt),
    "action": _one_of(*get_args(Action)),
    "part": _one_of(*get_args(Part)),
    "dictionary": (quote_plus, _prompt),
    "hook": (quote_plus, _prompt),
    "feature": (str, _index),
    "how": _one_of(*get_args(Featuring)),
    "neurons": (lambda neurons: ",".join(map(_write_head, neurons)), _heads),
    "value": (repr, _factor),
}
