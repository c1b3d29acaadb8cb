"""The edges of all circuits: which components write to the stream, and which later ones read it."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

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

    `before` is whether what a sender writes is in what a receiver reads, `onward` whether the sender writes what the
    receiver's part makes of what it reads: of shared keys and values all heads of the group do.
    """

    senders: tuple[Sender, ...]
    receivers: tuple[Receiver, ...]
    before: Bool[Tensor, "receiver sender"]
    onward: Bool[Tensor, "receiver sender"]

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


@lru_cache(8)
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
    onward = [[_is_onward(receiver, sender, cfg) for sender in senders] for receiver in receivers]
    before = stages < torch.tensor(limits)[:, None]
    return Wiring(tuple(senders), tuple(receivers), before, torch.tensor(onward))


def _is_onward(receiver: Receiver, sender: Sender, cfg: TransformerConfig) -> bool:
    """Whether a sender writes what a receiver's part makes of what it reads."""
    if receiver.layer is None or sender.layer != receiver.layer:
        return False
    if receiver.head is None or sender.head is None:
        return receiver.head == sender.head
    if receiver.read == "q":
        return receiver.head == sender.head
    return cfg.group_of(receiver.head) == cfg.group_of(sender.head)
