"""What the other tests lean on: while tests run, a value that the library's annotations do not allow is an error."""

from collections.abc import Callable
from typing import Any

import jaxtyping
import pytest
import torch
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis
from headlight.model.corpus.cells import by_distance
from headlight.model.measure.attention import js_divergence
from headlight.model.runs.edits.kinds import head_name
from tests.annotations import unchecked_annotations


@jaxtyping.jaxtyped(typechecker=beartype)  # as the library's functions are decorated while tests run
def turned(x: Float[Tensor, "row column"]) -> Float[Tensor, "column row"]:
    """Gives back what it was given, which is turned only where it is square."""
    return x


WRONG: dict[str, Callable[[], Any]] = {
    "a tensor's shape": lambda: by_distance(torch.zeros(1, 2, 3, 4), causal=True),
    "shapes that belong together": lambda: js_divergence(torch.zeros(2, 3), torch.zeros(2, 4)),
    "a shape that comes back": lambda: turned(torch.zeros(2, 3)),
    "what stands beside a tensor": lambda: by_distance(torch.zeros(1, 2, 3, 3), causal="yes"),  # type: ignore[arg-type]
    "what stands beside none": lambda: head_name("L0H1"),  # type: ignore[arg-type]
    "a field of a dataclass": lambda: Axis(["a"], (), (), ()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_an_annotation_does_not_allow_is_an_error(wrong: Callable[[], Any]) -> None:
    with pytest.raises(BeartypeCallHintViolation):
        wrong()


def test_what_an_annotation_allows_is_none() -> None:
    assert turned(torch.zeros(3, 3)).shape == (3, 3)


def test_unchecked_the_library_does_what_it_does_for_users() -> None:
    with unchecked_annotations():
        assert head_name("01") == "L0H1"  # type: ignore[arg-type]
        assert Axis(["a"], (), (), ()).labels == ["a"]  # type: ignore[arg-type]
