"""Of two names for one tensor a file may hold either: what transformers, accelerate and safetensors write differs."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import CheckpointError
from tests.model.checkpoints import architectures, seq2seq_twins
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.test_folders import edit_config
from tests.model.checkpoints.twins import TOLERANCE, difference, noisy, tokens_of

TIED = {
    name.partition(":")[0]: case
    for name, case in architectures.every()
    if getattr(case.config.get_text_config(), "tie_word_embeddings", case.config.tie_word_embeddings)
}
SOURCE, TARGET = torch.tensor([[3, 7, 11, 2]]), torch.tensor([[0, 5, 9]])


def under_the_heads_name(model: Any, folder: Path) -> dict[str, Tensor]:
    """Save a model, with the matrix of its embedding under its head's name alone."""
    model.save_pretrained(folder)
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings()
    tensors = load_file(folder / "model.safetensors")
    saved_as = [name for name, each in tensors.items() if each.shape == embedding.shape and each.equal(embedding)]
    (name,) = (name for name, module in model.named_modules() if module is head)
    state_dict = {f"{name}.weight": tensors[saved_as[0]]} | {
        each: tensors[each] for each in tensors if each not in saved_as
    }
    save_file(state_dict, folder / "model.safetensors", metadata={"format": "pt"})
    return state_dict


@torch.no_grad()
@pytest.mark.parametrize("case", TIED.values(), ids=TIED)
def test_the_heads_name_alone_is_enough(case: Case, tmp_path: Path) -> None:
    theirs = noisy(case)
    under_the_heads_name(theirs, tmp_path)
    tokens = tokens_of(case)
    assert difference(load(tmp_path)(tokens), theirs(tokens).logits) <= TOLERANCE


@torch.no_grad()
@pytest.mark.parametrize("name", ["t5: tied", "bart: tied"])
def test_of_an_encoder_decoder_too(name: str, tmp_path: Path) -> None:
    theirs = seq2seq_twins.noisy(seq2seq_twins.CONFIGS[name])
    under_the_heads_name(theirs, tmp_path)
    expected = theirs(input_ids=SOURCE, decoder_input_ids=TARGET).logits
    assert difference(load_seq2seq(tmp_path)(SOURCE, TARGET), expected) <= TOLERANCE


def test_a_head_that_is_not_tied_is_not_made_up(tmp_path: Path) -> None:
    seq2seq_twins.noisy(seq2seq_twins.CONFIGS["bart: tied"]).save_pretrained(tmp_path)
    edit_config(tmp_path, tie_word_embeddings=False)
    with pytest.raises(CheckpointError, match=r"lacks the tensors lm_head\.weight"):
        load_seq2seq(tmp_path)


@pytest.mark.parametrize("name", ["bart: tied", "m2m_100: tied"])
@torch.no_grad()
def test_a_model_that_ties_nothing_has_three_embeddings(name: str, tmp_path: Path) -> None:
    config = deepcopy(seq2seq_twins.CONFIGS[name])
    config.tie_word_embeddings = False
    theirs = seq2seq_twins.noisy(config)
    theirs.save_pretrained(tmp_path)
    ours = load_seq2seq(tmp_path)
    assert not torch.equal(ours.encoder.embed.W_E, ours.decoder.embed.W_E)
    expected = theirs(input_ids=SOURCE, decoder_input_ids=TARGET).logits
    assert difference(ours(SOURCE, TARGET), expected) <= TOLERANCE


def test_different_embeddings_of_source_and_target_are_refused(tmp_path: Path) -> None:
    seq2seq_twins.noisy(seq2seq_twins.CONFIGS["bart: tied"]).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    name = next(name for name in tensors if name.endswith("shared.weight"))
    tensors[name.replace("shared", "encoder.embed_tokens")] = tensors[name] + 1
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"two different matrices as encoder\.embed_tokens\.weight and shared"):
        load_seq2seq(tmp_path)
