"""Sentences and their translations as token ids: padded batches, and the data interface of training."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

# Token ids of a source and of its target. Both end with the end token; the target's start token is put before by
# `pad_pairs`.
Pair = tuple[list[int], list[int]]

Item = TypeVar("Item")

# The first ids of every vocabulary that is trained here.
START, END = "<s>", "</s>"
START_TOKEN, END_TOKEN = 0, 1


@dataclass(frozen=True)
class PairBatch:
    """Sources and targets padded on the right, masks 1 for real tokens; a target begins with the start token.

    The decoder reads a target without its last column and is to say it without its first (teacher forcing).
    """

    source: Int[Tensor, "batch source"]
    source_mask: Int[Tensor, "batch source"]
    target: Int[Tensor, "batch target"]
    target_mask: Int[Tensor, "batch target"]

    def to(self, device: torch.device) -> "PairBatch":
        """The batch on a device."""
        tensors = (self.source, self.source_mask, self.target, self.target_mask)
        return PairBatch(*(tensor.to(device) for tensor in tensors))

    @property
    def n_tokens(self) -> int:
        """Real tokens of both sides."""
        return int(self.source_mask.sum() + self.target_mask.sum())

    @property
    def n_positions(self) -> int:
        """Real tokens and padding of both sides."""
        return self.source.numel() + self.target.numel()


class Data(ABC):
    """The data that a run trains on."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """A text that changes whenever the pairs or their order do."""

    @property
    @abstractmethod
    def held_out(self) -> Sequence[PairBatch]:
        """Pairs that are measured and never trained on."""

    @abstractmethod
    def batch(self, step: int) -> PairBatch:
        """The pairs of a training step, which depend on the step alone."""


def pad_pairs(pairs: Sequence[Pair]) -> PairBatch:
    """Pairs as one batch, as long as the longest of each side."""
    sides = [source for source, _ in pairs], [[START_TOKEN, *target] for _, target in pairs]
    return PairBatch(*padded(sides[0]), *padded(sides[1]))


def padded(rows: Sequence[list[int]]) -> tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch pos"]]:
    """Rows of token ids as one batch, padded on the right, and its mask, 1 for real tokens."""
    tokens = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    return tokens, (torch.arange(tokens.shape[1]) < lengths[:, None]).long()


def in_parts(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Items in parts of this size, the last one with the rest."""
    return [items[start : start + size] for start in range(0, len(items), size)]
