"""Copying scores against the whole matrix of a vocabulary that is small enough to have one."""

import numpy as np
import torch

from headlight.model import Transformer
from headlight.model.measure.ov import copying_scores, reading, through_vocabulary, writing
from headlight.model.runs.linear import norm_before, norm_of
from headlight.recipes.teaching_weights import induction_circuit
from tests.model.oracles import random_model


def explicit(model: Transformer, layer: int, head: int, centre: bool) -> float:
    """The score from all d_vocab x d_vocab effects of a token on a token, and numpy's eigenvalues."""
    attn, d_model = model.blocks[layer].get_submodule("attn"), model.cfg.d_model
    W_V, W_O = (attn.get_parameter(name)[head].detach().double().numpy() for name in ("W_V", "W_O"))
    before = after = np.eye(d_model)
    if centre:
        centring = np.eye(d_model) - 1 / d_model
        before = centring @ np.diag(model.get_parameter(f"blocks.{layer}.ln1.w").detach().double().numpy())
        after = centring @ np.diag(model.get_parameter("ln_final.w").detach().double().numpy())
    W_E, W_U = (tensor.detach().double().numpy() for tensor in (model.embed.W_E, model.unembed.W_U))
    values = np.linalg.eigvals(W_E @ before @ W_V @ W_O @ after @ W_U)
    return float(values.sum().real / np.abs(values).sum())


def test_the_score_is_that_of_the_matrix_from_tokens_to_tokens() -> None:
    model = random_model(d_head=4)
    loop = through_vocabulary(model.unembed.W_U, model.embed.W_E)
    for layer, block in enumerate(model.blocks):
        attn = block.get_submodule("attn")
        W_V, W_O = attn.get_parameter("W_V"), attn.get_parameter("W_O")
        plain = [explicit(model, layer, head, centre=False) for head in range(3)]
        # Float64; the explicit matrix has some fifteen eigenvalues that should be 0 and are about 1e-8 instead.
        torch.testing.assert_close(
            copying_scores(W_V, W_O, loop).values, torch.tensor(plain), atol=1e-5, rtol=0, check_dtype=False
        )
        read = reading(W_V, norm_before(model, layer))
        written = writing(W_O, norm_of(model.ln_final))
        folded = [explicit(model, layer, head, centre=True) for head in range(3)]
        torch.testing.assert_close(
            copying_scores(read, written, loop).values, torch.tensor(folded), atol=1e-5, rtol=0, check_dtype=False
        )


def test_a_vocabulary_larger_than_a_block_is_summed_whole() -> None:
    generator = torch.Generator().manual_seed(0)
    W_U, W_E = torch.randn(3, 20_000, generator=generator), torch.randn(20_000, 3, generator=generator)
    # Blocks of 8192 products of size 1 in float32, each sum near 100.
    torch.testing.assert_close(through_vocabulary(W_U, W_E), W_U.double() @ W_E.double(), atol=1e-3, rtol=0)


def test_the_head_that_copies_scores_one_its_negative_minus_one_and_one_that_writes_nothing_has_no_score() -> None:
    model = induction_circuit()
    loop = through_vocabulary(model.unembed.W_U, model.embed.W_E)
    attn = model.blocks[1].get_submodule("attn")
    W_V, W_O = attn.get_parameter("W_V"), attn.get_parameter("W_O")
    scores = copying_scores(W_V, W_O, loop).values
    assert scores[0] == 1
    assert scores[1:].isnan().all()
    assert copying_scores(W_V, -W_O, loop).values[0] == -1
