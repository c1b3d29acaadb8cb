"""The manual's walk over a set with SmolLM2, in a browser: every number that the manual tells of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.driver import Driver
from tests.e2e.sets_walk import PAIRS, sets_walk
from tests.places import DOCS, ROOT
from tests.serving import headlight

MANUAL = (DOCS / "how-to" / "experiments.md").read_text(encoding="utf-8")


@pytest.fixture
def with_smollm2(browser: Browser, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    """A window on a server that has the packages of real models."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{real}")
    with headlight(tmp_path, "--threads", "2") as url:
        driver = Driver(browser, url)
        yield driver
        driver.close()
        assert not driver.complaints
        assert not driver.outside


@pytest.mark.real
def test_the_manuals_walk_over_twenty_pairs(with_smollm2: Driver) -> None:
    read = {}
    for stop in sets_walk(with_smollm2):
        read[stop.name] = stop.text
        print(stop.name, stop.text)
    assert PAIRS.read_text(encoding="utf-8").count("\n") == 21
    for text in read.values():
        assert text
    assert "Over 20 rows L23H3 adds 3.05 logits [2.85, 3.24] to the answer; 20 of 20 rows agree." in read["heads"]
