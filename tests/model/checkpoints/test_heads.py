"""Models with another head than a language model's are called by their class, and never opened with a made-up head."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForTokenClassification,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForQuestionAnswering,
    LlamaForSequenceClassification,
    LlamaForTokenClassification,
    LlamaModel,
    PreTrainedModel,
    T5Config,
    T5EncoderModel,
)

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import HeadlightError
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.test_folders import edit_config
from tests.model.oracles import random_gpt2

T5 = {"vocab_size": 23, "d_model": 20, "d_kv": 4, "d_ff": 31, "num_layers": 1, "num_heads": 5}


def llama(kind: Any, **settings: Any) -> PreTrainedModel:
    return kind(LlamaConfig(**SIZES, pad_token_id=0, **settings))


@pytest.mark.parametrize(
    "model",
    [
        llama(LlamaForSequenceClassification, num_labels=1),
        llama(LlamaForSequenceClassification, tie_word_embeddings=True),
        llama(LlamaForTokenClassification),
        llama(LlamaForQuestionAnswering),
        llama(LlamaModel),
        GPT2ForSequenceClassification(random_gpt2().config),
        BertForTokenClassification(
            BertConfig(vocab_size=23, hidden_size=20, intermediate_size=31, num_hidden_layers=1, num_attention_heads=5)
        ),
        T5EncoderModel(T5Config(**T5, decoder_start_token_id=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_with_another_head_is_called_by_its_class(model: PreTrainedModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    opened = load_seq2seq if isinstance(model, T5EncoderModel) else load
    with pytest.raises(HeadlightError, match=rf"is a {type(model).__name__}, which") as refusal:
        opened(tmp_path)
    assert "unexpected" not in str(refusal.value)


def test_one_that_does_not_name_its_class_is_told_by_its_tensors(tmp_path: Path) -> None:
    llama(LlamaForSequenceClassification).save_pretrained(tmp_path)
    edit_config(tmp_path, architectures=None)
    with pytest.raises(HeadlightError, match="This is a reward model or sequence classifier, which has no language"):
        load(tmp_path)


@pytest.mark.parametrize("prefix", ["", "pretrained_model."])
def test_a_value_head_is_named_with_the_way_to_the_model_beside_it(prefix: str, tmp_path: Path) -> None:
    llama(LlamaForCausalLM).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = {f"{prefix}{name}": tensor for name, tensor in load_file(file).items()}
    save_file(tensors | {"v_head.summary.weight": torch.ones(1, SIZES["hidden_size"])}, file)
    with pytest.raises(HeadlightError, match=r"value head .* model\.pretrained_model\.save_pretrained\(folder\)"):
        load(tmp_path)


def test_a_language_model_that_lacks_a_tensor_is_told_which(tmp_path: Path) -> None:
    llama(LlamaForCausalLM).save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    del tensors["lm_head.weight"]
    save_file(tensors, file)
    with pytest.raises(HeadlightError, match=r"lacks the tensors lm_head\.weight"):
        load(tmp_path)
