"""Folders of models that read images as well as text, whose text part is a model of an architecture of its own.

Source: transformers' Gemma3Config, LlavaConfig and Mistral3Config, and conversion_mapping for the tensors' names.
"""

from typing import Any

from torch import Tensor

KINDS = {"gemma3": "gemma3_text", "llava": "llama", "mistral3": "mistral"}  # and their text's, where none is told
PART = "language_model."  # in the names of all of the text part's tensors but the unembedding's
QUANTISED, TIED = "quantization_config", "tie_word_embeddings"


def text_part(told: dict[str, Any]) -> dict[str, Any] | None:
    """What config.json tells of the text's part, and of the whole for it; None where there is no other part."""
    kind, text = told.get("model_type"), told.get("text_config")
    if kind not in KINDS or not isinstance(text, dict):
        return None
    of_whole = {QUANTISED: told[QUANTISED]} if QUANTISED in told else {}
    if kind != "llava" or told.get(TIED):  # a LLaVA is tied as well where its text is said to be
        of_whole[TIED] = told.get(TIED, True)
    return {"model_type": KINDS[kind]} | text | of_whole


def text_tensors(tensors: dict[str, Tensor], unembed: str) -> dict[str, Tensor]:
    """The text part's tensors under the names that they have in a folder of text alone."""
    head = unembed.removesuffix("weight")  # of which a LoRA holds other tensors
    return {
        name.replace(PART, "", 1): tensor for name, tensor in tensors.items() if PART in name or name.startswith(head)
    }
