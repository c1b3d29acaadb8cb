"""How well a model does a set, against whole forward passes of one prompt at a time."""

import pytest
import torch

from headlight.model import HeadlightError, load
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.performance import performance
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.model.runs.host import Host
from tests.tiny import tiny


def test_a_set_of_many_lengths_is_as_each_prompt_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a batch, of three lengths; the expected numbers come from all logits of one prompt."""
    monkeypatch.setattr("headlight.model.prompt_sets.performance.MAX_TOKENS", 12)
    model, tokenizer = tiny("gemma2-like"), load("mini").tokenizer
    assert tokenizer is not None
    draw = torch.Generator().manual_seed(0)
    ids = [tuple(torch.randint(4096, (n,), generator=draw).tolist()) for n in (5, 4, 6, 5, 5, 4, 5)]
    pairs = [
        PromptPair(clean, clean[::-1] if at % 2 else None, (at, 70), (at + 9,) if at else ())
        for at, clean in enumerate(ids)
    ]
    progress: list[tuple[int, int]] = []

    class Telling(Host):
        def tell(self, done: int, total: int) -> None:
            progress.append((done, total))

    result = performance(model, to_tokens(PromptSet("random", tuple(pairs)), tokenizer), host=Telling())
    assert result.numbers == (1, 2, 3, 4, 5, 6, 7)
    for at, pair in enumerate(pairs):
        for prompt, value in ((pair.clean, result.clean[at]), (pair.corrupted, result.corrupted[at])):
            if prompt is None:
                assert value.isnan()
                continue
            logits = model(torch.tensor([prompt]))[0, -1].double().detach()
            other = logits[at + 9] if at else logits.mean()
            expected = (logits[at] + logits[70]) / 2 - other
            assert abs(float(value - expected)) < 1e-5  # float32, another batch
        logits = model(torch.tensor([pair.clean]))[0, -1].detach()
        rank = 1 + int((logits > max(logits[at], logits[70])).sum())
        assert int(result.rank[at]) == rank
        assert bool(result.is_correct[at]) == (float(result.clean[at]) > 0 if at else rank == 1)
    assert (progress[0], progress[-1]) == ((0, 7), (7, 7))
    assert result.accuracy == sum(result.is_correct.tolist()) / 7
    assert result.correct_numbers == tuple(at + 1 for at in range(7) if result.is_correct[at])


def test_a_set_without_a_usable_row_says_why() -> None:
    model, tokenizer = tiny("gpt2-like"), load("mini").tokenizer
    assert tokenizer is not None
    encoded = to_tokens(PromptSet("bad", (PromptPair("The", answers=("zq zq",)),)), tokenizer)
    with pytest.raises(HeadlightError, match=r"No row of the set bad can be used .* Row 1: "):
        performance(model, encoded)
