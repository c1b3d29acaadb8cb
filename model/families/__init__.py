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
    gpt_oss,
    gptj,
    granite,
    headlight,
    llama,
    marian,
    mistral,
    mixtral,
    olmo,
    olmo2,
    opt,
    phi,
    phi3,
    qwen2,
    qwen3,
    qwen3_moe,
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
    "gpt_oss": gpt_oss.FAMILY,
    "granite": granite.FAMILY,
    "llama": llama.FAMILY,
    "mistral": mistral.FAMILY,
    "mixtral": mixtral.FAMILY,
    "olmo": olmo.FAMILY,
    "opt": opt.FAMILY,
    "phi": phi.FAMILY,
    "olmo2": olmo2.FAMILY,
    "phi3": phi3.FAMILY,
    "qwen2": qwen2.FAMILY,
    "qwen3": qwen3.FAMILY,
    "qwen3_moe": qwen3_moe.FAMILY,
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
