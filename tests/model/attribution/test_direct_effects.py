"""Scores and logits in parts: sums that must agree with the model's own, and TransformerLens's attributions."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.model import ActivationCache, Transformer, load
from headlight.model.attribution.direct_effects import (
    constant_effects,
    difference_of,
    direct_effects,
    edge_writes,
    lens_differences,
    promoted,
)
from headlight.model.attribution.tables import promoted_rows
from headlight.model.base.errors import HeadlightError
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import ScoreParts, normalized, projected, score_parts
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.layers.attention import attention_scale
from headlight.model.text.outputs import LabelNames
from tests.model.lens.lens_twin import lens_twin
from tests.model.oracles import ATOL, RTOL, VARIANTS, random_model, random_tokens

# The parts are the run's float32 activations, of size 1 to 10 and rounded to 6e-8 of themselves; a score or a logit is
# a sum of some thousand of their products. What is done with them is float64 and adds nothing.
SUM = 1e-4
TARGET, DISTRACTOR = 3, 5


def _norm(model: Transformer, name: str) -> Norm | None:
    if model.cfg.normalization_type is None:
        return None
    own = {each: parameter.detach() for each, parameter in model.named_parameters()}
    return Norm(model.cfg.eps, own.get(f"{name}.w"), own.get(f"{name}.b"))


def _of_head(model: Transformer, layer: int, head: int, name: str) -> Tensor:
    return model.get_parameter(f"blocks.{layer}.attn.{name}")[head].detach()


def _cached(model: Transformer, tokens: Tensor | None = None) -> ActivationCache:
    with torch.inference_mode():
        return model.run_with_cache(random_tokens(1) if tokens is None else tokens, lambda name: True)[1]


def _parts(model: Transformer, cache: ActivationCache, position: int, layer: int) -> tuple[list[str], Tensor]:
    """All that was written to the stream at a position before a layer."""
    parts = {"embed": cache["embed"][0, position], "pos_embed": cache["pos_embed"][0, position]}
    for earlier in range(layer):
        results = cache["result", earlier][0, position]
        parts |= {f"L{earlier}H{head}": result for head, result in enumerate(results)}
        parts[f"L{earlier} b_O"] = model.get_parameter(f"blocks.{earlier}.attn.b_O").detach()
        if not model.cfg.attn_only:
            parts[f"L{earlier} MLP"] = cache["mlp_out", earlier][0, position]
    return list(parts), torch.stack(list(parts.values()))


def _score(
    model: Transformer, cache: ActivationCache, layer: int, head: int, query: int, key: int
) -> tuple[list[str], ScoreParts]:
    names, norm = _parts(model, cache, query, layer)[0], _norm(model, f"blocks.{layer}.ln1")

    def rows(position: int, name: str) -> Tensor:
        W, b = (_of_head(model, layer, head, f"{kind}_{name}") for kind in "Wb")
        stream = cache["resid_pre", layer][0, position]
        return projected(_parts(model, cache, position, layer)[1], stream, norm, W, b)

    score = float(cache["attn_scores", layer][0, head, query, key])
    parts = score_parts(rows(query, "Q"), rows(key, "K"), attention_scale(model.cfg, layer), score)
    return [*names, "LayerNorm's bias", "b"], parts


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_parts_of_every_score_add_up_to_it(variant: str) -> None:
    model = random_model(**VARIANTS[variant])
    cache = _cached(model)
    for layer in range(model.cfg.n_layers):
        for head in range(model.cfg.n_heads):
            for query, key in ((5, 2), (4, 4), (6, 0)):
                names, parts = _score(model, cache, layer, head, query, key)
                score = float(cache["attn_scores", layer][0, head, query, key])
                assert parts.matrix.values.shape == (len(names), len(names))
                assert float(parts.matrix.values.sum()) == pytest.approx(score, abs=SUM)
                assert float(parts.query_parts.values.sum()) == pytest.approx(score, abs=SUM)
                assert float(parts.key_parts.values.sum()) == pytest.approx(score, abs=SUM)
                assert abs(float(parts.residual.values)) < SUM


def test_a_part_of_the_score_is_that_of_two_streams_alone() -> None:
    """Without normalisation and biases, the entry of two parts is the score of streams that hold nothing else."""
    model = random_model(normalization_type=None)
    for bias in ("b_Q", "b_K"):
        model.get_parameter(f"blocks.1.attn.{bias}").data.zero_()
    cache = _cached(model)
    names, parts = _score(model, cache, 1, 2, 5, 3)
    W_Q, W_K = (_of_head(model, 1, 2, name) for name in ("W_Q", "W_K"))
    for row, query in (("embed", cache["embed"][0, 5]), ("L0H1", cache["result", 0][0, 5, 1])):
        for column, key in (("pos_embed", cache["pos_embed"][0, 3]), ("L0 MLP", cache["mlp_out", 0][0, 3])):
            alone = (query @ W_Q) @ (key @ W_K) / attention_scale(model.cfg, 1)
            entry = parts.matrix.values[names.index(row), names.index(column)]
            assert float(entry) == pytest.approx(float(alone), rel=1e-4, abs=1e-5)  # float32, of a dozen products


@pytest.mark.parametrize("variant", ["plain", "LNPre", "no normalisation", "large eps"])
def test_normalised_parts_add_up_to_what_layer_norm_gives(variant: str) -> None:
    model = random_model(**VARIANTS[variant])
    cache, norm = _cached(model), _norm(model, "blocks.1.ln1")
    stream, (_, parts) = cache["resid_pre", 1][0, 4], _parts(model, cache, 4, 1)
    total = normalized(parts, stream, norm).sum(0)
    if norm is not None and norm.b is not None:
        total = total + norm.b.double()
    expected = stream
    if norm is not None:
        expected = F.layer_norm(stream, stream.shape, norm.w, norm.b, norm.eps)
    torch.testing.assert_close(total.float(), expected, rtol=RTOL, atol=ATOL)


def _direction(model: Transformer) -> tuple[Tensor, float]:
    W_U, b_U = model.unembed.W_U.detach(), model.unembed.b_U.detach()
    return W_U[:, TARGET] - W_U[:, DISTRACTOR], float(b_U[TARGET] - b_U[DISTRACTOR])


@pytest.mark.parametrize("variant", VARIANTS)
def test_direct_effects_add_up_to_the_difference_of_the_logits(variant: str) -> None:
    model = random_model(**VARIANTS[variant])
    cache, n_layers = _cached(model), model.cfg.n_layers
    with torch.inference_mode():
        logits = model(random_tokens(1))[0]
    (direction, bias), norm = _direction(model), _norm(model, "ln_final")
    for position in range(7):
        _, parts = _parts(model, cache, position, n_layers)
        stream = cache["resid_post", -1][0, position]
        effects = direct_effects(parts, stream, norm, direction).values
        total = effects.sum() + constant_effects(norm, direction, bias).values.sum()
        expected = float(logits[position, TARGET] - logits[position, DISTRACTOR])
        assert float(total) == pytest.approx(expected, abs=SUM)
        assert float(difference_of(stream, norm, direction, bias).values) == pytest.approx(expected, abs=SUM)


def test_direct_effects_are_transformer_lens_logit_attributions() -> None:
    """Theirs leave the gain to folded weights, so that the model is one without a gain."""
    model = random_model(normalization_type="LNPre")
    twin, tokens, position = lens_twin(model), random_tokens(1), 6
    _, theirs = twin.run_with_cache(tokens)

    def attributed(stack: Any) -> Tensor:
        attribution = theirs.logit_attrs(stack, TARGET, DISTRACTOR, pos_slice=position, batch_slice=0)
        return attribution.flatten()

    expected = attributed(theirs.stack_head_results(layer=-1, pos_slice=position))
    components, labels = theirs.decompose_resid(layer=-1, pos_slice=position, return_labels=True)
    of_parts = attributed(components)
    cache = _cached(model)
    names, parts = _parts(model, cache, position, model.cfg.n_layers)
    stream = cache["resid_post", -1][0, position]
    effects = direct_effects(parts, stream, _norm(model, "ln_final"), _direction(model)[0]).values.float()
    heads = [slot for slot, name in enumerate(names) if "H" in name and "MLP" not in name]
    torch.testing.assert_close(effects[heads], expected[: len(heads)], rtol=RTOL, atol=ATOL)
    ours = {"embed": "embed", "pos_embed": "pos_embed", "0_mlp_out": "L0 MLP", "1_mlp_out": "L1 MLP"}
    for theirs_name, name in ours.items():
        mine, other = effects[names.index(name)], of_parts[labels.index(theirs_name)]
        torch.testing.assert_close(mine, other, rtol=RTOL, atol=ATOL)


def test_the_lens_ends_with_the_models_own_difference() -> None:
    model = random_model()
    cache = _cached(model)
    streams = [cache["resid_pre", 0][0, 4], *(cache["resid_post", layer][0, 4] for layer in range(2))]
    (direction, bias), norm = _direction(model), _norm(model, "ln_final")
    differences = lens_differences(streams, norm, direction, bias).values
    with torch.inference_mode():
        each = torch.stack([model.unembed(model.ln_final(s[None, None], NO_TAP))[0, 0] for s in streams])
    expected = (each[:, TARGET] - each[:, DISTRACTOR]).double()
    torch.testing.assert_close(differences, expected, rtol=RTOL, atol=ATOL)


def test_edges_add_up_to_what_the_head_writes() -> None:
    model = random_model()
    cache = _cached(model)
    for head in range(3):
        W_O = _of_head(model, 1, head, "W_O")
        writes = edge_writes(cache["pattern", 1][0, head, 5], cache["v", 1][0, :, head], W_O)
        torch.testing.assert_close(writes.values.sum(0), cache["result", 1][0, 5, head], rtol=RTOL, atol=ATOL)


def test_what_a_write_promotes_is_what_its_removal_takes_away() -> None:
    """At a scale that is held still: the final stream with and without the write, normalised by hand."""
    model = random_model()
    cache, norm = _cached(model), _norm(model, "ln_final")
    assert norm is not None
    assert norm.w is not None
    gain = norm.w.double()
    stream, write = cache["resid_post", -1][0, 6].double(), cache["result", 1][0, 6, 1].double()
    scale = (stream.var(unbiased=False) + norm.eps).sqrt()

    def logits(vector: Tensor) -> Tensor:
        return (vector - vector.mean()) / scale * gain @ model.unembed.W_U.double()

    change = logits(stream) - logits(stream - write)
    tokens = promoted(write.float(), stream.float(), norm, model.unembed.W_U.detach(), 4)
    best = change.topk(4)
    worst = change.topk(4, largest=False)
    assert tokens.raised.values.tolist() == best.indices.tolist()
    assert tokens.lowered.values.tolist() == worst.indices.tolist()
    torch.testing.assert_close(tokens.raised_by.values.double(), best.values, rtol=RTOL, atol=ATOL)
    torch.testing.assert_close(tokens.lowered_by.values.double(), worst.values, rtol=RTOL, atol=ATOL)


def test_only_what_is_raised_is_promoted_and_only_what_is_lowered_suppressed() -> None:
    """Of few tokens or labels there are not as many of either as were asked for."""
    write, W_U = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.0, 3.0, 2.0], [1.0, -1.0, 0.0, -1.0]])
    tokens = promoted(write, torch.ones(2), None, W_U, 10)  # 3, -2, 3 and 0 logits
    assert sorted(tokens.raised.values.tolist()) == [0, 2]
    assert tokens.raised_by.values.tolist() == [3.0, 3.0]
    assert tokens.lowered.values.tolist() == [1]
    assert tokens.lowered_by.values.tolist() == [-2.0]
    rows = [row[1::2] for row in promoted_rows(tokens, LabelNames(["a", "b", "c", "d"]))]
    assert [tuple(row) for row in rows] == [("a", "b"), ("c", None)]
    with pytest.raises(HeadlightError, match="k is 0; ask for at least 1"):
        promoted(write, torch.ones(2), None, W_U, 0)


def test_two_parts_by_hand() -> None:
    """A query of (1, 0) + (1, 1) and a key of (2, 0) + (0, 3), no normalisation, halved: 1 + 0 + 1 + 1.5 = 3.5."""
    eye, none = torch.eye(2), torch.zeros(2)
    query = projected(torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([2.0, 1.0]), None, eye, none)
    key = projected(torch.tensor([[2.0, 0.0], [0.0, 3.0]]), torch.tensor([2.0, 3.0]), None, eye, none)
    parts = score_parts(query, key, 2.0, 3.5)
    assert parts.matrix.values[:2, :2].tolist() == [[1, 0], [1, 1.5]]
    assert parts.query_parts.values.tolist() == [1, 2.5, 0, 0]
    assert parts.key_parts.values.tolist() == [2, 1.5, 0, 0]
    assert float(parts.residual.values) == 0


def test_layer_norm_by_hand() -> None:
    """A stream of (3, 1): mean 2, standard deviation 1. Its part (3, 0) becomes (1.5, -1.5), and times the gain."""
    normal = normalized(torch.tensor([[3.0, 0.0]]), torch.tensor([3.0, 1.0]), Norm(1e-12, torch.tensor([2.0, 1.0])))
    assert normal[0].tolist() == pytest.approx([3.0, -1.5])
    constants = constant_effects(Norm(0.0, None, torch.tensor([1.0, 2.0])), torch.tensor([3.0, 4.0]), 0.5)
    assert constants.values.tolist() == [11.0, 0.5]


@pytest.fixture(scope="module")
def induction() -> list[tuple[list[str], ScoreParts, Tensor]]:
    """How mini's best induction head finds the token after the first copy, at every token of a random repeat."""
    model, half = load("mini"), 25
    generator = torch.Generator().manual_seed(0)
    row = torch.randperm(model.cfg.d_vocab - 1, generator=generator)[:half] + 1
    bos = model.tokenizer.bos_token_id if model.tokenizer else None
    assert bos is not None
    cache = _cached(model, torch.cat([torch.tensor([bos]), row, row])[None])
    queries = torch.arange(half + 1, 2 * half + 1)
    head = int(cache["pattern", 1][0][:, queries, queries - half + 1].mean(-1).argmax())
    earlier = torch.arange(1, 2 * half + 1)
    previous = cache["pattern", 0][0][:, earlier, earlier - 1].mean(-1)
    return [(*_score(model, cache, 1, head, query, query - half + 1), previous) for query in queries.tolist()]


def test_minis_induction_heads_key_is_found_by_previous_token_heads(
    induction: list[tuple[list[str], ScoreParts, Tensor]],
) -> None:
    """K-composition: of the key's parts those of the heads that look at the previous token lead all other heads'."""
    names, _, previous = induction[0]
    by_part = torch.stack([score.key_parts.values for _, score, _ in induction]).mean(0)
    heads = {name: float(by_part[slot]) for slot, name in enumerate(names) if name.startswith("L0H")}
    looking_back = {f"L0H{head}" for head in (previous > 0.9).nonzero().flatten().tolist()}
    assert looking_back
    led = sorted(heads, key=lambda name: -heads[name])[: len(looking_back)]
    assert set(led) == looking_back
    assert all(heads[name] > 1 for name in looking_back)  # nats: each alone makes the weight e times as large
    assert all(value < 0.5 for name, value in heads.items() if name not in looking_back)


def test_minis_induction_heads_query_is_its_token(
    induction: list[tuple[list[str], ScoreParts, Tensor]],
) -> None:
    """Of all that is not the MLP, which has read the same token, the embedding gives most."""
    names, _, _ = induction[0]
    by_part = torch.stack([score.query_parts.values for _, score, _ in induction]).mean(0)
    parts = {name: float(by_part[slot]) for slot, name in enumerate(names) if name != "L0 MLP"}
    assert max(parts, key=lambda name: parts[name]) == "embed"
    assert math.isclose(sum(parts.values()) + float(by_part[names.index("L0 MLP")]), float(by_part.sum()))
