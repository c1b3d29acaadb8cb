"""The manual's walk over a set with SmolLM2, in a browser: what the manual quotes is there to be read."""

import re

import pytest

from headlight.model import load
from tests.app.pages.experiments.test_walk import written
from tests.e2e.driver import Driver
from tests.e2e.sets_walk import MODEL, PAIRS, sets_walk
from tests.places import DOCS

MANUAL = (DOCS / "how-to" / "experiments.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
RESAMPLED = 10  # edges that other sums in float32 may move over the border of 90% of the resamples


@pytest.mark.real
def test_the_manuals_walk_over_twenty_pairs(with_smollm2: Driver) -> None:
    assert PAIRS.read_text(encoding="utf-8") == written(load(MODEL)).replace("\r\n", "\n")
    read = {stop.name: stop.text for stop in sets_walk(with_smollm2)}
    quotes = [" ".join(quote.replace("> ", "").split()) for quote in re.findall(r"(?m)(?:^> .*\n)+", MANUAL)]
    assert len(quotes) == 3
    for quote, name in zip(quotes, ("heads", "row", "circuit"), strict=True):
        text = " ".join(read[name].split())
        assert NUMBER.sub("#", text).startswith(NUMBER.sub("#", quote))
        numbers = ([float(number.replace(",", "")) for number in NUMBER.findall(each)] for each in (quote, text))
        for expected, measured in zip(*numbers, strict=False):
            assert measured == pytest.approx(expected, abs=RESAMPLED if expected in (368, 638) else 0.011)
    assert "CPR 0.97 (more is better), CMD 0.02" in read["circuit"]
    assert "plus 0.5 × plural at every position" in read["direction"]
