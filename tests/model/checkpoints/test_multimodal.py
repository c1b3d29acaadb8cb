"""Folders of models that read images as well: their text's part is opened, and it is said that it is a part."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    AutoModelForImageTextToText,
    Gemma3Config,
    Gemma3ForSequenceClassification,
    LlavaConfig,
    LlavaOnevisionConfig,
    Mistral3Config,
    PaliGemmaConfig,
    PreTrainedConfig,
    Qwen2_5_VLConfig,
)

from headlight.model import load
from headlight.model.base.errors import CheckpointError
from tests.model.checkpoints.architectures.cohere import SIZES as COHERE_SIZES
from tests.model.checkpoints.architectures.gemma3 import VISION
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.architectures.qwen2_5_vl import SECTIONS
from tests.model.checkpoints.architectures.qwen2_5_vl import VISION as QWEN_VISION
from tests.model.oracles import ATOL, RTOL, random_tokens

FILE = "model.safetensors"
CLIP = VISION | {"model_type": "clip_vision_model", "projection_dim": 8}
GROWING = {
    "rope_type": "default",
    "rope_theta": 500.0,
    "llama_4_scaling_beta": 0.4,
    "original_max_position_embeddings": 4,
}
PIXTRAL = VISION | {"model_type": "pixtral", "head_dim": 4}
CONFIGS = {
    "gemma3_text": Gemma3Config(text_config=SIZES, vision_config=VISION, mm_tokens_per_image=4),
    "llama": LlavaConfig(text_config=SIZES | {"model_type": "llama"}, vision_config=CLIP, image_seq_length=4),
    "mistral": Mistral3Config(text_config=SIZES | {"model_type": "mistral"}, vision_config=PIXTRAL),
    "ministral3": Mistral3Config(
        text_config=SIZES | {"model_type": "ministral3", "rope_parameters": GROWING}, vision_config=PIXTRAL
    ),
    "qwen2": LlavaOnevisionConfig(text_config=SIZES | {"model_type": "qwen2"}, vision_config=VISION),
    "gemma": PaliGemmaConfig(text_config=SIZES | {"model_type": "gemma"}, vision_config=VISION, projection_dim=20),
    "gemma2": PaliGemmaConfig(text_config=SIZES | {"model_type": "gemma2"}, vision_config=VISION, projection_dim=20),
}


def drawn(config: PreTrainedConfig) -> Any:
    torch.manual_seed(0)
    return AutoModelForImageTextToText.from_config(config, attn_implementation="eager").eval()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_the_text_part_computes_what_the_whole_computes_of_text(config: PreTrainedConfig, tmp_path: Path) -> None:
    theirs = drawn(config)
    theirs.save_pretrained(tmp_path)
    model, tokens = load(tmp_path), random_tokens()
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)
    assert model.source is not None
    assert model.source.note.startswith(f"the text's part of a {config.model_type}, which reads images as well")
    assert ("sees a prompt to both sides" in model.source.note) == (config.model_type == "paligemma")


@torch.no_grad()
def test_a_body_and_a_classifier_of_a_text_part_open_as_what_they_are(tmp_path: Path) -> None:
    tokens = random_tokens()
    sections = COHERE_SIZES | {"rope_parameters": SECTIONS}
    for config in (CONFIGS["qwen2"], Qwen2_5_VLConfig(text_config=sections, vision_config=QWEN_VISION)):
        torch.manual_seed(0)
        theirs = AutoModel.from_config(config, attn_implementation="eager").eval()
        theirs.save_pretrained(tmp_path / config.model_type)
        ours = load(tmp_path / config.model_type)
        assert ours.cfg.output == "none"
        torch.testing.assert_close(ours(tokens), theirs(tokens).last_hidden_state, rtol=RTOL, atol=ATOL)
    labelled = deepcopy(CONFIGS["gemma3_text"])
    labelled.id2label = {0: "good", 1: "bad", 2: "odd"}
    classifier = Gemma3ForSequenceClassification(labelled).eval()
    classifier.save_pretrained(tmp_path / "labels")
    ours = load(tmp_path / "labels")
    assert ours.cfg.output_labels == ("good", "bad", "odd")
    # Their label is read at the last token, for no token here is the padding's.
    torch.testing.assert_close(ours(tokens)[:, -1], classifier(tokens).logits, rtol=RTOL, atol=ATOL)


WINDOWED = SIZES | {"model_type": "mistral", "sliding_window": 3}


@torch.no_grad()
def test_of_a_part_layer_types_are_not_read(tmp_path: Path) -> None:
    """transformers takes them for Ministral's of a whole model alone: in a part every layer sees the window."""
    types = {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}
    theirs = drawn(Mistral3Config(text_config=WINDOWED | types, vision_config=PIXTRAL))
    theirs.save_pretrained(tmp_path)
    model, tokens = load(tmp_path), random_tokens()
    torch.testing.assert_close(model(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)
    assert model.source is not None
    assert model.source.unread == (f"layer_types = {json.dumps(types['layer_types'])}",)


@torch.no_grad()
@pytest.mark.parametrize(
    ("config", "whole", "text"),
    [
        (Mistral3Config(text_config=WINDOWED, vision_config=PIXTRAL), None, False),
        (Mistral3Config(text_config=WINDOWED, vision_config=PIXTRAL), True, False),
        (CONFIGS["gemma3_text"], None, False),
        (LlavaConfig(text_config=SIZES | {"tie_word_embeddings": True}, vision_config=CLIP), False, True),
        (LlavaConfig(text_config=SIZES, vision_config=CLIP, tie_word_embeddings=True), True, None),
    ],
)
def test_embeddings_are_tied_where_transformers_ties_them(
    config: PreTrainedConfig, whole: bool | None, text: bool | None, tmp_path: Path
) -> None:
    theirs = drawn(config)
    theirs.save_pretrained(tmp_path)
    config_json = json.loads((tmp_path / "config.json").read_text())
    for said, tied in ((config_json, whole), (config_json["text_config"], text)):
        said.pop("tie_word_embeddings", None)
        said |= {} if tied is None else {"tie_word_embeddings": tied}
    (tmp_path / "config.json").write_text(json.dumps(config_json))
    expected = type(theirs).from_pretrained(tmp_path, attn_implementation="eager")
    model, tokens = load(tmp_path), random_tokens()
    assert model.cfg.tie_word_embeddings
    torch.testing.assert_close(model(tokens), expected(tokens).logits, rtol=RTOL, atol=ATOL)


def test_a_part_of_more_layers_than_any_model_has_is_refused(tmp_path: Path) -> None:
    config_json = CONFIGS["gemma3_text"].to_dict()
    config_json["text_config"]["num_hidden_layers"] = 2**30
    (tmp_path / "config.json").write_text(json.dumps(config_json))
    with pytest.raises(CheckpointError, match="asks for 1073741824 layers"):
        load(tmp_path)


def test_sizes_that_are_the_defaults_need_not_be_told(tmp_path: Path) -> None:
    config = CONFIGS["gemma3_text"]
    sizes = SIZES | {"num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 16}
    text = Gemma3Config(text_config=sizes, vision_config=VISION, mm_tokens_per_image=config.mm_tokens_per_image)
    AutoModelForImageTextToText.from_config(text).save_pretrained(tmp_path)
    config_json = json.loads((tmp_path / "config.json").read_text())
    del config_json["text_config"]["num_attention_heads"]
    (tmp_path / "config.json").write_text(json.dumps(config_json))
    assert load(tmp_path).cfg.n_heads == 8


@torch.no_grad()
def test_the_first_qwen2_5_vls_say_text_and_vision_side_by_side(tmp_path: Path) -> None:
    """Their config.json has the text's settings outside, and their tensors are named as those of a text's model."""
    sizes = COHERE_SIZES | {"rope_parameters": SECTIONS}
    theirs = drawn(Qwen2_5_VLConfig(text_config=sizes, vision_config=QWEN_VISION, tie_word_embeddings=True))
    theirs.save_pretrained(tmp_path)
    config_json = json.loads((tmp_path / "config.json").read_text())
    config_json |= config_json.pop("text_config") | {"model_type": config_json["model_type"]}
    (tmp_path / "config.json").write_text(json.dumps(config_json))
    tensors = {name.replace("language_model.", ""): each for name, each in load_file(tmp_path / FILE).items()}
    assert {name for name in tensors if name.startswith("visual.")}
    save_file(tensors, tmp_path / FILE)
    model, tokens = load(tmp_path), random_tokens()
    torch.testing.assert_close(model(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)
    assert model.cfg.tie_word_embeddings
    assert model.source is not None
    assert model.source.unread == ()
