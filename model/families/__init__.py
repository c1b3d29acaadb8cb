"""Kinds of checkpoints, each in a file of its own and a line of `FAMILIES` or `SEQ2SEQ_FAMILIES`."""

from headlight.model.config import TransformerConfig
from headlight.model.families import (
    gemma,
    gemma2,
    gemma3,
    gpt2,
    granite,
    headlight,
    llama,
    marian,
    mistral,
    olmo,
    phi3,
    qwen2,
    qwen3,
    seq2seq,
    smollm3,
    transformer_lens,
)
from headlight.model.families.family import Checkpoint, Family, seq2seq_skeleton, skeleton
from headlight.model.seq2seq_config import Seq2SeqConfig

FAMILIES: dict[str, Family[TransformerConfig]] = {
    "gemma": gemma.FAMILY,
    "gemma2": gemma2.FAMILY,
    "gemma3": gemma3.FAMILY,
    "gpt2": gpt2.FAMILY,
    "granite": granite.FAMILY,
    "llama": llama.FAMILY,
    "mistral": mistral.FAMILY,
    "olmo": olmo.FAMILY,
    "phi3": phi3.FAMILY,
    "qwen2": qwen2.FAMILY,
    "qwen3": qwen3.FAMILY,
    "smollm3": smollm3.FAMILY,
    "headlight": headlight.FAMILY,
    "transformer_lens": transformer_lens.FAMILY,
}
OWN = ("headlight", "transformer_lens")  # what transformers does not open
SEQ2SEQ_FAMILIES: dict[str, Family[Seq2SeqConfig]] = {
    "headlight_seq2seq": seq2seq.FAMILY,
    "marian": marian.FAMILY,
}

__all__ = ["FAMILIES", "OWN", "SEQ2SEQ_FAMILIES", "Checkpoint", "Family", "seq2seq_skeleton", "skeleton"]
