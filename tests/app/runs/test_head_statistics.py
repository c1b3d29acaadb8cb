"""Every head's scores on a prompt without its run, against those of the whole run."""

import pytest
import torch

from headlight.app.runs import limits, runs
from headlight.app.server.settings import settings as server_settings
from headlight.model.base.errors import InputError
from headlight.model.lens.run_lens import logit_lens

PROMPT = "one two three one two three"


def test_scores_are_those_of_the_whole_run(settings: dict[str, object], folder: str) -> None:
    for bos in (True, False):
        light, whole = runs.head_statistics(folder, PROMPT, bos), runs.run(folder, PROMPT, bos)
        assert light.n_tokens == len(whole.tokens)
        assert light.scores.keys() == whole.scores.keys()
        for name, score in light.scores.items():
            assert torch.equal(score.values, whole.scores[name].values)


def test_nothing_but_the_scores_is_kept(settings: dict[str, object], folder: str) -> None:
    kept = runs.head_statistics(folder, PROMPT, True)
    scores = sum(score.values.nbytes for score in kept.scores.values())
    assert scores < runs._results().nbytes < 5000  # with the objects that hold them


def test_they_are_taken_once(settings: dict[str, object], folder: str) -> None:
    assert runs.head_statistics_or_none(folder, PROMPT, True) is None
    first = runs.head_statistics(folder, PROMPT, True)
    assert runs.head_statistics(folder, PROMPT, True) is first
    assert runs.head_statistics_or_none(folder, PROMPT, True) is first
    assert runs.head_statistics_or_none(folder, PROMPT, False) is None


def test_a_list_of_prompts_does_not_push_out_what_is_looked_at(settings: dict[str, object], folder: str) -> None:
    listed = [f"{PROMPT} {word}" for word in ("one", "two")]
    size = sum(limits.held_bytes(runs.run(folder, prompt, True)) for prompt in (*listed, PROMPT))
    settings["cache_gib"] = 1.2 * size / limits.GIB  # for the three runs and the lens, and not for one run more
    for cached in (server_settings.cache_clear, runs._results.cache_clear):
        cached()
    for prompt in listed:
        runs.run(folder, prompt, True)
    run = runs.run(folder, PROMPT, True)
    lens = logit_lens(run)
    for prompt in listed:
        assert runs.head_statistics_or_none(folder, prompt, True) is not None
    runs.run(folder, f"{PROMPT} three", True)
    assert runs.kept((*run.key, "lens")) is lens
    assert runs.head_statistics_or_none(folder, listed[0], True) is None


@pytest.mark.parametrize(("prompt", "said"), [("", "empty"), ("long " * 200, "context holds 100")])
def test_what_no_run_takes_is_refused_alike(settings: dict[str, object], folder: str, prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        runs.head_statistics(folder, prompt, True)
