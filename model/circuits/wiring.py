"""The edges of all circuits: which components write to the stream, and which later ones read it."""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.model.nn.config import TransformerConfig
from headlight.model.patching.paths import ReadAs
from headlight.model.runs.edits import head_name


@dataclass(frozen=True)
class Sender:
    """A component that writes: the embeddings (no layer), a head, or a layer's MLP (no head)."""

    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        """Name of the node."""
        if self.layer is None:
            return "embeddings"
        return f"L{self.layer} MLP" if self.head is None else head_name((self.layer, self.head))

    @property
    def stage(self) -> int:
        """Order of writing: a layer's heads at twice its number, its MLP one later, the embeddings first."""
        return -1 if self.layer is None else 2 * self.layer + (self.head is None)


@dataclass(frozen=True)
class Receiver:
    """A component that reads: a head's query, key or value, a layer's MLP (no head), or the logits (no layer).

    Where a group of heads shares keys and values, `head` is the first of the group.
    """

    layer: int | None = None
    head: int | None = None
    read: ReadAs | None = None

    @property
    def name(self) -> str:
        """Name of the receiver."""
        if self.layer is None:
            return "logits"
        return f"L{self.layer} MLP" if self.head is None else f"{head_name((self.layer, self.head))}.{self.read}"


@dataclass(frozen=True, eq=False)
class Wiring:
    """All senders and receivers of a model, in the order in which they write and read.

    `before` [receiver, sender] is whether what a sender writes is in what a receiver reads.
    """

    senders: tuple[Sender, ...]
    receivers: tuple[Receiver, ...]
    before: Bool[Tensor, "receiver sender"]

    @cached_property
    def rows(self) -> dict[tuple[int | None, bool], list[int]]:
        """The receivers' places by layer, and by whether they are heads'."""
        by_place: dict[tuple[int | None, bool], list[int]] = {}
        for place, receiver in enumerate(self.receivers):
            by_place.setdefault((receiver.layer, receiver.head is not None), []).append(place)
        return by_place

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.before.sum())

    def continues(self, receiver: Receiver, cfg: TransformerConfig) -> list[int]:
        """The senders' places that write what a receiver's part makes of what it reads."""
        if receiver.layer is None:
            return []
        if receiver.head is None:
            return [self.senders.index(Sender(receiver.layer))]
        heads = [receiver.head]
        if receiver.read != "q":
            group = cfg.group_of(receiver.head)
            heads = [head for head in range(cfg.n_heads) if cfg.group_of(head) == group]
        return [self.senders.index(Sender(receiver.layer, head)) for head in heads]


def wiring(cfg: TransformerConfig) -> Wiring:
    """All edges of a model: into each head's query, key and value, each MLP, and the logits, from all before it."""
    senders, receivers, limits = [Sender()], list[Receiver](), list[int]()
    in_group = cfg.n_heads // cfg.n_shared
    for layer in range(cfg.n_layers):
        heads = [Receiver(layer, head, "q") for head in range(cfg.n_heads)]
        heads += [Receiver(layer, head, read) for read in ("k", "v") for head in range(0, cfg.n_heads, in_group)]
        receivers, limits = receivers + heads, limits + [2 * layer] * len(heads)
        senders += [Sender(layer, head) for head in range(cfg.n_heads)]
        if not cfg.attn_only:
            receivers.append(Receiver(layer))
            limits.append(2 * layer if cfg.parallel_attn_mlp else 2 * layer + 1)
            senders.append(Sender(layer))
    receivers.append(Receiver())
    limits.append(2 * cfg.n_layers)
    stages = torch.tensor([sender.stage for sender in senders])
    return Wiring(tuple(senders), tuple(receivers), stages < torch.tensor(limits)[:, None])
