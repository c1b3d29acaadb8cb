"""What the tests of the library share."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def unchecked() -> Iterator[None]:
    """The library as users run it: annotations are not checked, so wrong values arrive where they are refused."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
