"""What is shown of a small random model: one hostile prompt, and two that share some tokens."""

import pytest

from app import shown
from app.selection import Selection
from app.shown import Shown

HOSTILE = 'one two $x$ "three" </script><b>{0}</b> one\\n\n\u202e\x00 ᚠ שלום 👨‍👩‍👧 =1+1 one two'
OTHER = "one two three $x$ four </script>, one five"


def chosen(folder: str, **fields: object) -> Selection:
    """A selection of the hostile prompt with two heads."""
    return Selection(**{"model": folder, "prompt": HOSTILE, "heads": ((1, 2), (0, 4)), **fields})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def alone(folder: str) -> Shown:
    """Run A."""
    return shown.of(chosen(folder))


@pytest.fixture(scope="session")
def two(folder: str) -> Shown:
    """Runs A and B, whose tokens are matched."""
    return shown.of(chosen(folder, prompt_b=OTHER))
