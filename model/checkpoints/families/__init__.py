"""Kinds of checkpoints: each is the `FAMILY` of a file here, which is named below."""

from importlib import import_module
from typing import Any

from headlight.model.checkpoints.family import Family
from headlight.model.nn.config import DType, TransformerConfig
from headlight.model.nn.seq2seq_config import Seq2SeqConfig

ARCHITECTURES = (  # of transformers' decoders and encoders
    "albert",
    "apertus",
    "arcee",
    "bert",
    "biogpt",
    "bloom",
    "camembert",
    "codegen",
    "cohere",
    "cohere2",
    "deberta_v2",
    "distilbert",
    "electra",
    "ernie4_5",
    "esm",
    "exaone4",
    "falcon",
    "gemma",
    "gemma2",
    "gemma3",
    "glm",
    "glm4",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gpt_oss",
    "gptj",
    "granite",
    "granitemoe",
    "hunyuan_v1_dense",
    "llama",
    "ministral3",
    "mistral",
    "mixtral",
    "modernbert",
    "mpnet",
    "mpt",
    "nanochat",
    "nemotron",
    "olmo",
    "olmo2",
    "olmo3",
    "olmoe",
    "openai_gpt",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen2_5_vl",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_vl",
    "roberta",
    "seed_oss",
    "smollm3",
    "stablelm",
    "starcoder2",
    "vaultgemma",
    "xglm",
    "xlm_roberta",
)
SEQ2SEQ = ("bart", "m2m_100", "marian", "mbart", "mt5", "pegasus", "t5", "umt5")
ENCODERS = ("t5_encoder",)  # of encoder-decoders, alone
OWN = ("headlight", "nano_gpt", "transformer_lens")  # what transformers does not open


def _family(name: str) -> Family[Any]:
    family: Family[Any] = import_module(f"{__name__}.{name}").FAMILY
    return family


FAMILIES: dict[str, Family[TransformerConfig]] = {name: _family(name) for name in (*ARCHITECTURES, *ENCODERS, *OWN)}
SEQ2SEQ_FAMILIES: dict[str, Family[Seq2SeqConfig]] = {
    "headlight_seq2seq": _family("seq2seq"),
    **{name: _family(name) for name in SEQ2SEQ},
}

__all__ = ["ARCHITECTURES", "ENCODERS", "FAMILIES", "OWN", "SEQ2SEQ_FAMILIES", "DType"]
