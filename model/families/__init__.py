"""Kinds of checkpoints, each in a file of its own and a line of `FAMILIES` or `SEQ2SEQ_FAMILIES`."""

from headlight.model.config import TransformerConfig
from headlight.model.families import gpt2, headlight, llama, marian, mistral, qwen2, seq2seq, transformer_lens
from headlight.model.families.family import Checkpoint, Family, seq2seq_skeleton, skeleton
from headlight.model.seq2seq_config import Seq2SeqConfig

FAMILIES: dict[str, Family[TransformerConfig]] = {
    "gpt2": gpt2.FAMILY,
    "llama": llama.FAMILY,
    "mistral": mistral.FAMILY,
    "qwen2": qwen2.FAMILY,
    "headlight": headlight.FAMILY,
    "transformer_lens": transformer_lens.FAMILY,
}
SEQ2SEQ_FAMILIES: dict[str, Family[Seq2SeqConfig]] = {
    "headlight_seq2seq": seq2seq.FAMILY,
    "marian": marian.FAMILY,
}

__all__ = ["FAMILIES", "SEQ2SEQ_FAMILIES", "Checkpoint", "Family", "seq2seq_skeleton", "skeleton"]
