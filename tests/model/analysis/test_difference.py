"""B - A of numbers, arrays, measures and mappings: of what both have, and nothing where there is no B."""

import numpy as np
import torch

from headlight.model.analysis import Measure
from headlight.model.analysis.difference import DIFFERENCE, sides_of, subtract, with_difference


def test_numbers_and_arrays_subtract_a_from_b_in_the_rows_that_both_have() -> None:
    assert subtract(2.0, 5.5) == 3.5
    a, b = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]), np.array([[10.0, 20.0, 30.0], [30.0, 40.0, 50.0]])
    assert subtract(a, b).tolist() == [[9, 18], [27, 36]]
    torch.testing.assert_close(
        subtract(torch.from_numpy(a), torch.from_numpy(b)), torch.tensor([[9.0, 18], [27, 36]]).double()
    )


def test_a_measures_change_keeps_its_unit_and_axes() -> None:
    a, b = (Measure("entropy", "nats", ("layer",), torch.tensor(values)) for values in ([1.0, 2.0], [1.5, 2.0, 7.0]))
    change = subtract(a, b)
    assert (change.name, change.unit, change.axes) == ("change of entropy", "nats", ("layer",))
    assert change.values.tolist() == [0.5, 0]


def test_mappings_are_subtracted_name_by_name() -> None:
    assert subtract({"x": 1.0, "of A": 2.0}, {"of B": 3.0, "x": 4.0}) == {"x": 3.0}
    nested = subtract({"heads": {"L0H0": 1.0}}, {"heads": {"L0H0": 0.25}})
    assert nested == {"heads": {"L0H0": -0.75}}


def test_there_is_a_difference_where_there_is_a_b() -> None:
    assert with_difference({"A": 1.0}) == {"A": 1.0}
    assert with_difference({"A": 1.0, "B": 4.0}) == {"A": 1.0, "B": 4.0, DIFFERENCE: 3.0}
    assert with_difference({"A": 1.0, "B": 4.0}, "change")["change"] == 3.0
    assert list(sides_of(False)) == ["A"]
    assert sides_of(True) == {"A": "a", "B": "b", "B - A": "difference"}
