"""The ways to multiply with a weight matrix, against the einsum in double precision, for every layout of weights."""

from pathlib import Path

import pytest
import torch
from einops import einsum
from torch import Tensor

from headlight.model import load, save_gpt2
from headlight.model.compute import matrix_products as taken
from headlight.model.compute.backend import force, measured
from headlight.model.compute.matrix_products import FEW, product, products
from headlight.model.nn.layers.attention import Attention
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.architectures.gpt_neox import CONFIGS
from tests.model.checkpoints.twins import noisy
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


def biases_of(matrices: list[Tensor]) -> list[Tensor]:
    """The biases beside `slices`, one behind the other like these."""
    return list(normal(3 * matrices[0].shape[0] * matrices[0].shape[2]).view(3, *matrices[0].shape[::2]).unbind())


def assert_is_einsum(output: Tensor, x: Tensor, W: Tensor, equation: str, b: Tensor | None = None) -> None:
    """Within the bound that holds for float32 sums in any order: n 2^-24 times the sum of the terms' magnitudes."""
    b = torch.zeros(()) if b is None else b
    exact = einsum(x.double(), W.double(), equation) + b
    magnitude = einsum(x.abs().double(), W.abs().double(), equation) + b.abs()
    n_terms = x[0, 0].numel() + 1  # the bias
    assert output.shape == exact.shape
    assert bool(((output - exact).abs() <= n_terms * 2**-24 * magnitude).all())


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
    biases = [biases_of(matrices)[index] for index in order]
    with torch.inference_mode():
        for output, W, b in zip(products(x, chosen, TO_HEADS, biases), chosen, biases, strict=True):
            assert_is_einsum(output, x, W, TO_HEADS, b)


def woven(n_heads: int, d_model: int, d_head: int) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases of queries, keys and values as GPT-NeoX's files hold them: those of a head side by side."""
    rows = normal(n_heads * 3 * d_head, d_model).unflatten(0, (n_heads, 3, d_head))
    return [each.transpose(1, 2) for each in rows.unbind(1)], list(normal(n_heads, 3, d_head).unbind(1))


@pytest.mark.usefixtures("however_small")
def test_matrices_of_a_head_side_by_side_are_joined() -> None:
    x, (matrices, biases) = normal(2, 2, 64), woven(3, 64, 8)
    with torch.inference_mode():
        for output, W, b in zip(products(x, matrices, TO_HEADS, biases), matrices, biases, strict=True):
            assert_is_einsum(output, x, W, TO_HEADS, b)


@pytest.mark.parametrize("order", [(2, 1, 0), (0, 0, 1), (0, 1), (1, 2)])
def test_matrices_of_a_head_are_not_joined_in_another_order_or_without_one(order: tuple[int, ...]) -> None:
    x, of_all = normal(2, 2, 64), woven(3, 64, 8)
    matrices, biases = ([parts[index] for index in order] for parts in of_all)
    assert taken._woven(matrices) is None
    with torch.inference_mode():
        for output, W, b in zip(products(x, matrices, TO_HEADS, biases), matrices, biases, strict=True):
            assert_is_einsum(output, x, W, TO_HEADS, b)


def test_a_group_s_matrices_beside_those_of_all_heads_are_not_joined() -> None:
    x, (matrices, biases) = normal(2, 2, 64), woven(3, 64, 8)
    grouped = [matrices[0], *(W[:1] for W in matrices[1:])], [biases[0], *(b[:1] for b in biases[1:])]
    with torch.inference_mode():
        for output, W, b in zip(products(x, grouped[0], TO_HEADS, grouped[1]), *grouped, strict=True):
            assert_is_einsum(output, x, W, TO_HEADS, b)


@pytest.mark.usefixtures("however_small")
def test_matrices_of_other_widths_or_in_other_memory_are_not_joined() -> None:
    x, (W_Q, W_K, _), other = normal(1, 1, 64), slices(3, 64, 8), normal(64, 3, 4).transpose(0, 1)
    for matrices in ((W_Q, other), (W_Q, W_K, slices(3, 64, 8)[2])):
        biases = [normal(*W.shape[::2]) for W in matrices]
        with torch.inference_mode():
            for output, W, b in zip(products(x, matrices, TO_HEADS, biases), matrices, biases, strict=True):
                assert_is_einsum(output, x, W, TO_HEADS, b)


def test_queries_keys_and_values_of_a_gpt2_folder_are_read_as_one(tmp_path: Path) -> None:
    save_gpt2(random_model(n_heads=3, d_head=4, tie_word_embeddings=True), tmp_path)
    attn = load(tmp_path).blocks[0].attn
    assert isinstance(attn, Attention)
    joined = taken._joined((attn.W_Q, attn.W_K, attn.W_V))
    assert joined is not None
    assert torch.equal(joined, torch.cat((attn.W_Q, attn.W_K, attn.W_V)))


def test_queries_keys_and_values_of_a_gpt_neox_folder_are_read_as_one(tmp_path: Path) -> None:
    noisy(Case(CONFIGS["parallel"])).save_pretrained(tmp_path)
    attn = load(tmp_path).blocks[0].attn
    assert isinstance(attn, Attention)
    for parts in ((attn.W_Q, attn.W_K, attn.W_V), (attn.b_Q, attn.b_K, attn.b_V)):
        joined = taken._woven(parts)
        assert joined is not None
        assert joined.data_ptr() == parts[0].data_ptr()
        assert torch.equal(joined, torch.cat(parts, -1))


def test_all_else_is_the_einsum_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    W = normal(1024, 256)
    behind_each_other = normal(4, 1024, 64)  # the heads' matrices, as TransformerLens holds them
    with monkeypatch.context() as patched, torch.inference_mode():
        patched.delattr(taken, "_weighted_rows")
        patched.delattr(taken, "_dot_products")
        for x, matrix, equation in [
            (normal(2, 0, 1024), W, PLAIN),  # no rows, as of a memory whose keys and values are kept already
            (normal(1, 1, 512), W[:512], PLAIN),  # small
            (normal(1, 1, 1024).double(), W.double(), PLAIN),
            (normal(1, 1, 1024), behind_each_other, TO_HEADS),
            (normal(1, FEW + 1, 512), W[:512], PLAIN),
        ]:
            assert torch.equal(product(x, matrix, equation), einsum(x, matrix, equation))


@pytest.mark.parametrize("name", [each.name for each in measured()])
def test_what_has_no_other_way_is_left_to_the_backend(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(taken, "_weighted_rows")
    monkeypatch.delattr(taken, "_dot_products")
    monkeypatch.delattr(taken, "einsum")
    fused = normal(1024, 3 * 256)
    force(name)
    try:
        with torch.inference_mode():
            for x, W in [
                (normal(1, FEW + 1, 1024), normal(1024, 256)),
                (normal(2, FEW, 1024), fused[:, 256:512]),  # columns of a wider matrix, as queries, keys and values are
                (normal(1, 1, 16), normal(16, 2**15)),  # wide
                (normal(1, 1, 1024), normal(256, 1024).T),  # columns, fewer than rows
                (normal(3, 7, 1024)[:, ::2], normal(256, 1024).T),
                (normal(2, 256, 128), normal(128, 128)),  # small, but many rows
            ]:
                b = normal(W.shape[1])
                assert_is_einsum(product(x, W, PLAIN), x, W, PLAIN)
                assert_is_einsum(product(x, W, PLAIN, b), x, W, PLAIN, b)
    finally:
        force(None)


def test_derivatives_are_those_of_the_einsum() -> None:
    weights = [W.requires_grad_() for W in slices(4, 1024, 64)]
    x = normal(1, 2, 1024).requires_grad_()
    biases = [b.requires_grad_() for b in biases_of(weights)]
    taken_together = [each.sin().sum() for each in products(x, weights, TO_HEADS, biases)]
    plain = [(einsum(x, W, TO_HEADS) + b).sin().sum() for W, b in zip(weights, biases, strict=True)]
    ours, expected = (torch.autograd.grad(each, [x, *weights, *biases]) for each in (taken_together, plain))
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
