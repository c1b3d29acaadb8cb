"""Circuits as EAP-IG's program and MIB write them: json, and tensors by torch.save.

Theirs has a key and a value edge for each head. Where heads share keys and values these are one edge here: its score is
the sum of theirs and is written in equal parts, and it is in the circuit if one of theirs is.

Source: hannamw/EAP-IG 795f560, src/eap/graph.py, Graph.to_json and Graph.to_pt.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.files import read_json, replacing, write_text
from headlight.model.base.torch_files import read_torch
from headlight.model.circuits.running import Edges
from headlight.model.circuits.selection import EdgeMask
from headlight.model.circuits.wiring import Receiver, Sender, Wiring, wiring
from headlight.model.nn.config import TransformerConfig

SHAPE = ("n_layers", "n_heads", "parallel_attn_mlp", "d_model")
LOGITS = "logits"
PT_KEYS = ("cfg", "src_nodes", "dst_nodes", "edges_scores", "edges_in_graph", "nodes_in_graph")


@dataclass(frozen=True, eq=False)
class CircuitFile:
    """A circuit with the scores that it was chosen by.

    Attributes:
        edges: the edges that are in it.
        scores: all edges' scores.
        nodes: the senders that are in it.
        node_scores: the senders' scores, if nodes were scored.
        neurons: the dimensions of each sender's write that are in it, if neurons were scored.
        neuron_scores: the scores of these.
    """

    edges: EdgeMask
    scores: Edges
    nodes: Bool[Tensor, " sender"]
    node_scores: Float[Tensor, " sender"] | None = None
    neurons: Bool[Tensor, "sender d_model"] | None = None
    neuron_scores: Float[Tensor, "sender d_model"] | None = None


def circuit_file(
    wires: Wiring, edges: EdgeMask, scores: Edges, node_scores: Float[Tensor, " sender"] | None = None
) -> CircuitFile:
    """A circuit with its scores, ready to be written; its nodes are those that its edges leave."""
    return CircuitFile(edges & wires.before, scores, (edges & wires.before).any(0), node_scores)


def read_circuit(path: Path | str, cfg: TransformerConfig) -> CircuitFile:
    """Read a circuit of a model of these settings from EAP-IG's .json or .pt.

    Raises:
        CheckpointError: the file is damaged, no circuit, or of another model.
    """
    path = Path(path)
    content = read_torch(path) if path.suffix in (".pt", ".pth") else read_json(path)
    if not isinstance(content, Mapping) or not isinstance(content.get("cfg"), Mapping):
        raise CheckpointError(
            f"{path.name} is no circuit: it has no settings cfg. Give what EAP-IG's Graph.to_json or to_pt writes."
        )
    _check_model(path, content["cfg"], cfg)
    read = _Reader(path, cfg)
    return read.tensors(content) if "src_nodes" in content else read.names(content)


def write_circuit(path: Path, circuit: CircuitFile, cfg: TransformerConfig) -> None:
    """Write a circuit as EAP-IG's .json, or its .pt by the file's ending.

    Raises:
        InputError: another ending.
        WriteError: the file cannot be written.
    """
    if path.suffix not in (".json", ".pt"):
        raise InputError(f"{path.name} ends in neither .json nor .pt. Name the file by one of these.")
    if path.suffix == ".json":
        write_text(path, json.dumps(_as_names(circuit, cfg)))
        return
    with replacing(path) as partial:
        torch.save(_as_tensors(circuit, cfg), partial)


def sender_name(sender: Sender) -> str:
    """What EAP-IG calls a sender."""
    if sender.layer is None:
        return "input"
    return f"m{sender.layer}" if sender.head is None else f"a{sender.layer}.h{sender.head}"


def receiver_names(receiver: Receiver, cfg: TransformerConfig) -> list[str]:
    """What EAP-IG calls a receiver: of shared keys and values, every head of the group."""
    if receiver.layer is None:
        return [LOGITS]
    if receiver.head is None:
        return [f"m{receiver.layer}"]
    heads = [receiver.head]
    if receiver.read != "q":
        heads = [head for head in range(cfg.n_heads) if cfg.group_of(head) == cfg.group_of(receiver.head)]
    return [f"a{receiver.layer}.h{head}<{receiver.read}>" for head in heads]


def _check_model(path: Path, theirs: Mapping[str, Any], cfg: TransformerConfig) -> None:
    for name in SHAPE:
        if name in theirs and theirs[name] != getattr(cfg, name):
            raise CheckpointError(
                f"{path.name} is a circuit of another model: its {name} is {str(theirs[name])[:40]}, and this model's "
                f"{getattr(cfg, name)}. Open the model that it was found in."
            )


class _Reader:
    """Puts a file's edges in their places among the model's."""

    def __init__(self, path: Path, cfg: TransformerConfig) -> None:
        self.path, self.cfg, self.wires = path, cfg, wiring(cfg)
        self.senders = {sender_name(sender): place for place, sender in enumerate(self.wires.senders)}
        self.receivers = {
            name: place for place, receiver in enumerate(self.wires.receivers) for name in receiver_names(receiver, cfg)
        }

    def names(self, content: Mapping[str, Any]) -> CircuitFile:
        """A circuit from json."""
        edges, nodes = content.get("edges"), content.get("nodes")
        if not isinstance(edges, Mapping) or not isinstance(nodes, Mapping):
            raise self._damaged("it has no nodes or no edges")
        scores, kept = self._empty()
        for name, entry in edges.items():
            sender, _, receiver = name.partition("->")
            place = self._place(self.receivers, receiver), self._place(self.senders, sender)
            if not self.wires.before[place]:
                raise self._damaged(f"it has the edge {name[:40]!r}, which this model has not")
            scores[place] += self._number(entry.get("score", 0.0) if isinstance(entry, Mapping) else 0.0, name)
            kept[place] |= self._flag(entry, name)
        return self._circuit(kept, scores, {name: each for name, each in nodes.items() if name != LOGITS})

    def tensors(self, content: Mapping[str, Any]) -> CircuitFile:
        """A circuit from tensors [sender, receiver]."""
        if missing := [name for name in PT_KEYS if name not in content]:
            raise self._damaged(f"it has no {', '.join(missing)}")
        senders, receivers = content["src_nodes"], content["dst_nodes"]
        if not all(isinstance(each, list) for each in (senders, receivers)):
            raise self._damaged("its nodes are no lists of names")
        rows = torch.tensor([self._place(self.receivers, name) for name in receivers], dtype=torch.long)
        columns = torch.tensor([self._place(self.senders, name) for name in senders], dtype=torch.long)
        shape = (len(senders), len(receivers))
        theirs = self._tensor(content, "edges_scores", shape).T.nan_to_num()
        in_graph = self._tensor(content, "edges_in_graph", shape).T > 0
        scores, kept = self._empty()
        at = rows[:, None].expand(-1, len(columns)), columns.expand(len(rows), -1)
        scores.index_put_(at, theirs.float(), accumulate=True)
        kept = torch.zeros_like(scores).index_put_(at, in_graph.float(), accumulate=True) > 0
        parts: dict[str, Tensor] = {"nodes": self._tensor(content, "nodes_in_graph", shape[:1]) > 0}
        for name, wanted in (("nodes_scores", shape[:1]), *((n, (shape[0], self.cfg.d_model)) for n in NEURONS)):
            if content.get(name) is not None:
                parts[name] = self._tensor(content, name, wanted)
        placed = {name: torch.zeros(len(self.senders), *each.shape[1:]) for name, each in parts.items()}
        for name, each in parts.items():
            placed[name][columns] = each.float()
        neurons = placed.get("neurons_in_graph")
        return CircuitFile(
            kept & self.wires.before,
            scores * self.wires.before,
            placed["nodes"] > 0,
            placed.get("nodes_scores"),
            None if neurons is None else neurons > 0,
            placed.get("neurons_scores"),
        )

    def _circuit(self, kept: EdgeMask, scores: Edges, nodes: Mapping[str, Any]) -> CircuitFile:
        """The circuit with what the file says of its nodes."""
        in_graph = torch.zeros(len(self.senders), dtype=torch.bool)
        parts: dict[str, Tensor] = {}
        for name, entry in nodes.items():
            place = self._place(self.senders, name)
            in_graph[place] = self._flag(entry, name)
            for key in ("score", "neurons", "neurons_scores") if isinstance(entry, Mapping) else ():
                if key in entry:
                    size = () if key == "score" else (self.cfg.d_model,)
                    parts.setdefault(key, torch.full((len(self.senders), *size), torch.nan))
                    parts[key][place] = self._numbers(entry[key], name, *size)
        neurons = parts.get("neurons")
        return CircuitFile(
            kept,
            scores,
            in_graph,
            parts.get("score"),
            None if neurons is None else neurons > 0,
            parts.get("neurons_scores"),
        )

    def _empty(self) -> tuple[Edges, EdgeMask]:
        return torch.zeros(self.wires.before.shape), torch.zeros_like(self.wires.before)

    def _place(self, places: Mapping[str, int], name: object) -> int:
        if not isinstance(name, str) or name not in places:
            raise self._damaged(f"it names {str(name)[:40]!r}, which this model has not")
        return places[name]

    def _flag(self, entry: object, name: str) -> bool:
        flag = entry.get("in_graph", False) if isinstance(entry, Mapping) else entry
        if not isinstance(flag, bool | int):
            raise self._damaged(f"it does not say by true or false whether {name[:40]!r} is in the circuit")
        return bool(flag)

    def _number(self, value: object, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self._damaged(f"the score of {name[:40]!r} is {str(value)[:40]!r}, which is no finite number")
        return float(value)

    def _numbers(self, value: object, name: str, *size: int) -> Tensor:
        """A node's score, or its neurons' scores; nan is one that was not scored."""
        try:
            numbers = torch.tensor(value, dtype=torch.float32)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            numbers = torch.empty(0)
        if numbers.shape != size:
            raise self._damaged(f"the scores of {name[:40]!r} are not {math.prod(size)} numbers")
        return numbers

    def _tensor(self, content: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Tensor:
        tensor = content[name]
        if not isinstance(tensor, Tensor) or tuple(tensor.shape) != shape:
            raise self._damaged(f"its {name} is no tensor of shape {list(shape)}")
        return tensor

    def _damaged(self, why: str) -> CheckpointError:
        return CheckpointError(
            f"{self.path.name} is no circuit of this model: {why}. Give what EAP-IG's Graph.to_json or to_pt writes."
        )


NEURONS = ("neurons_in_graph", "neurons_scores")


def _settings(cfg: TransformerConfig) -> dict[str, Any]:
    return {name: getattr(cfg, name) for name in SHAPE}


def _each_edge(wires: Wiring, cfg: TransformerConfig) -> Iterator[tuple[str, str, tuple[int, int], int]]:
    """Sender and receiver as EAP-IG names them, the edge's place here, and how many of theirs it stands for."""
    for row, receiver in enumerate(wires.receivers):
        names = receiver_names(receiver, cfg)
        for column in wires.before[row].nonzero().flatten().tolist():
            for name in names:
                yield sender_name(wires.senders[column]), name, (row, column), len(names)


def _as_names(circuit: CircuitFile, cfg: TransformerConfig) -> dict[str, Any]:
    wires = wiring(cfg)
    nodes: dict[str, dict[str, Any]] = {}
    for place, sender in enumerate(wires.senders):
        entry = nodes.setdefault(sender_name(sender), {"in_graph": bool(circuit.nodes[place])})
        if circuit.node_scores is not None:
            entry["score"] = float(circuit.node_scores[place])
        if circuit.neurons is not None and circuit.neuron_scores is not None:
            entry["neurons"] = circuit.neurons[place].tolist()
            entry["neurons_scores"] = circuit.neuron_scores[place].tolist()
    nodes[LOGITS] = {"in_graph": True}
    edges = {
        f"{sender}->{receiver}": {"score": float(circuit.scores[at]) / n, "in_graph": bool(circuit.edges[at])}
        for sender, receiver, at, n in _each_edge(wires, cfg)
    }
    return {"cfg": _settings(cfg), "nodes": nodes, "edges": edges}


def _as_tensors(circuit: CircuitFile, cfg: TransformerConfig) -> dict[str, Any]:
    wires = wiring(cfg)
    senders = [sender_name(sender) for sender in wires.senders]
    receivers = [name for layer in range(cfg.n_layers) for name in _receivers_of(layer, cfg)] + [LOGITS]
    scores = torch.zeros(len(senders), len(receivers))
    kept = torch.zeros(len(senders), len(receivers), dtype=torch.bool)
    rows, columns = _places(receivers), _places(senders)
    for sender, receiver, at, n in _each_edge(wires, cfg):
        scores[columns[sender], rows[receiver]] = circuit.scores[at] / n
        kept[columns[sender], rows[receiver]] = circuit.edges[at]
    content = {
        "cfg": _settings(cfg),
        "src_nodes": senders,
        "dst_nodes": receivers,
        "edges_scores": scores,
        "edges_in_graph": kept,
        "nodes_in_graph": circuit.nodes,
    }
    more = {
        "nodes_scores": circuit.node_scores,
        "neurons_in_graph": circuit.neurons,
        "neurons_scores": circuit.neuron_scores,
    }
    return content | {name: tensor for name, tensor in more.items() if tensor is not None}


def _receivers_of(layer: int, cfg: TransformerConfig) -> list[str]:
    """A layer's receivers in EAP-IG's order."""
    names = [f"a{layer}.h{head}<{part}>" for part in "qkv" for head in range(cfg.n_heads)]
    return names if cfg.attn_only else [*names, f"m{layer}"]


def _places(names: Iterable[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}
