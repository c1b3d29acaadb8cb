"""Writes what tests compare: `python -m tests.generate wording` (`make wording`), `pages` (`make pages`) or `sets`."""

import sys
from pathlib import Path
from typing import Any

import pytest

APP = Path(__file__).parent / "app"


class Collected:
    """A plugin of pytest that keeps what a fixture returns to each test, in place of running the test."""

    def __init__(self, fixture: str) -> None:
        self.fixture = fixture
        self.values: list[dict[str, Any]] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Leave out the other tests, which may compare with what is not written yet."""
        items[:] = [item for item in items if self.fixture in item.fixturenames]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Keep a test's fixtures; that this returns something says that the test has been run."""
        self.values.append(dict(pyfuncitem.funcargs))
        return True


def collect(fixture: str, file: Path) -> list[dict[str, Any]]:
    """The fixtures of all tests in a file that use one of them."""
    collected = Collected(fixture)
    if code := pytest.main(["-q", str(file)], plugins=[collected]):
        sys.exit(code)
    return collected.values


# What is below is imported when pytest is through: the tests' own settings come before Headlight.


def wording() -> None:
    """Write what the pages say."""
    (fixtures,) = collect("wording", APP / "test_wording.py")
    from tests.app.test_wording import WORDING

    WORDING.write_text(fixtures["wording"], encoding="utf-8")


def pages() -> None:
    """Write which page works with which kind of model into the manual's table."""
    tests = collect("drawn", APP / "pages" / "test_architectures.py")
    from tests.app.pages.test_architectures import ARCHITECTURES_PAGE, BEGIN, END, markdown
    from tests.bench.table import put_into

    drawn = {(fixtures["kind"], fixtures["slug"]): fixtures["drawn"] for fixtures in tests}
    put_into(ARCHITECTURES_PAGE, markdown(drawn), BEGIN, END)


def sets() -> None:
    """Write how well the models do the sets of prompts that ship into the manual's table; needs SmolLM2."""
    from tests.bench.table import put_into
    from tests.model.prompt_sets.test_shipped import BEGIN, END, MODELS, PAGE, markdown

    put_into(PAGE, markdown(MODELS), BEGIN, END)


COMMANDS = {"wording": wording, "pages": pages, "sets": sets}

if __name__ == "__main__":
    if sys.argv[1:] not in [[name] for name in COMMANDS]:
        sys.exit(f"Name what to write: {' or '.join(COMMANDS)}.")
    COMMANDS[sys.argv[1]]()
