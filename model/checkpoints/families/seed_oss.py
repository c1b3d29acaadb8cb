"""Seed-OSS folders: Llama's layers, whose attention has biases of queries, keys and values apart from the output's.

Source: transformers' SeedOssConfig and modeling_seed_oss.
"""

from headlight.model.checkpoints.architecture import Architecture
from headlight.model.checkpoints.families import llama
from headlight.model.checkpoints.keys import Keys

KEYS = Keys((*llama.READ, "attention_out_bias"))
FAMILY = Architecture("seed_oss", llama.settings, llama.weight_map, KEYS).family
