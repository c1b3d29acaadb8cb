"""The head's figures: by which it stands out, against scipy's quartiles."""

import numpy as np
from scipy import stats

from headlight.app.pages.corpus.dashboard import unusualness


def test_a_head_stands_out_by_its_distance_from_the_median_in_quartile_ranges() -> None:
    heads = np.random.default_rng(0).normal(size=(6, 5))
    heads[2, 3] = np.nan
    known = heads[np.isfinite(heads)]
    expected = abs(heads[1, 1] - np.median(known)) / stats.iqr(known)
    assert np.isclose(unusualness(heads[1, 1], heads), expected)


def test_where_most_heads_are_alike_the_deviation_measures_it_and_where_all_are_none_stands_out() -> None:
    heads = np.zeros((2, 6))
    assert unusualness(0.0, heads) == 0
    heads[0, 0] = 3.0
    assert np.isclose(unusualness(3.0, heads), 3 / heads.std())
