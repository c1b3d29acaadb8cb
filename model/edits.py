"""Edits of a run, as plain data: what is changed on the way, where, and the same as a short text.

`model.editing` makes taps of them. In every edit, no positions means every position, and no layers every layer.
"""

import base64
import binascii
import json
import math
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args
from urllib.parse import quote_plus, unquote_plus

from model.config import TransformerConfig
from model.errors import InputError
from model.interventions import check_cell, check_head

Head = tuple[int, int]
Ablation = Literal["zero", "mean", "resample"]
Steering = Literal["add", "scale"]
Part = Literal["layer", "attention", "MLP"]
Align = Literal["tokens", "position"]

MOST_EDITS = 20
MOST_FACTOR = 1000.0
MOST_PROMPTS = 2000  # that a mean is taken over
_MOST_INDICES = 4096
_MOST_UNPACKED = 1_000_000  # bytes; more is no list of prompts but an attack


@dataclass(frozen=True)
class AblateHeads:
    """What the heads (layer, head) give, their z, is replaced at every position.

    `zero`: by nothing. `mean`: by its mean over all positions of the prompts in `over`, or else over this prompt's.
    `resample`: by what they give on `prompt`. If that has another number of tokens, `align` says how its positions
    are matched to this one's (`analysis.alignment.match_positions`); those without a match stay as they are.
    """

    heads: tuple[Head, ...]
    by: Ablation = "zero"
    prompt: str = ""
    over: tuple[str, ...] = ()
    align: Align = "tokens"


@dataclass(frozen=True)
class CutEdge:
    """A head's query takes nothing from one key; with `renormalise` the row's other weights again sum to 1."""

    head: Head
    query: int
    key: int
    renormalise: bool = False


@dataclass(frozen=True)
class FreezePatterns:
    """Every head of these layers keeps the pattern that it has without any edit, whatever its input has become."""

    layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Patch:
    """An activation is that of another prompt's run, at these positions and, where it has heads, of one head or all.

    `name` is the activation's full name. Of scores and patterns, the positions are those of queries. `align` counts
    where the other prompt has another number of tokens, as in `AblateHeads`.
    """

    name: str
    prompt: str
    positions: tuple[int, ...] = ()
    one_head: int | None = None
    align: Align = "tokens"


@dataclass(frozen=True)
class Steer:
    """The stream before a layer is changed along a direction: from `away` to `toward`, two prompts' last positions.

    `add`: `factor` times the difference of the two streams is added. `scale`: the stream's component along that
    direction is multiplied by `factor`, so that 0 takes it out and 1 changes nothing.
    """

    layer: int
    toward: str
    away: str
    factor: float = 1.0
    positions: tuple[int, ...] = ()
    mode: Steering = "add"


@dataclass(frozen=True)
class Drop:
    """A layer, or its attention or MLP alone, writes nothing to the stream."""

    layer: int
    part: Part = "layer"


Edit = AblateHeads | CutEdge | FreezePatterns | Patch | Steer | Drop

KINDS: dict[str, type[Edit]] = {
    "ablate": AblateHeads,
    "cut": CutEdge,
    "freeze": FreezePatterns,
    "patch": Patch,
    "steer": Steer,
    "drop": Drop,
}


def sources(edit: Edit) -> tuple[str, ...]:
    """The prompts that an edit takes something from."""
    match edit:
        case AblateHeads(by="resample", prompt=prompt) | Patch(prompt=prompt):
            return (prompt,)
        case Steer(toward=toward, away=away):
            return toward, away
    return ()


def describe(edit: Edit) -> str:
    """An edit in a few words, without the prompts that it takes from."""
    match edit:
        case AblateHeads(heads=heads, by=by, over=over):
            where = f" over {len(over):,} prompt{'s' * (len(over) != 1)}" if by == "mean" and over else ""
            return f"{', '.join(map(_called, heads))} ablated ({by}{where})"
        case CutEdge(head=head, query=query, key=key, renormalise=renormalise):
            return f"{_called(head)}: edge from {query} to {key} cut{', row renormalised' if renormalise else ''}"
        case FreezePatterns(layers=layers):
            return f"patterns of {', '.join(f'L{layer}' for layer in layers) or 'every layer'} frozen"
        case Patch(name=name, positions=positions, one_head=head):
            return f"{name}{'' if head is None else f' of H{head}'} patched at {_places(positions)}"
        case Steer(layer=layer, factor=factor, positions=positions, mode=mode):
            done = f"plus {factor:g} × direction" if mode == "add" else f"with {factor:g} × its part along direction"
            return f"stream before L{layer} {done} at {_places(positions)}"
        case Drop(layer=layer, part=part):
            return f"L{layer}{'' if part == 'layer' else f' {part}'} dropped"


def _called(head: Head) -> str:
    return f"L{head[0]}H{head[1]}"


def _places(positions: tuple[int, ...]) -> str:
    return ", ".join(map(str, positions)) or "every position"


def touches(edit: Edit, head: Head) -> bool:
    """Whether an edit changes something between what a head reads and what it gives."""
    match edit:
        case AblateHeads(heads=heads):
            return head in heads
        case CutEdge(head=cut):
            return head == cut
        case FreezePatterns(layers=layers):
            return not layers or head[0] in layers
        case Patch(name=name, one_head=one_head):
            inside = name.startswith((f"blocks.{head[0]}.attn.", f"blocks.{head[0]}.ln1."))
            return inside and one_head in (None, head[1])
    return False


def layer_of(name: str) -> int | None:
    """The layer that an activation belongs to by its name; None for those before the first and after the last."""
    found = re.match(r"blocks\.(\d+)\.", name)
    return int(found[1]) if found else None


def check(edit: Edit, cfg: TransformerConfig, n_tokens: int) -> None:
    """Refuse an edit that names what this model or this prompt does not have.

    Raises:
        InputError: it says what was named, and what there is.
    """
    match edit:
        case AblateHeads(heads=heads):
            if not heads:
                raise InputError("No head is named that is to be ablated. Choose at least one.")
            for head in heads:
                check_head(cfg, *head)
        case CutEdge(head=head, query=query, key=key):
            check_head(cfg, *head)
            check_cell(cfg, n_tokens, query, key)
        case FreezePatterns(layers=layers):
            _check_indices("layer", layers, cfg.n_layers, "model")
        case Patch(positions=positions, one_head=patched):
            _check_indices("position", positions, n_tokens, "prompt")
            _check_indices("head", () if patched is None else (patched,), cfg.n_heads, "layer")
        case Steer(layer=layer, positions=positions, factor=factor):
            _check_indices("layer", (layer,), cfg.n_layers, "model")
            _check_indices("position", positions, n_tokens, "prompt")
            if not abs(factor) <= MOST_FACTOR:
                raise InputError(f"The factor is {factor}; it can be from -{MOST_FACTOR:g} to {MOST_FACTOR:g}.")
        case Drop(layer=layer, part=part):
            _check_indices("layer", (layer,), cfg.n_layers, "model")
            if part == "MLP" and cfg.attn_only:
                raise InputError("This model has no MLPs to drop, only attention. Drop a layer instead.")


def _check_indices(called: str, indices: tuple[int, ...], count: int, owner: str) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise InputError(
                f"There is no {called} {index}: this {owner} has {called}s 0 to {count - 1}. Choose one of these."
            )


# What stands for the fields that links of before do not have.
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
    if len(indices) > _MOST_INDICES:
        raise ValueError(text)
    return indices


def _head(text: str) -> Head:
    layer, head = text.split(".")
    return _index(layer), _index(head)


def _heads(text: str) -> tuple[Head, ...]:
    return tuple(dict.fromkeys(map(_head, text.split(",")[:_MOST_INDICES]))) if text else ()


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
        raw = unpacking.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _MOST_UNPACKED)
    except (binascii.Error, zlib.error) as error:
        raise ValueError(text) from error
    found = json.loads(raw) if unpacking.eof else None
    if not isinstance(found, list) or len(found) > MOST_PROMPTS or not all(isinstance(each, str) for each in found):
        raise ValueError(text)
    "".join(found).encode()  # half a surrogate pair is a ValueError: no page could show it
    return tuple(found)


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
    "part": _one_of(*get_args(Part)),
}
