"""Folders of models that read images as well as text, whose text part is a model of an architecture of its own.

Source: transformers' Gemma3Config, LlavaConfig and Mistral3Config, and conversion_mapping for the tensors' names.
"""

from typing import Any

from torch import Tensor

KINDS = ("gemma3", "llava", "mistral3")
PART = "language_model."  # in the names of all of the text part's tensors but the unembedding's
SHARED = ("tie_word_embeddings", "quantization_config")  # told of the whole


def text_part(told: dict[str, Any]) -> dict[str, Any] | None:
    """What config.json tells of the text's part; None where there is no other part."""
    text = told.get("text_config")
    if told.get("model_type") not in KINDS or not isinstance(text, dict):
        return None
    return text | {name: told[name] for name in SHARED if name in told}


def text_tensors(tensors: dict[str, Tensor], unembed: str) -> dict[str, Tensor]:
    """The text part's tensors under the names that they have in a folder of text alone."""
    head = unembed.removesuffix("weight")  # of which a LoRA holds other tensors
    return {
        name.replace(PART, "", 1): tensor for name, tensor in tensors.items() if PART in name or name.startswith(head)
    }
