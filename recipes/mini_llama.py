"""The embedded model `mini-llama`: `mini`'s corpus, curriculum and tokenizer, in a transformer of the modern kind.

Rotary positions, RMSNorm, two heads to each key and value, a gated MLP of the same width.
`python -m headlight.recipes.mini_llama` (`make train-mini-llama`) trains it, or goes on.
"""

from dataclasses import replace

from headlight.model.checkpoints.families.llama import save_llama
from headlight.recipes import mini

CONFIG = replace(
    mini.CONFIG,
    positional_embedding_type="rotary",
    normalization_type="RMS",
    n_key_value_heads=2,
    gated_mlp=True,
    act_fn="silu",
)

if __name__ == "__main__":
    mini.main("mini-llama", CONFIG, save_llama)
