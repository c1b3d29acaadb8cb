"""What is kept of weights by token and by pair, against a plain dictionary."""

import numpy as np

from headlight.model.corpus.counts import Heaviest


def test_sums_are_those_of_a_dictionary_and_the_heaviest_stay() -> None:
    rng, size, most = np.random.default_rng(0), 50, 10
    kept, all_of_them = Heaviest(size, most), Heaviest(size, size)
    plain: dict[tuple[int, int], float] = {}
    for _ in range(30):
        rows, things = rng.integers(0, 3, 40), rng.geometric(0.2, 40).clip(max=size - 1)
        weights = rng.random(40)
        for each in (kept, all_of_them):
            each.add(each.key(rows, things), weights)
        for row, thing, weight in zip(rows.tolist(), things.tolist(), weights.tolist(), strict=True):
            plain[row, thing] = plain.get((row, thing), 0.0) + weight
    for row in range(3):
        wanted = sorted(((w, t) for (r, t), w in plain.items() if r == row), key=lambda each: (-each[0], each[1]))
        exact = all_of_them.top(row, size)
        assert [thing for thing, _ in exact] == [thing for _, thing in wanted]
        np.testing.assert_allclose([w for _, w in exact], [w for w, _ in wanted])
        # Geometric: the first three have most of the weight, and were never among the lightest.
        assert [thing for thing, _ in kept.top(row, 3)] == [thing for _, thing in wanted[:3]]
    assert len(kept.keys) <= 2 * most * 3
