"""Folders of models that read images as well: their text's part is opened, and it is said that it is a part."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageTextToText, Gemma3Config, LlavaConfig, Mistral3Config, PreTrainedConfig

from headlight.model import load
from tests.model.families.architectures.gemma3 import VISION
from tests.model.families.architectures.llama import SIZES
from tests.model.oracles import ATOL, RTOL, random_tokens

CLIP = VISION | {"model_type": "clip_vision_model", "projection_dim": 8}
PIXTRAL = VISION | {"model_type": "pixtral", "head_dim": 4}
CONFIGS = {
    "gemma3_text": Gemma3Config(text_config=SIZES, vision_config=VISION, mm_tokens_per_image=4),
    "llama": LlavaConfig(text_config=SIZES | {"model_type": "llama"}, vision_config=CLIP, image_seq_length=4),
    "mistral": Mistral3Config(text_config=SIZES | {"model_type": "mistral"}, vision_config=PIXTRAL),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
def test_the_text_part_computes_what_the_whole_computes_of_text(config: PreTrainedConfig, tmp_path: Path) -> None:
    torch.manual_seed(0)
    theirs = AutoModelForImageTextToText.from_config(config, attn_implementation="eager").eval()
    theirs.save_pretrained(tmp_path)
    model, tokens = load(tmp_path), random_tokens()
    with torch.no_grad():
        torch.testing.assert_close(model(tokens), theirs(tokens).logits, rtol=RTOL, atol=ATOL)
    assert model.source is not None
    assert model.source.note == f"the text's part of a {config.model_type}, which reads images as well"


def test_sizes_that_are_the_defaults_need_not_be_told(tmp_path: Path) -> None:
    config = CONFIGS["gemma3_text"]
    sizes = SIZES | {"num_attention_heads": 8, "num_key_value_heads": 4, "hidden_size": 16}
    text = Gemma3Config(text_config=sizes, vision_config=VISION, mm_tokens_per_image=config.mm_tokens_per_image)
    AutoModelForImageTextToText.from_config(text).save_pretrained(tmp_path)
    told = json.loads((tmp_path / "config.json").read_text())
    del told["text_config"]["num_attention_heads"]
    (tmp_path / "config.json").write_text(json.dumps(told))
    assert load(tmp_path).cfg.n_heads == 8
