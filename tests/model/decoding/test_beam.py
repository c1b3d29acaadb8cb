"""Beam search against every sequence there is, against transformers', and its tree against its results."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from headlight.model.base.errors import ConfigError, InputError
from headlight.model.decoding import BeamSearch, beam_search, greedy
from headlight.model.decoding.steps import Model
from tests.model.decoding.oracles import gpt2_twins, next_log_probs, padded, random_seq2seq
from tests.model.oracles import ATOL, RTOL, random_model, random_tokens

SMALL = 4  # the vocabulary of which every sequence is tried


def small_model(kind: str, seed: int) -> Model:
    if kind == "decoder":
        return random_model(seed, d_vocab=SMALL)
    return random_seq2seq(seed, d_vocab=SMALL, d_vocab_out=SMALL, start_token=0, end_token=2)


@cache
def small_case(kind: str, seed: int, n_new: int) -> tuple[Model, Tensor, dict[tuple[int, ...], list[float]]]:
    """A model, a prompt, and the log-probabilities of what comes next after everything that can be written after it."""
    model, prompt = small_model(kind, seed), random_tokens(1, 3, seed=seed, d_vocab=SMALL)
    log_probs = {
        before: next_log_probs(model, prompt, list(before)).tolist()
        for length in range(n_new)
        for before in product(range(SMALL), repeat=length)
    }
    return model, prompt, log_probs


def exhaustive(
    log_probs: dict[tuple[int, ...], list[float]], n_new: int, stop: int, power: float
) -> list[tuple[float, list[int]]]:
    """Every sequence that ends with the stop token or is as long as allowed, with its score, best first."""
    hypotheses = []
    for length in range(1, n_new + 1):
        for tokens in product(range(SMALL), repeat=length):
            if stop in tokens[:-1] or (tokens[-1] != stop and length < n_new):
                continue
            total = sum(log_probs[tokens[:n]][token] for n, token in enumerate(tokens))
            hypotheses.append((total / length**power, list(tokens)))
    return sorted(hypotheses, reverse=True)


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("power", [0.0, 0.7, 1.0, 2.0])
def test_a_beam_that_is_wide_enough_finds_the_best_of_all_sequences(kind: str, power: float) -> None:
    n_new, stop, n_best = 4, 2, 10
    for seed in range(2):
        model, prompt, log_probs = small_case(kind, seed, n_new)
        expected = exhaustive(log_probs, n_new, stop, power)
        (result,) = beam_search(
            model,
            prompt,
            n_beams=SMALL**n_new,
            n_best=n_best,
            length_power=power,
            max_new_tokens=n_new,
            stop_tokens=[stop],
        )
        assert [each.tokens.tolist() for each in result.best] == [tokens for _, tokens in expected[:n_best]]
        for each, (score, tokens) in zip(result.best, expected, strict=False):
            assert each.score == pytest.approx(score, rel=RTOL, abs=ATOL)
            assert each.reason == ("stop token" if tokens[-1] == stop else "length")


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("n_beams", [1, 2, 5])
@pytest.mark.parametrize("stops", [[], [3], [3, 11]], ids=str)
def test_hypotheses_are_those_of_transformers(tmp_path: Path, power: float, n_beams: int, stops: list[int]) -> None:
    ours, theirs = gpt2_twins(tmp_path)
    for seed in range(3):
        prompt, n_new = random_tokens(1, 5, seed=seed), 12
        settings: dict[str, Any] = {"eos_token_id": stops} if stops else {}
        expected = theirs.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            num_beams=n_beams,
            num_return_sequences=n_beams,
            length_penalty=power,
            early_stopping="never" if n_beams > 1 else False,  # until nothing better can come
            max_new_tokens=n_new,
            return_dict_in_generate=True,
            output_scores=True,
            **settings,
        )
        (result,) = beam_search(
            ours, prompt, n_beams=n_beams, n_best=n_beams, length_power=power, max_new_tokens=n_new, stop_tokens=stops
        )
        if n_beams == 1:
            if power == 0:  # theirs is greedy then, which does not go on for a longer one of a better mean
                assert result.best[0].tokens.tolist() == expected.sequences[0, 5:].tolist()
            continue
        for each, tokens, score in zip(result.best, expected.sequences[:, 5:], expected.sequences_scores, strict=True):
            assert each.tokens.tolist() == tokens[: len(each.tokens)].tolist()
            assert each.score == pytest.approx(float(score), rel=RTOL, abs=ATOL)


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_one_beam_that_compares_sums_is_greedy(kind: str) -> None:
    for seed in range(5):
        model = random_model(seed) if kind == "decoder" else random_seq2seq(seed)
        prompt = random_tokens(2, 4, seed=seed, d_vocab=7)
        searches = beam_search(model, prompt, n_beams=1, length_power=0, stop_tokens=[3])
        for search, written in zip(searches, greedy(model, prompt, stop_tokens=[3]), strict=True):
            (best,) = search.best
            assert torch.equal(best.tokens, written.tokens)
            assert best.reason == written.reason
            torch.testing.assert_close(best.log_probs, written.log_probs, rtol=RTOL, atol=ATOL)


def tree_of(search: BeamSearch, leaf: int | None) -> list[int]:
    """The tokens on the way from the prompt to a leaf."""
    if leaf is None:
        return []
    return [*tree_of(search, search.tree[leaf].parent), search.tree[leaf].token]


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_the_tree_holds_what_was_looked_at_with_its_scores(kind: str) -> None:
    model = random_model() if kind == "decoder" else random_seq2seq()
    prompt, stop = random_tokens(1, 4, d_vocab=7), 6
    (search,) = beam_search(model, prompt, n_beams=3, n_best=3, length_power=0.5, max_new_tokens=5, stop_tokens=[stop])
    for node, each in enumerate(search.tree):
        tokens = tree_of(search, node)
        row = next_log_probs(model, prompt, tokens[:-1])
        assert len(tokens) == each.n_tokens
        assert each.log_prob == pytest.approx(float(row[each.token]), rel=RTOL, abs=ATOL)
        parent = None if each.parent is None else search.tree[each.parent]
        assert parent is None or parent.fate == "kept"
        assert each.total == pytest.approx((parent.total if parent else 0.0) + each.log_prob)
        assert each.score == pytest.approx(each.total / each.n_tokens**0.5)
        assert each.fate != "finished" or each.token == stop
    steps = [[each for each in search.tree if each.n_tokens == n] for n in range(1, search.tree[-1].n_tokens + 1)]
    for looked_at in steps:
        totals = [each.total for each in looked_at]
        assert totals == sorted(totals, reverse=True)
        assert sum(each.fate == "kept" for each in looked_at) == 3
    assert {each.fate for each in search.tree} >= {"kept", "dropped"}
    for best in search.best:
        assert best.tokens.tolist() == tree_of(search, best.leaf)
        assert best.score == pytest.approx(float(best.log_probs.sum()) / len(best.tokens) ** 0.5, rel=RTOL)
    assert [best.score for best in search.best] == sorted((best.score for best in search.best), reverse=True)


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_of_a_padded_batch_are_searched_as_they_are_alone(kind: str, side: str) -> None:
    model = random_model(n_ctx=20) if kind == "decoder" else random_seq2seq()
    rows = [random_tokens(1, length, seed=length, d_vocab=7) for length in (5, 2, 7, 1)]
    settings: dict[str, Any] = {"n_beams": 3, "n_best": 2, "max_new_tokens": 5, "stop_tokens": [6]}
    for row, together in zip(rows, beam_search(model, *padded(rows, side), **settings), strict=True):
        (alone,) = beam_search(model, row, **settings)
        assert together.tree == alone.tree
        assert [best.leaf for best in together.best] == [best.leaf for best in alone.best]


def test_a_full_context_ends_the_search_with_its_reason() -> None:
    model = random_model(n_ctx=10)
    (search,) = beam_search(model, random_tokens(1, 7), n_beams=2, max_new_tokens=50)
    assert (len(search.best[0].tokens), search.best[0].reason) == (3, "context")
    (search,) = beam_search(model, random_tokens(1, 10), n_beams=2)
    assert (search.best[0].tokens.tolist(), search.best[0].reason, search.tree) == ([], "context", ())


@pytest.mark.usefixtures("unchecked")
def test_what_beam_search_refuses_and_what_it_says_is_allowed() -> None:
    model, prompt = random_model(), random_tokens(1, 3)
    for settings, message in (
        ({"n_beams": 0}, "n_beams is 0; it has to be a whole number of at least 1"),
        ({"n_beams": 2, "n_best": 3}, "n_best is 3; 2 beams find from 1 to 2"),
        ({"n_best": 0}, "n_best is 0; it has to be a whole number of at least 1"),
        ({"length_power": -1.0}, r"length_power is -1\.0; it has to be a finite number of at least 0"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0; it has to be a whole number of at least 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            beam_search(model, prompt, **settings)
    with pytest.raises(InputError, match="mask of the prompt"):
        beam_search(model, prompt, torch.ones(1, 2).long())
    with pytest.raises(InputError, match="prompt is str"):
        beam_search(model, "Once")
