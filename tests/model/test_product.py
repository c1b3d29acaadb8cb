"""The ways to multiply few rows with a matrix, against the einsum in double precision, for every layout of weights."""

from pathlib import Path

import pytest
import torch
from einops import einsum
from torch import Tensor

from model import load, save_gpt2
from model import product as taken
from model.layers import Attention
from model.product import FEW, product, products
from tests.model.oracles import random_model

TO_HEADS = "batch pos d_model, head d_model d_head -> batch pos head d_head"
FROM_HEADS = "batch query head d_head, head d_head d_model -> batch query d_model"
PLAIN = "batch pos d_in, d_in d_out -> batch pos d_out"


def normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def slices(n_heads: int, d_model: int, d_head: int) -> list[Tensor]:
    """W_Q, W_K and W_V as GPT-2's files hold them: side by side in one matrix, head by head."""
    fused = normal(d_model, 3 * n_heads * d_head).chunk(3, dim=1)
    return [each.unflatten(1, (n_heads, d_head)).transpose(0, 1) for each in fused]


# An equation, the shape of x behind its rows, and W. 128 rows are two blocks, 130 one; 300 columns two and a rest.
LAYOUTS = {
    "rows": (PLAIN, (128,), normal(128, 20)),
    "rows, no whole blocks": (PLAIN, (130,), normal(130, 20)),
    "rows of a slice": (PLAIN, (128,), normal(128, 60)[:, 20:40]),
    "columns": (PLAIN, (48,), normal(300, 48).T),
    "columns, less than a block": (PLAIN, (48,), normal(100, 48).T),
    "heads side by side": (TO_HEADS, (64,), normal(64, 3, 8).transpose(0, 1)),
    "heads of a slice": (TO_HEADS, (64,), slices(3, 64, 8)[1]),
    "heads summed": (FROM_HEADS, (4, 32), normal(4, 32, 24)),
    "heads summed, by columns": (FROM_HEADS, (4, 32), normal(150, 128).T.unflatten(0, (4, 32))),
}


@pytest.fixture
def however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices of any size, on any machine, take the other way; the einsum must not be asked."""
    monkeypatch.setattr(taken, "LARGE", 0)
    monkeypatch.setattr(taken, "HAS_KERNEL", True)
    monkeypatch.delattr(taken, "einsum")


def assert_is_einsum(given: Tensor, x: Tensor, W: Tensor, equation: str) -> None:
    """Within the bound that holds for float32 sums in any order: n 2^-24 times the sum of the terms' magnitudes."""
    exact, magnitude = einsum(x.double(), W.double(), equation), einsum(x.abs().double(), W.abs().double(), equation)
    n_terms = x[0, 0].numel()
    assert given.shape == exact.shape
    assert bool(((given - exact).abs() <= n_terms * 2**-24 * magnitude).all())


@pytest.mark.usefixtures("however_small")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("batch", "pos"), [(1, 1), (3, 1), (2, 2)])
def test_few_rows_are_the_einsum(layout: str, batch: int, pos: int) -> None:
    equation, behind, W = LAYOUTS[layout]
    x = normal(batch, pos, *behind)
    with torch.inference_mode():
        assert_is_einsum(product(x, W, equation), x, W, equation)


@pytest.mark.usefixtures("however_small")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 0, 1)])
def test_matrices_are_joined_only_in_the_order_in_which_they_lie(order: tuple[int, ...]) -> None:
    x, matrices = normal(2, 2, 64), slices(3, 64, 8)
    chosen = [matrices[index] for index in order]
    with torch.inference_mode():
        for given, W in zip(products(x, chosen, TO_HEADS), chosen, strict=True):
            assert_is_einsum(given, x, W, TO_HEADS)


@pytest.mark.usefixtures("however_small")
def test_matrices_of_other_widths_or_in_other_memory_are_not_joined() -> None:
    x, (W_Q, W_K, _), other = normal(1, 1, 64), slices(3, 64, 8), normal(64, 3, 4).transpose(0, 1)
    for matrices in ((W_Q, other), (W_Q, W_K, slices(3, 64, 8)[2])):
        with torch.inference_mode():
            for given, W in zip(products(x, matrices, TO_HEADS), matrices, strict=True):
                assert_is_einsum(given, x, W, TO_HEADS)


def test_queries_keys_and_values_of_a_gpt2_folder_are_read_as_one(tmp_path: Path) -> None:
    save_gpt2(random_model(n_heads=3, d_head=4, tie_word_embeddings=True), tmp_path)
    attn = load(tmp_path).blocks[0].attn
    assert isinstance(attn, Attention)
    joined = taken._joined((attn.W_Q, attn.W_K, attn.W_V))
    assert joined is not None
    assert torch.equal(joined, torch.cat((attn.W_Q, attn.W_K, attn.W_V)))


def test_all_else_is_the_einsum_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    W = normal(1024, 256)
    behind_each_other = normal(4, 1024, 64)  # the heads' matrices, as TransformerLens holds them
    with monkeypatch.context() as patched, torch.inference_mode():
        patched.delattr(taken, "_weighted_rows")
        patched.delattr(taken, "_dot_products")
        for x, matrix, equation in [
            (normal(2, 0, 1024), W, PLAIN),  # no rows, as of a memory whose keys and values are kept already
            (normal(1, FEW + 1, 1024), W, PLAIN),
            (normal(1, 1, 512), W[:512], PLAIN),  # small
            (normal(1, 1, 1024).double(), W.double(), PLAIN),
            (normal(1, 1, 1024), behind_each_other, TO_HEADS),
            (normal(1, 1, 16), normal(16, 2**15), PLAIN),  # wide
            (normal(1, 1, 1024), normal(256, 1024).T, PLAIN),  # columns, fewer than rows
        ]:
            assert torch.equal(product(x, matrix, equation), einsum(x, matrix, equation))


def test_derivatives_are_those_of_the_einsum() -> None:
    weights = [W.requires_grad_() for W in slices(4, 1024, 64)]
    x = normal(1, 2, 1024).requires_grad_()
    ours = torch.autograd.grad([each.sin().sum() for each in products(x, weights, TO_HEADS)], [x, *weights])
    expected = torch.autograd.grad([einsum(x, W, TO_HEADS).sin().sum() for W in weights], [x, *weights])
    for mine, einsums in zip(ours, expected, strict=True):
        assert torch.equal(mine, einsums)


@pytest.mark.usefixtures("however_small")
@pytest.mark.parametrize("n_tokens", [1, FEW])
def test_a_model_gives_the_same_logits_either_way(n_tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    tokens = torch.arange(n_tokens)[None]
    with torch.inference_mode():
        fast = model(tokens)
    monkeypatch.undo()
    with torch.no_grad():
        # Logits of about 1 after two layers of float32 sums in another order.
        torch.testing.assert_close(fast, model(tokens), rtol=1e-5, atol=1e-5)
