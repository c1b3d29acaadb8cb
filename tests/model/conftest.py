"""What the tests of the library share."""

from collections.abc import Iterator

import pytest

from tests.annotations import unchecked_annotations


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked, so wrong values arrive where they are refused."""
    with unchecked_annotations():
        yield
