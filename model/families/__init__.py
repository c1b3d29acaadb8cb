"""Kinds of checkpoints, each in a file of its own and a line of `FAMILIES` or `SEQ2SEQ_FAMILIES`."""

from headlight.model.config import TransformerConfig
from headlight.model.families import (
    bloom,
    cohere,
    falcon,
    gemma,
    gemma2,
    gemma3,
    gpt2,
    gpt_bigcode,
    gpt_neo,
    gpt_neox,
    gptj,
    granite,
    headlight,
    llama,
    marian,
    mistral,
    olmo,
    opt,
    phi,
    phi3,
    qwen2,
    qwen3,
    seq2seq,
    smollm3,
    stablelm,
    starcoder2,
    transformer_lens,
)
from headlight.model.families.family import Checkpoint, Family, seq2seq_skeleton, skeleton
from headlight.model.seq2seq_config import Seq2SeqConfig

FAMILIES: dict[str, Family[TransformerConfig]] = {
    "bloom": bloom.FAMILY,
    "cohere": cohere.FAMILY,
    "falcon": falcon.FAMILY,
    "gemma": gemma.FAMILY,
    "gemma2": gemma2.FAMILY,
    "gemma3": gemma3.FAMILY,
    "gpt2": gpt2.FAMILY,
    "gpt_bigcode": gpt_bigcode.FAMILY,
    "gpt_neo": gpt_neo.FAMILY,
    "gpt_neox": gpt_neox.FAMILY,
    "gptj": gptj.FAMILY,
    "granite": granite.FAMILY,
    "llama": llama.FAMILY,
    "mistral": mistral.FAMILY,
    "olmo": olmo.FAMILY,
    "opt": opt.FAMILY,
    "phi": phi.FAMILY,
    "phi3": phi3.FAMILY,
    "qwen2": qwen2.FAMILY,
    "qwen3": qwen3.FAMILY,
    "smollm3": smollm3.FAMILY,
    "stablelm": stablelm.FAMILY,
    "starcoder2": starcoder2.FAMILY,
    "headlight": headlight.FAMILY,
    "transformer_lens": transformer_lens.FAMILY,
}
OWN = ("headlight", "transformer_lens")  # what transformers does not open
SEQ2SEQ_FAMILIES: dict[str, Family[Seq2SeqConfig]] = {
    "headlight_seq2seq": seq2seq.FAMILY,
    "marian": marian.FAMILY,
}

__all__ = ["FAMILIES", "OWN", "SEQ2SEQ_FAMILIES", "Checkpoint", "Family", "seq2seq_skeleton", "skeleton"]
