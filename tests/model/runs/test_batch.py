"""Runs of several prompts in one pass, against each prompt's pass alone."""

import pytest
import torch
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.base.errors import NotFiniteError
from headlight.model.nn.config import RotaryScaling, TransformerConfig
from headlight.model.runs.batch import Prompt, can_pad, make_runs
from headlight.model.runs.run import make_run
from tests.tiny import KINDS, ROTARY, SIZES, tiny

CLOSE = 2e-5  # of the largest value: sums in another order, float32's 1e-7 over some tens of terms and three layers
CAUSAL = [kind for kind, config in KINDS.items() if config.get("attention_dir") != "bidirectional"]


def model_of(kind: str) -> Transformer:
    """A tiny model with the embedded tokenizer."""
    model = tiny(kind)
    model.tokenizer = load("mini").tokenizer
    return model


def prompts_of(*texts: str, model: Transformer) -> list[Prompt]:
    return [Prompt(text, True, model.to_tokens(text, True)[0]) for text in texts]


@pytest.fixture(autouse=True)
def no_derivatives():
    with torch.inference_mode():
        yield


def check_close(values: Tensor, expected: Tensor) -> None:
    """Fail where values differ by more than rounding."""
    most = CLOSE * float(expected.nan_to_num().abs().max())
    torch.testing.assert_close(values, expected, rtol=0, atol=most, equal_nan=True)


def compare(model: Transformer, *texts: str) -> None:
    """Compare everything that the runs keep with a pass of each prompt alone, and with the library's own cache."""
    prompts = prompts_of(*texts, model=model)
    for prompt, together in zip(prompts, make_runs(model, prompts), strict=True):
        alone = make_run(model, prompt.text, True, prompt.tokens)
        logits, cache = model.run_with_cache(prompt.tokens[None])
        check_close(together.next_logits, logits[0, together.prediction_position])
        assert list(together.cache) == list(alone.cache)
        for name, kept in together.cache.items():
            check_close(kept, cache[name][0])
        check_close(together.thumbnails, alone.thumbnails)
        assert torch.equal(together.hidden, alone.hidden)
        for name, score in alone.scores.items():
            check_close(together.scores[name].values, score.values)
        assert (together.prompt, together.labels) == (alone.prompt, alone.labels)


@pytest.mark.parametrize("kind", CAUSAL)
def test_prompts_of_several_lengths_get_what_they_get_alone(kind: str) -> None:
    model = model_of(kind)
    assert can_pad(model.cfg)
    compare(model, "one two three one two", "red", "one two three four five six seven eight nine ten", "two one two")


@pytest.mark.parametrize("kind", ["bert-like", "modernbert-like"])
def test_where_padding_would_be_seen_prompts_of_one_length_share_a_pass(kind: str) -> None:
    model = model_of(kind)
    assert not can_pad(model.cfg)
    compare(model, " one two three", " two three one", " three one two")


def test_a_model_that_turns_by_the_length_of_the_text_allows_no_padding() -> None:
    """Padding would change its keys, as the last line shows."""
    scaling = RotaryScaling(kind="dynamic", factor=2.0, original_n_ctx=4)
    model = Transformer(TransformerConfig(**(SIZES | ROTARY | {"rotary_scaling": scaling}))).eval()
    model.tokenizer = model_of("gpt2-like").tokenizer
    assert not can_pad(model.cfg)
    compare(model, " one two three", " two three one")
    short, _ = prompts = prompts_of("one two three", "one two three four five six", model=model)
    keys = make_runs(model, prompts)[0].keys(0), make_run(model, short.text, True, short.tokens).keys(0)
    assert not torch.allclose(*keys, rtol=1e-2)


def test_a_run_whose_numbers_become_infinite_is_refused_by_name() -> None:
    model = model_of("gpt2-like")
    prompts = prompts_of("one two", "red green", model=model)
    model.embed.W_E[prompts[1].tokens[-1]] = torch.inf
    with pytest.raises(NotFiniteError, match="embed"):
        make_runs(model, prompts)
