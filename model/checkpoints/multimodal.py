"""Folders of models that read images as well as text; their text part has an architecture of its own.

Source: transformers' Gemma3Config, LlavaConfig and Mistral3Config, and conversion_mapping for the tensors' names.
"""

from typing import Any

from torch import Tensor

KINDS = {
    "gemma3": "gemma3_text",
    "llava": "llama",
    "mistral3": "mistral",
}  # and the text part's where it names none
PART = "language_model."  # in the names of all of the text part's tensors but the unembedding's
QUANTISED, TIED = "quantization_config", "tie_word_embeddings"


def text_part(raw_config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the text part's config, with the whole model's settings that apply to it; None for a text-only model."""
    kind, text = raw_config.get("model_type"), raw_config.get("text_config")
    if kind not in KINDS or not isinstance(text, dict):
        return None
    of_whole = {QUANTISED: raw_config[QUANTISED]} if QUANTISED in raw_config else {}
    if kind != "llava" or raw_config.get(TIED):  # a LLaVA is tied as well where its text is said to be
        of_whole[TIED] = raw_config.get(TIED, True)
    return {"model_type": KINDS[kind]} | text | of_whole


def text_tensors(tensors: dict[str, Tensor], unembed: str) -> dict[str, Tensor]:
    """Rename the text part's tensors to those of a text-only model, and drop the others."""
    head = unembed.removesuffix("weight")  # of which a LoRA holds other tensors
    return {
        name.replace(PART, "", 1): tensor for name, tensor in tensors.items() if PART in name or name.startswith(head)
    }
