"""B - A of numbers, arrays, measures and mappings: of what both have, and nothing where there is no B."""

import numpy as np
import torch

from headlight.model.measure import Measure
from headlight.model.measure.difference import (
    DIFFERENCE,
    by_name,
    sides_of,
    subtract,
    subtract_parts,
    union,
    with_difference,
)


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


def test_names_of_both_keep_their_order() -> None:
    assert union(["t", "p", "L0"], ["t", "L0", "L1"]) == ("t", "p", "L0", "L1")
    assert union(["t", "L0", "bias"], ["first", "t", "p", "L0", "L1"]) == ("first", "t", "p", "L0", "L1", "bias")
    assert union(["y", "x"], ["x", "z", "y"]) == ("y", "x", "z")


def test_parts_that_a_side_lacks_count_as_zero() -> None:
    assert subtract_parts({"x": 1.0, "of A": 2.0}, {"of B": 3.0, "x": 4.0}) == {"of B": 3.0, "x": 3.0, "of A": -2.0}
    laid = by_name(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), ["x", "y"], ["y", "p", "x"], torch.nan)
    np.testing.assert_array_equal(laid, [[3, 4], [np.nan, np.nan], [1, 2]])


def test_there_is_a_difference_where_there_is_a_b() -> None:
    assert with_difference({"A": 1.0}) == {"A": 1.0}
    assert with_difference({"A": 1.0, "B": 4.0}) == {"A": 1.0, "B": 4.0, DIFFERENCE: 3.0}
    assert with_difference({"A": 1.0, "B": 4.0}, "change")["change"] == 3.0
    assert list(sides_of(False)) == ["A"]
    assert sides_of(True) == {"A": "a", "B": "b", "B - A": "difference"}
