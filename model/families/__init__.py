"""Kinds of checkpoints, each in a file of its own and a line of `FAMILIES`."""

from model.families import gpt2, transformer_lens
from model.families.family import Checkpoint, Family, skeleton

FAMILIES: dict[str, Family] = {
    "gpt2": gpt2.FAMILY,
    "transformer_lens": transformer_lens.FAMILY,
}

__all__ = ["FAMILIES", "Checkpoint", "Family", "skeleton"]
