"""Folders of models that read images as well as text; their text part has an architecture of its own.

Source: transformers' Gemma3Config, LlavaConfig, LlavaOnevisionConfig, Mistral3Config, PaliGemmaConfig, Qwen2_5_VLConfig
and Qwen3VLConfig, and conversion_mapping for the tensors' names.
"""

from collections.abc import Iterable
from typing import Any

from torch import Tensor

KINDS = {
    "gemma3": "gemma3_text",
    "llava": "llama",
    "llava_onevision": "qwen2",
    "mistral3": "mistral",
    "paligemma": "gemma",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
}  # and the text part's where it names none
FLAT = ("qwen2_5_vl",)  # whose first configs have the text's settings beside the vision's, and their tensors no PART
PART = "language_model."  # in the names of all of the text part's tensors but the unembedding's
SCORE = "score."  # a classifier's head
VISION = ("vision_", "image_", "video_")  # that settings which have no share in a text begin with
VISUAL = ("visual.", "model.visual.")
QUANTISED, TIED, BOTH_SIDES = "quantization_config", "tie_word_embeddings", "use_bidirectional_attention"
TIED_BY_TEXT = ("llava", "llava_onevision", "qwen2_5_vl")  # tied as well where their text is said to be
TIED_BY_DEFAULT = ("gemma3", "mistral3", "paligemma")
NOTES = {"paligemma": " and sees a prompt to both sides; here each token sees those before it, as in an answer"}


def text_part(raw_config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the text part's config, with the whole model's settings that apply to it; None for a text-only model."""
    kind, text = raw_config.get("model_type"), raw_config.get("text_config")
    if kind in FLAT and text is None:
        text = {name: value for name, value in raw_config.items() if not name.startswith(VISION)}
        text["model_type"] = KINDS[kind]
    if kind not in KINDS or not isinstance(text, dict):
        return None
    of_whole = {QUANTISED: raw_config[QUANTISED]} if QUANTISED in raw_config else {}
    if kind not in TIED_BY_TEXT or raw_config.get(TIED):
        of_whole[TIED] = raw_config.get(TIED, kind in TIED_BY_DEFAULT)
    if kind == "paligemma":
        of_whole[BOTH_SIDES] = None
    return {"model_type": KINDS[kind]} | text | of_whole


def note(kind: str) -> str:
    """Note that only the text part of a kind of model is opened."""
    return f"the text's part of a {kind}, which reads images as well{NOTES.get(kind, '')}"


def resembles_none(names: Iterable[str]) -> float:
    """Score how well tensor names match a text part: not at all, for a text-only model's are the same."""
    return 0.0


def text_tensors(tensors: dict[str, Tensor], unembed: str) -> dict[str, Tensor]:
    """Rename the text part's tensors to those of a text-only model, and drop the others."""
    if not any(PART in name for name in tensors):
        return {name: tensor for name, tensor in tensors.items() if not name.startswith(VISUAL)}
    heads = unembed.removesuffix("weight"), SCORE  # of which a LoRA holds other tensors
    return {
        name.replace(PART, "", 1): tensor for name, tensor in tensors.items() if PART in name or name.startswith(heads)
    }
