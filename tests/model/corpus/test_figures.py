"""Figures of a corpus against loops over the patterns that transformers gives."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from headlight.model import Transformer, load
from headlight.model.checkpoints.reference import reference
from headlight.model.corpus.figures import RATIOS, Moments, estimate
from headlight.model.corpus.measures import AT, QUANTITIES, measure
from headlight.model.corpus.sequences import CutSequence, batch
from headlight.model.roles.detectors import students_t
from tests.places import MINI
from tests.tiny import tiny

ROWS = [[7, 8, 9, 7, 8, 9, 7, 7, 30, 5, 30, 8], [5, 9, 9, 2, 5, 9], [400, 12, 400]]
MARKS = {8, 30}
# Sums of at most 12 float32 weights, each within 1e-6 of the one that transformers computes.
NEAR = 1e-4


def _cut(rows: list[list[int]]) -> list[CutSequence]:
    return [CutSequence(number, "made up", 0, 0, tuple(row)) for number, row in enumerate(rows)]


def _headvis(pattern: np.ndarray, tokens: list[int]) -> dict[str, tuple[float, float]]:
    """Above and below of HeadVis's six figures of one head on one sequence, cell by cell."""
    n = len(tokens)
    entropy = -sum(w * math.log(w) for row in pattern for w in row if w > 0)
    cells = [(q, k, float(pattern[q, k])) for q in range(n) for k in range(n)]
    copies = [(q, k) for q in range(n) for k in range(q) if tokens[q] == tokens[k]]
    induction = sum(w for q, k in copies if (w := float(pattern[q, k + 1])) >= 0.01)
    return {
        "self_attention_score": (sum(pattern[q, q] for q in range(n)), n),
        "prev_token_score": (sum(pattern[q, q - 1] for q in range(1, n)), n - 1),
        "pattern_entropy": (entropy, n),
        "qk_distance": (sum(abs(q - k) * w for q, k, w in cells), n),
        "qk_distance_variance": (sum((q - k) ** 2 * w for q, k, w in cells), n),
        "induction_score": (induction, len({q for q, _ in copies})),
        "duplicate_token_score": (sum(pattern[cell] for cell in copies), len({q for q, _ in copies})),
        "first_token_score": (sum(pattern[q, 0] for q in range(1, n)), n - 1),
        "punctuation_score": (
            sum(w for q, k, w in cells if k < q and tokens[k] in MARKS),
            sum(any(tokens[k] in MARKS for k in range(q)) for q in range(n)),
        ),
    }


def _expected(patterns: list[np.ndarray], name: str, layer: int, head: int) -> float:
    pairs = [_headvis(each[layer, head], row)[name] for each, row in zip(patterns, ROWS, strict=True)]
    ratio = sum(above for above, _ in pairs) / sum(below for _, below in pairs)
    return ratio - _expected(patterns, "qk_distance", layer, head) ** 2 if name == "qk_distance_variance" else ratio


def _check(model: Transformer, patterns: list[np.ndarray]) -> None:
    sums = measure(model, batch(_cut(ROWS)), MARKS.__contains__)
    moments = Moments.from_documents(sums)
    for name in list(RATIOS)[:9]:
        values = estimate(moments, name).values
        wanted = np.array([_expected(patterns, name, *at) for at in np.ndindex(*values.shape)]).reshape(values.shape)
        np.testing.assert_allclose(values, wanted, atol=NEAR, err_msg=name)


def test_figures_are_those_of_transformers_patterns() -> None:
    """Padded rows in one batch here, each sequence alone there."""
    alone = [reference(MINI, torch.tensor([row])).patterns for row in ROWS]
    patterns = [torch.stack([layer[0] for layer in layers]).double().numpy() for layers in alone]
    _check(load("mini"), patterns)


@pytest.mark.parametrize("kind", ["llama-like", "gemma2-like", "bert-like", "gpt_oss-like"])
def test_figures_of_other_kinds_are_those_of_their_patterns(kind: str) -> None:
    model = tiny(kind).requires_grad_(False)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    caches = [model.run_with_cache(torch.tensor([row]), names)[1] for row in ROWS]
    _check(model, [torch.stack([cache[name][0] for name in names]).double().numpy() for cache in caches])


@pytest.mark.parametrize("kind", ["gpt2-like", "gemma2-like", "olmo2-like", "granite-like", "bert-like"])
def test_what_heads_write_is_measured_in_the_stream(kind: str) -> None:
    model = tiny(kind).requires_grad_(False)
    tokens = torch.tensor([ROWS[0]])
    _, cache = model.run_with_cache(tokens)
    _, with_results = model.run_with_cache(tokens, lambda name: name.endswith("hook_result"))
    sums = measure(model, batch(_cut(ROWS[:1])), MARKS.__contains__)[0]
    for layer in range(model.cfg.n_layers):
        results = with_results["result", layer][0]
        block = model.block(layer)
        if f"blocks.{layer}.ln1_post.hook_scale" in cache:
            results = results * block.ln1_post.w / cache[f"blocks.{layer}.ln1_post.hook_scale"][0][:, None]
        shares = (results * model.cfg.residual_scale).norm(dim=-1) / cache["resid_pre", layer][0].norm(dim=-1)[:, None]
        # Lengths are roots of sums of squares here, norms of the written vectors there, both in float32.
        np.testing.assert_allclose(sums[layer, :, AT["write_share"]], shares.sum(0).numpy(), rtol=1e-4)


def test_the_value_weighted_distance_counts_each_weight_by_what_it_writes() -> None:
    model = load("mini")
    sums = measure(model, batch(_cut(ROWS[:1])), MARKS.__contains__)[0]
    _, cache = model.run_with_cache(torch.tensor([ROWS[0]]))
    place = torch.arange(len(ROWS[0]))
    for layer in range(model.cfg.n_layers):
        lengths = torch.einsum("khd,hdm->hkm", cache["v", layer][0], model.block(layer).attn.W_O).norm(dim=-1)
        written = cache["pattern", layer][0] * lengths[:, None]
        distance = (written * (place[:, None] - place)).sum((1, 2))
        np.testing.assert_allclose(sums[layer, :, AT["written"]], written.sum((1, 2)).numpy(), rtol=1e-4)
        np.testing.assert_allclose(sums[layer, :, AT["written_distance"]], distance.numpy(), rtol=1e-4)


def _documents(n: int, head: Callable[[np.random.Generator], float]) -> np.ndarray:
    rng = np.random.default_rng(0)
    made = np.zeros((n, 1, 1, len(QUANTITIES)))
    for row in made[:, 0, 0]:
        row[AT["queries"]] = rng.integers(5, 50)
        row[AT["distance"]] = row[AT["queries"]] * head(rng)
        row[AT["squared_distance"]] = row[AT["queries"]] * (5 + head(rng))
    return made


def test_the_interval_is_that_of_the_jackknife() -> None:
    """The delta method and leaving out each document in turn agree where documents are many: to 5% of the width."""
    made = _documents(200, lambda rng: float(rng.gamma(2.0)))
    for name in ("qk_distance", "qk_distance_variance"):
        figure = estimate(Moments.from_documents(made), name)
        rests = (Moments.from_documents(np.delete(made, each, 0)) for each in range(200))
        left_out = [estimate(rest, name).values[0, 0] for rest in rests]
        width = students_t(199) * math.sqrt(199 / 200 * np.square(left_out - np.mean(left_out)).sum())
        assert figure.high[0, 0] - figure.values[0, 0] == pytest.approx(width, rel=0.05)


def test_one_document_has_no_interval_and_no_copies_no_score() -> None:
    figure = estimate(Moments.from_documents(_documents(1, lambda rng: 3.0)), "qk_distance")
    assert figure.values[0, 0] == pytest.approx(3.0)
    assert math.isnan(figure.low[0, 0])
    assert math.isnan(estimate(Moments.from_documents(_documents(3, lambda rng: 3.0)), "induction_score").values[0, 0])
