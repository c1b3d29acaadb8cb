"""Seed-OSS folders: Llama's layers, whose attention has biases of queries, keys and values apart from the output's.

Source: transformers' SeedOssConfig and modeling_seed_oss.
"""

from headlight.model.families import llama
from headlight.model.families.architecture import Architecture
from headlight.model.families.keys import Keys

KEYS = Keys((*llama.READ, "attention_out_bias"))
FAMILY = Architecture("seed_oss", llama.settings, llama.pieces, KEYS).family
