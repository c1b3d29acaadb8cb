"""What the tests of the library share."""

from collections.abc import Iterator

import pytest

from headlight.model import Run, Transformer, load, run_prompt
from tests.annotations import unchecked_annotations
from tests.small_model import save_small


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked, so wrong values arrive where they are refused."""
    with unchecked_annotations():
        yield


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    path = tmp_path_factory.mktemp("models") / "random"
    save_small(path)
    return load(str(path))


@pytest.fixture(scope="session")
def run(small: Transformer) -> Run:
    return run_prompt(small, "one two three one two three one")
