"""Vertical scores by hand and by the loop of their definition, kurtosis against scipy."""

import numpy as np
import pytest
import torch
from scipy import stats

from headlight.model.attention.vertical_scores import kurtosis, vertical_scores


def test_vertical_scores_by_hand() -> None:
    weights = torch.zeros(6, 6)
    weights[4, 0], weights[5, 0], weights[5, 1] = 0.2, 0.4, 0.1
    weights[3, 0] = weights[5, 2] = 0.9  # nearer than four sentences
    scores = vertical_scores(weights)
    torch.testing.assert_close(scores[:2], torch.tensor([0.3, 0.1]))
    assert scores[2:].isnan().all()


def test_vertical_scores_are_means_over_later_sentences() -> None:
    weights = torch.rand(2, 3, 9, 9, generator=torch.Generator().manual_seed(0))
    expected = [weights[..., later + 4 :, later].mean(-1) for later in range(5)]
    torch.testing.assert_close(vertical_scores(weights)[..., :5], torch.stack(expected, -1))


@pytest.mark.parametrize("missing", [(), (0, 3)])
def test_kurtosis_is_scipys_without_missing_scores(missing: tuple[int, ...]) -> None:
    scores = torch.randn(2, 3, 12, generator=torch.Generator().manual_seed(1)).exp()
    scores[..., list(missing)] = torch.nan
    expected = stats.kurtosis(scores.double().numpy(), axis=-1, fisher=True, bias=True, nan_policy="omit")
    np.testing.assert_allclose(kurtosis(scores).numpy(), expected, rtol=1e-5)  # float32


def test_equal_scores_have_no_kurtosis() -> None:
    assert kurtosis(torch.ones(5)).isnan()
