"""What the tests of the library share."""

from collections.abc import Iterator
from contextlib import contextmanager

import jaxtyping
import pytest


@contextmanager
def unchecked_annotations() -> Iterator[None]:
    """The library as users run it, and as fast."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked, so wrong values arrive where they are refused."""
    with unchecked_annotations():
        yield
