"""A small random model, and a run of it whose prompt repeats itself."""

import pytest

from headlight.model import Run, Transformer, load, run_prompt
from tests.small_model import save_small


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    path = tmp_path_factory.mktemp("models") / "random"
    save_small(path)
    return load(str(path))


@pytest.fixture(scope="session")
def run(small: Transformer) -> Run:
    return run_prompt(small, "one two three one two three one")
