"""Every head's scores on a prompt without its run, against those of the whole run; and their map."""

import numpy as np
import pytest
import torch

from app import runs
from app.figures.prompts import head_map
from model.errors import InputError

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
    assert runs._results().nbytes == sum(score.values.nbytes for score in kept.scores.values()) < 1000


def test_they_are_taken_once(settings: dict[str, object], folder: str) -> None:
    assert runs.known_head_statistics(folder, PROMPT, True) is None
    first = runs.head_statistics(folder, PROMPT, True)
    assert runs.head_statistics(folder, PROMPT, True) is first
    assert runs.known_head_statistics(folder, PROMPT, True) is first
    assert runs.known_head_statistics(folder, PROMPT, False) is None


@pytest.mark.parametrize(("prompt", "said"), [("", "empty"), ("long " * 200, "context holds 100")])
def test_what_no_run_takes_is_refused_alike(settings: dict[str, object], folder: str, prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        runs.head_statistics(folder, prompt, True)


def test_the_map_shows_one_number_a_head_and_tells_the_others() -> None:
    mean, sd = np.array([[0.1, np.nan], [0.3, 0.4]]), np.array([[0.0, np.nan], [0.2, 0.1]])
    count = np.array([[2, 0], [2, 3]])
    cells = head_map(sd, mean, sd, count).data[0]
    np.testing.assert_array_equal(cells.z, sd.astype(np.float32))
    assert cells.zmin == 0
    assert cells.text[1][0] == "L1H0"
    assert cells.customdata[1, 1].tolist() == pytest.approx([0.4, 0.1, 3])
