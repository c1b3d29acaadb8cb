"""Opening a graph that circuit-tracer, Neuronpedia or this project wrote. The file may be anybody's: all is checked."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.base.files import POINTER
from headlight.model.graph.graph import Graph, Kind, Node, Target
from headlight.model.graph.influence import arriving, feeding_order
from headlight.model.graph.writing import FIRST_HEAD, REST, TYPES, Group
from headlight.model.text.labels import label

MAX_BYTES, MAX_NODES, MAX_LINKS, MAX_TOKENS = 64 * 2**20, 4000, 1_000_000, 4096
MAX_NAME_LENGTH, MAX_PROMPT_LENGTH = 200, 100_000  # characters of a name that is kept, and of a prompt
MAX_DIGITS = 40
HALF = re.compile("[\ud800-\udfff]")
KINDS: dict[str, Kind] = {name: kind for kind, name in TYPES.items() if kind not in REST} | {
    "lorsa error": "heads left out"
}
NUMBERED: tuple[Kind, ...] = ("token", "head", "neuron", "feature", "logit")
ERRORS: dict[str, Kind] = {str(number): kind for kind, number in REST.items()}


@dataclass(frozen=True, eq=False)
class Opened:
    """A graph from a file, its nodes' names there ("" where they had none), and their groups.

    Biases are what the file's edges leave of an activation; with edges cut away they hold these too. `n_unclear` are
    the links out of an id that a feature and an error share of which nothing tells whose they are; the error has them.
    """

    graph: Graph
    names: tuple[str, ...]
    groups: tuple[Group, ...]
    n_unclear: int = 0


def open_graph(content: bytes) -> Opened:
    """A graph of circuit-tracer's json.

    Raises:
        InputError: it says what is wrong with the file.
    """
    if len(content) > MAX_BYTES:
        raise InputError(f"The file has {len(content) / 2**20:,.0f} MiB; {MAX_BYTES // 2**20} MiB are allowed.")
    if content.startswith(POINTER):
        raise InputError("The file is a Git LFS pointer, not a graph. Run `git lfs pull` in its repository.")
    try:
        raw = json.loads(content, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise InputError(f"The file cannot be read as JSON ({error}). Choose a graph's .json file.") from error
    parts = [_part(raw, name, kind) for name, kind in (("metadata", dict), ("nodes", list), ("links", list))]
    metadata, nodes, links = parts
    _check_number("nodes", len(nodes), MAX_NODES)
    _check_number("links", len(links), MAX_LINKS)
    tokens = [_text(each, "prompt_tokens", MAX_NAME_LENGTH) for each in _part(metadata, "prompt_tokens", list)]
    _check_number("prompt_tokens", len(tokens), MAX_TOKENS)
    read = _Nodes([_part({"node": each}, "node", dict) for each in nodes], tokens)
    return _opened(metadata, read, links, _part(raw, "qParams", dict) if "qParams" in raw else {}, tokens)


class _Nodes:
    """The nodes of a file in our order: those that are followed first, in the order in which they feed one another.

    circuit-tracer calls the error of layer l at position p 0_l_p, as it calls layer 0's feature l there: `errors` are
    those whose id a feature has too.
    """

    def __init__(self, raw: Sequence[Mapping[str, Any]], tokens: Sequence[str]) -> None:
        self.raw = sorted(raw, key=_order)
        self.nodes = [_node(each, len(tokens)) for each in self.raw]
        self.ids = [_text(each.get("node_id"), "node_id", MAX_NAME_LENGTH) for each in self.raw]
        self.places, self.errors = dict[str, int](), dict[str, int]()
        self.n_followed = sum(node.is_followed for node in self.nodes)
        for place, name in enumerate(self.ids):
            if name not in self.places:
                self.places[name] = place
            elif name not in self.errors and self._can_share(self.places[name], place):
                self.errors[name] = place
            else:
                raise InputError(f"Two of the file's nodes are called {name!r}; each needs a node_id of its own.")
        if not any(node.kind == "logit" for node in self.nodes):
            raise InputError("The file has no node of feature_type 'logit', so that nothing is explained by it.")

    def _can_share(self, first: int, second: int) -> bool:
        one, other = self.nodes[first], self.nodes[second]
        return (one.kind, one.layer, other.kind) == ("feature", 0, "error") and one.index == other.layer

    def can_be_error(self, name: str, target: int) -> bool:
        """Whether a link out of a shared id can be the error's: what an MLP misses is read by later layers alone."""
        layer = self.nodes[target].layer
        return layer is None or layer > (self.nodes[self.errors[name]].layer or 0)


def _order(raw: Mapping[str, Any]) -> tuple[bool, bool, int]:
    kind = _kind(raw)
    return not Node(kind, 0).is_followed, kind == "logit", _layer(raw)


def _opened(
    metadata: Mapping[str, Any],
    read: _Nodes,
    links: Sequence[Any],
    chosen: Mapping[str, Any],
    tokens: Sequence[str],
) -> Opened:
    edges, n_unclear = _edges(read, links)
    activations = _numbers(read.raw[: read.n_followed], "activation")
    probabilities = _numbers(read.raw[: read.n_followed], "token_prob").nan_to_num(0.0).clamp(0, 1)
    logits = [place for place, node in enumerate(read.nodes) if node.kind == "logit"]
    main = next((place for place in logits if read.raw[place].get("is_target_logit")), logits[0])
    activations = torch.where(activations.isnan(), edges.sum(1), activations)
    slopes, effects = _effects(edges, activations, main)
    target, node = _text(read.raw[main].get("clerp", ""), "clerp", MAX_NAME_LENGTH), read.nodes[main]
    graph = Graph(
        model=_model(metadata),
        prompt=_text(metadata.get("prompt", ""), "prompt", MAX_PROMPT_LENGTH),
        token_ids=(),
        texts=tuple(tokens),
        tokens=tuple(map(_label, tokens)),
        target_text=target,
        target_label=_label(target),
        target_less="",
        dictionary=", ".join(
            _text(each, "transcoder_list", MAX_NAME_LENGTH) for each in _list(metadata, "transcoder_list")[:9]
        ),
        folded=not any(node.kind == "head" for node in read.nodes),
        target=Target(node.index or 0, None, node.position, float(activations[main]), float(probabilities[main])),
        nodes=tuple(read.nodes),
        edges=edges,
        bias=activations - edges.sum(1),
        activations=activations,
        slopes=slopes,
        effects=effects,
        n_candidates=read.n_followed - len(logits),
        logit_probabilities=_weights(read, probabilities, logits, main),
    )
    names = tuple(_label(_text(each.get("clerp") or "", "clerp", MAX_NAME_LENGTH)) for each in read.raw)
    return Opened(graph, names, _groups(chosen, read), n_unclear)


def _model(metadata: Mapping[str, Any]) -> str:
    """The model by its own name, which a file of this project has beside the one for Neuronpedia."""
    own = metadata.get("headlight")
    named = own.get("model") if isinstance(own, dict) else None
    return _text(metadata.get("scan", "") if named is None else named, "scan", MAX_NAME_LENGTH)


def _weights(
    read: _Nodes, probabilities: Float[Tensor, " followed"], logits: Sequence[int], main: int
) -> Float[Tensor, " followed"]:
    if float(probabilities[list(logits)].sum()) > 0:
        return probabilities
    weights = torch.zeros_like(probabilities)
    weights[main] = 1.0
    return weights


def _edges(read: _Nodes, links: Sequence[Any]) -> tuple[Float[Tensor, "followed node"], int]:
    """The edges, and how many could be a feature's or an error's.

    Where both ends are named twice the feature's link is the first: circuit-tracer writes a target's in that order.
    """
    edges, n_unclear = torch.zeros(read.n_followed, len(read.nodes), dtype=torch.float64), 0
    links = [_part({"link": link}, "link", dict) for link in links]
    all_ends = [tuple(_text(link.get(end), end, MAX_NAME_LENGTH) for end in ("source", "target")) for link in links]
    counts, met = Counter(all_ends), set[tuple[str, ...]]()
    for link, ends in zip(links, all_ends, strict=True):
        source, target = map(read.places.get, ends)
        if source is None or target is None:
            raise InputError(f"A link of the file goes from {ends[0]!r} to {ends[1]!r}, of which one is no node.")
        if target >= read.n_followed:
            raise InputError(
                f"A link goes into {read.ids[target]!r}, an embedding or error, into which nothing can go."
            )
        if ends[0] in read.errors:
            is_unclear = counts[ends] == 1 and read.can_be_error(ends[0], target)
            n_unclear += is_unclear
            source = read.errors[ends[0]] if is_unclear or ends in met else source
        met.add(ends)
        edges[target, source] = _number(link.get("weight"), "weight")
    _check_ways(edges)
    return edges, n_unclear


def _check_ways(edges: Float[Tensor, "followed node"]) -> None:
    """Refuse edges that lead in a circle: a node that feeds itself has no influence that could be counted."""
    if len(feeding_order(edges[:, : len(edges)])) < len(edges):
        raise InputError("The file's links lead in a circle, so that a node would feed itself. It is no such graph.")


def _effects(
    edges: Float[Tensor, "followed node"], activations: Float[Tensor, " followed"], main: int
) -> tuple[Float[Tensor, " followed"], Float[Tensor, " node"]]:
    """Gradient of the target by each activation, and direct contribution of each node, along the file's edges."""
    n_followed = len(edges)
    # A node's slope is what it gives, an activation's worth of it: edges / activation into those whose slope is known.
    own = torch.where(activations == 0, 1.0, activations)
    per_unit = edges[:, :n_followed] / own[None, :]
    start = torch.zeros(n_followed, dtype=torch.float64)
    start[main] = 1.0
    slopes = arriving(per_unit, start)
    effects = slopes @ edges
    effects[main] = activations[main]
    return slopes, effects


def _groups(chosen: Mapping[str, Any], read: _Nodes) -> tuple[Group, ...]:
    groups = []
    for each in _list(chosen, "supernodes")[:200]:
        if isinstance(each, list) and len(each) > 1 and all(isinstance(name, str) for name in each):
            places = tuple(read.places[name] for name in each[1:] if name in read.places)
            groups.append(Group(_text(each[0], "supernodes", MAX_NAME_LENGTH), places))
    return tuple(groups)


def _node(raw: Mapping[str, Any], n_tokens: int) -> Node:
    kind, position = _kind(raw), raw.get("ctx_idx")
    if not isinstance(position, int) or isinstance(position, bool) or not 0 <= position < n_tokens:
        raise InputError(
            f"A node's ctx_idx is {_describe(position)}; it has to be one of the {n_tokens} tokens, from 0."
        )
    layer = None if kind in ("token", "logit") else _layer(raw)
    return Node(kind, position, layer, _index(raw, kind))


def _kind(raw: Mapping[str, Any]) -> Kind:
    """Kind of a node by its type, of an error by its number too; an unknown type counts as a feature's."""
    kind = _text(raw.get("feature_type"), "feature_type", MAX_NAME_LENGTH)
    if kind in KINDS or "error" not in kind:
        return KINDS.get(kind, "feature")
    return ERRORS.get(_number_of(raw), "error")


def _layer(raw: Mapping[str, Any]) -> int:
    layer = _describe(raw.get("layer"))
    if layer == "E":
        return -1
    if not (layer.isascii() and layer.isdigit() and len(layer) <= 4):
        raise InputError(f"A node's layer is {layer}; it has to be 'E' or a whole number.")
    return int(layer)


def _index(raw: Mapping[str, Any], kind: Kind) -> int | None:
    """The number in an id, of what has one; that of a head counts down."""
    number = _number_of(raw) if kind in NUMBERED else ""
    if not (number.lstrip("-").isascii() and number.lstrip("-").isdigit() and len(number) <= 12):
        return None
    if kind == "head":
        return FIRST_HEAD - int(number)
    return int(number) if int(number) >= 0 else None


def _number_of(raw: Mapping[str, Any]) -> str:
    """The number in an id, layer_number_position; empty where it has none."""
    parts = _text(raw.get("node_id"), "node_id", MAX_NAME_LENGTH).split("_")
    return parts[1] if len(parts) == 3 else ""


def _label(text: str) -> str:
    return label(text.encode("utf-8", "replace"))


def _part(raw: Any, name: str, kind: type) -> Any:
    value = raw.get(name) if isinstance(raw, dict) else None
    if not isinstance(value, kind):
        actual = type(value).__name__ if value is not None else "nothing"
        wanted = "an object" if kind is dict else "a list"
        raise InputError(f"The file holds {actual} as {name!r}; a graph of circuit-tracer's has {wanted} there.")
    return value


def _list(raw: Mapping[str, Any], name: str) -> list[Any]:
    value = raw.get(name)
    return value if isinstance(value, list) else []


def _text(value: Any, name: str, longest: int) -> str:
    if not isinstance(value, str):
        raise InputError(f"The file holds {type(value).__name__} as {name}; it has to be text.")
    if HALF.search(value):
        raise InputError(
            f"The file holds half of a character as {name} (a surrogate, \\ud800 to \\udfff). Write it anew."
        )
    return value[:longest]


def _whole(digits: str) -> float:
    """A whole number; infinity for one that is longer than any in such a file, whose digits take long to read."""
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e30:
        raise InputError(f"The file holds {_describe(value)} as {name}; it has to be a finite number.")
    return float(value)


def _describe(value: Any) -> str:
    """A value of the file in a message: lists and objects, which can be deep, by their kind alone."""
    return str(value)[:40] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"


def _numbers(raw: Sequence[Mapping[str, Any]], name: str) -> Float[Tensor, " n"]:
    values = [math.nan if each.get(name) is None else _number(each[name], name) for each in raw]
    return torch.tensor(values, dtype=torch.float64)


def _check_number(name: str, number: int, most: int) -> None:
    if not 1 <= number <= most:
        raise InputError(f"The file has {number:,} {name}; 1 to {most:,} can be opened. Cut more of the graph away.")
