"""What transformers' own model computes from a folder, to hold ours against."""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Reference:
    """transformers' logits, the stream before each layer, and each layer's pattern where it was asked for them."""

    logits: Float[Tensor, "batch pos d_vocab"]
    streams: tuple[Float[Tensor, "batch pos d_model"], ...]
    patterns: tuple[Float[Tensor, "batch head query key"], ...]


def reference(folder: Path, tokens: Int[Tensor, "batch pos"], masked: bool = False, patterns: bool = True) -> Reference:
    """One pass in float32 with eager attention, of the model with a masked token's head or the next token's.

    Raises:
        ConfigError: transformers is not installed.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoModelForMaskedLM
    except ImportError as error:
        raise ConfigError("Comparing with transformers needs it installed: pip install transformers.") from error
    kind = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    how = {"dtype": torch.float32, "local_files_only": True, "use_safetensors": True, "trust_remote_code": False}
    model = kind.from_pretrained(folder, attn_implementation="eager", **how).eval()
    with torch.inference_mode():
        found = model(tokens, output_hidden_states=True, output_attentions=patterns)
    return Reference(found.logits, found.hidden_states[:-1], tuple(found.attentions or ()))
