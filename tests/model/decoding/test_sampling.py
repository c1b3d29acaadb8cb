"""Distributions by hand and against transformers' processors; draws against the probabilities they come from."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from headlight.model.base.errors import ConfigError, InputError
from headlight.model.decoding import Sampling, distributions, greedy, sample, sample_anew
from tests.model.decoding.oracles import next_log_probs, random_seq2seq
from tests.model.oracles import random_model, random_tokens

BY_HAND = torch.tensor([0.05, 0.5, 0.15, 0.3])
ROUNDING = {"rtol": 1e-6, "atol": 1e-7}  # of one division or exponential in float32


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({}, [0.05, 0.5, 0.15, 0.3]),
        ({"temperature": 0}, [0.0, 1.0, 0.0, 0.0]),
        ({"temperature": 0.5}, [0.0025 / 0.365, 0.25 / 0.365, 0.0225 / 0.365, 0.09 / 0.365]),
        ({"top_k": 1}, [0.0, 1.0, 0.0, 0.0]),
        ({"top_k": 2}, [0, 0.625, 0, 0.375]),
        ({"top_k": 99}, [0.05, 0.5, 0.15, 0.3]),
        ({"top_p": 0.4}, [0.0, 1.0, 0.0, 0.0]),
        ({"top_p": 0.6}, [0, 0.625, 0, 0.375]),
        ({"top_p": 0.9}, [0, 0.5 / 0.95, 0.15 / 0.95, 0.3 / 0.95]),
        ({"top_k": 3, "top_p": 0.55}, [0, 0.625, 0, 0.375]),  # of 0.95, 0.5 is only 0.53
        ({"temperature": 0.5, "top_p": 0.6}, [0.0, 1.0, 0.0, 0.0]),  # 0.25 / 0.365 is 0.68
    ],
    ids=str,
)
def test_distributions_by_hand(sampling: dict[str, Any], expected: list[float]) -> None:
    probs = distributions(BY_HAND.log(), Sampling(**sampling))
    torch.testing.assert_close(probs.before, BY_HAND, **ROUNDING)
    torch.testing.assert_close(probs.after, torch.tensor(expected), **ROUNDING)


def test_tokens_that_tie_with_the_last_of_top_k_stay() -> None:
    after = distributions(torch.tensor([1.0, 1.0, 0.0, 2.0]), Sampling(top_k=2)).after
    assert (after > 0).tolist() == [True, True, False, True]


def theirs(logits: Tensor, sampling: Sampling) -> Tensor:
    """What transformers' generate draws with."""
    none = torch.zeros(len(logits), 0, dtype=torch.long)
    for wanted, processor in (
        (sampling.temperature != 1, TemperatureLogitsWarper),
        (sampling.top_k is not None, TopKLogitsWarper),
        (sampling.top_p < 1, TopPLogitsWarper),
    ):
        if wanted:
            value = {TemperatureLogitsWarper: sampling.temperature, TopKLogitsWarper: sampling.top_k}
            logits = processor(value.get(processor, sampling.top_p))(none, logits)
    return logits.softmax(-1)


@given(
    temperature=st.floats(0.1, 5),
    top_k=st.none() | st.integers(1, 30),
    top_p=st.floats(0.01, 1),
    seed=st.integers(0, 2**32),
)
def test_distributions_are_those_of_transformers(
    temperature: float, top_k: int | None, top_p: float, seed: int
) -> None:
    logits = 3 * torch.randn(
        4, 19, dtype=torch.float64, generator=seeded(seed)
    )  # doubles: no ties, no rounding at top_p
    sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p)
    torch.testing.assert_close(distributions(logits, sampling).after, theirs(logits, sampling))


@given(
    logits=st.lists(st.floats(-(2**100), 2**100, width=32), min_size=1, max_size=12),
    temperature=st.floats(0, 1000),
    top_k=st.none() | st.integers(1, 15),
    top_p=st.floats(0, 1, exclude_min=True),
)
def test_whatever_the_settings_it_is_a_distribution_and_what_is_dropped_is_no_likelier_than_what_stays(
    logits: list[float], temperature: float, top_k: int | None, top_p: float
) -> None:
    probs = distributions(torch.tensor(logits), Sampling(temperature=temperature, top_k=top_k, top_p=top_p))
    before, after = probs.before, probs.after
    # Twelve rounded probabilities.
    torch.testing.assert_close(after.sum(), torch.tensor(1.0), rtol=0, atol=1e-6)
    assert all(before[after > 0].min() >= each for each in before[after == 0])


def test_draws_are_as_frequent_as_the_distribution_says() -> None:
    model, prompt, n_draws = random_model(), random_tokens(1, 4), 20_000
    sampling = Sampling(temperature=3.0, top_k=8)
    written = sample(model, prompt.expand(n_draws, -1), sampling=sampling, generator=seeded(0), max_new_tokens=2)
    pairs = torch.stack([row.tokens for row in written])
    first = (next_log_probs(model, prompt, []) / 3).exp()
    first[first < first.topk(8).values[-1]] = 0
    first /= first.sum()
    frequencies = pairs[:, 0].bincount(minlength=19) / n_draws
    # Five standard errors of a frequency: one in a million draws of the seed would miss it.
    assert ((frequencies - first).abs() <= 5 * (first * (1 - first) / n_draws).sqrt()).all()
    likeliest = int(first.argmax())
    of_these = pairs[pairs[:, 0] == likeliest, 1]
    second = (next_log_probs(model, prompt, [likeliest]) / 3).exp()
    second[second < second.topk(8).values[-1]] = 0
    second /= second.sum()
    frequencies = of_these.bincount(minlength=19) / len(of_these)
    assert ((frequencies - second).abs() <= 5 * (second * (1 - second) / len(of_these)).sqrt()).all()


@pytest.mark.parametrize("kind", ["decoder", "encoder-decoder"])
def test_the_same_seed_draws_the_same_tokens(kind: str) -> None:
    model = random_model() if kind == "decoder" else random_seq2seq()
    prompt, hot = random_tokens(3, 4, d_vocab=7), Sampling(temperature=5.0)

    def drawn(seed: int) -> list[list[int]]:
        rows = sample(model, prompt, sampling=hot, generator=seeded(seed), max_new_tokens=6, stop_tokens=())
        return [row.tokens.tolist() for row in rows]

    torch.manual_seed(1)
    once = drawn(0)
    torch.manual_seed(2)  # the global generator has no part in it
    assert drawn(0) == once
    assert any(drawn(seed) != once for seed in range(1, 5))


def test_log_probs_are_the_models_own_whatever_the_temperature() -> None:
    model, prompt = random_model(), random_tokens(1, 4)
    (written,) = sample(model, prompt, sampling=Sampling(temperature=4.0), generator=seeded(3), max_new_tokens=5)
    tokens = written.tokens.tolist()
    expected = [next_log_probs(model, prompt, tokens[:n])[token] for n, token in enumerate(tokens)]
    torch.testing.assert_close(written.log_probs, torch.stack(expected), rtol=1e-5, atol=2e-5)  # as everywhere


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(top_k=1), Sampling(top_p=1e-9)], ids=str)
def test_what_leaves_one_token_is_greedy(sampling: Sampling) -> None:
    for model in (random_model(), random_seq2seq()):
        prompt = random_tokens(2, 4, d_vocab=7)
        drawn = sample(model, prompt, sampling=sampling, generator=seeded(0))
        for ours, likeliest in zip(drawn, greedy(model, prompt), strict=True):
            assert torch.equal(ours.tokens, likeliest.tokens)
            assert ours.reason == likeliest.reason


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": -0.1}, r"temperature is -0\.1; .* at least 0, and 0 is greedy"),
        ({"temperature": float("inf")}, r"temperature is inf; .* finite"),
        ({"temperature": float("nan")}, r"temperature is nan; .* finite"),
        ({"top_k": 0}, r"top_k is 0; .* at least 1"),
        ({"top_k": 1.5}, r"top_k is 1\.5; .* whole number of at least 1"),
        ({"top_p": 0.0}, r"top_p is 0\.0; .* above 0 and at most 1"),
        ({"top_p": 1.01}, r"top_p is 1\.01; .* above 0 and at most 1"),
        ({"top_p": True}, r"top_p is True; .* above 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**settings)


def test_running_all_anew_at_every_step_draws_the_same() -> None:
    model, prompt = random_model(), random_tokens(1, 5)
    how: dict[str, Any] = {"sampling": Sampling(temperature=0.9), "max_new_tokens": 3}
    (kept,) = sample(model, prompt, generator=seeded(4), **how)
    lengths: list[int] = []

    def logits_of(text: Tensor) -> Tensor:
        lengths.append(text.shape[1])
        return model(text)

    anew = sample_anew(logits_of, prompt, cfg=model.cfg, generator=seeded(4), **how)
    assert (anew.tokens.tolist(), anew.reason) == (kept.tokens.tolist(), "length")
    assert lengths == [5, 6, 7]
    # Keys and values that are kept against a pass over all: float32's rounding.
    torch.testing.assert_close(anew.log_probs, kept.log_probs, rtol=0, atol=1e-5)
    stop = (int(kept.tokens[0]),)
    ended = sample_anew(logits_of, prompt, cfg=model.cfg, generator=seeded(4), **how, stop_tokens=stop)
    assert (ended.reason, ended.tokens.tolist()) == ("stop token", [*stop])
    too_long = random_tokens(1, model.cfg.n_ctx + 1)
    with pytest.raises(InputError, match=str(model.cfg.n_ctx)):
        sample_anew(logits_of, too_long, cfg=model.cfg, generator=seeded(4), **how)
