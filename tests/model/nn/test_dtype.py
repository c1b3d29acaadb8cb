"""Matrices kept in half precision: nothing is copied, and everything is computed in float32."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headlight.model import load
from headlight.model.compute import matrix_products as taken
from headlight.model.compute import product
from headlight.model.decoding import greedy
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.test_folders import FIRST
from tests.model.checkpoints.twins import difference, noisy, tokens_of
from tests.model.oracles import assert_mapped, random_tokens

TOLERANCE = 2e-5  # of the largest: float32 sums of the same numbers in another order
BFLOAT16 = 2**-8  # its rounding; over three layers of sums of some tens it stays a few times that


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    path = tmp_path_factory.mktemp("half")
    model.bfloat16().save_pretrained(path)
    return path


def test_stored_matrices_are_the_files_own_and_give_float32s_logits(folder: Path) -> None:
    tokens = random_tokens(2, 14, d_vocab=SIZES["vocab_size"])
    stored, widened = load(folder, dtype="stored"), load(folder)
    matrices = {name: each for name, each in stored.named_parameters() if name.rpartition(".")[2].lstrip("_")[0] == "W"}
    assert {each.dtype for each in matrices.values()} == {torch.bfloat16}
    assert_mapped(matrices, folder)
    assert {each.dtype for each in stored.parameters()} == {torch.bfloat16, torch.float32}
    with torch.inference_mode():
        logits, expected = stored(tokens), widened(tokens)
    assert logits.dtype == torch.float32
    assert (logits - expected).abs().max() <= TOLERANCE * expected.abs().max()
    assert [row.tokens.tolist() for row in greedy(stored, tokens[:, :6], max_new_tokens=8)] == [
        row.tokens.tolist() for row in greedy(widened, tokens[:, :6], max_new_tokens=8)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("family", FIRST)
@torch.no_grad()
def test_every_architecture_computes_with_stored_matrices(family: str, tmp_path: Path) -> None:
    noisy(FIRST[family]).bfloat16().save_pretrained(tmp_path)
    stored, widened = load(tmp_path, dtype="stored"), load(tmp_path)
    tokens = tokens_of(FIRST[family])
    assert difference(stored(tokens), widened(tokens)) <= TOLERANCE


def test_every_activation_of_a_stored_model_is_float32(folder: Path) -> None:
    model, tokens = load(folder, dtype="stored"), random_tokens(1, 5, d_vocab=SIZES["vocab_size"])
    _, cache = model.run_with_cache(tokens, lambda name: True)
    assert {activation.dtype for activation in cache.values()} == {torch.float32}


def test_bfloat16_rounds_the_matrices_alone(folder: Path, tmp_path: Path) -> None:
    LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).save_pretrained(tmp_path)
    whole = load(tmp_path)
    for parameter in whole.parameters():
        parameter.mul_(1 + 0.001 * torch.rand(parameter.shape))
    whole_state: dict[str, Any] = whole.state_dict()
    rounded = load(tmp_path, dtype="bfloat16")
    tokens = random_tokens(2, 14, d_vocab=SIZES["vocab_size"])
    with torch.inference_mode():
        logits, expected = rounded(tokens), whole(tokens)
    difference = float((logits - expected).abs().max() / expected.abs().max())
    assert 0 < difference < 8 * BFLOAT16
    assert rounded.ln_final.get_parameter("w").dtype == whole_state["ln_final.w"].dtype == torch.float32


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize("n_rows", [1, 3, 9])
def test_a_product_with_half_precision_is_that_of_the_widened_matrix(
    inference: bool, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taken, "WIDENED", 64)  # a few columns at a time, the last ones fewer
    x, W, b = torch.randn(n_rows, 20), torch.randn(20, 31).bfloat16(), torch.randn(31)
    with torch.inference_mode(inference):
        actual = product(x, W, "row d_in, d_in d_out -> row d_out", b)
    torch.testing.assert_close(actual, x @ W.float() + b, rtol=1e-5, atol=1e-5)
