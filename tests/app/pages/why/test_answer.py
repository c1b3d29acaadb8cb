"""The answer of the page *Why*: its sentence against a sum by hand, and the head that a bar leads to."""

import re

import pytest

from headlight.app.figures.bar_list import ROOM
from headlight.app.pages.why import answer
from headlight.app.parts import part_plots
from headlight.app.parts.pair import pair_of
from headlight.model.attribution.tables import effect_by_name
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.pages.why.cells import at_cell


def test_the_finding_names_the_difference_of_the_models_own_logits(run: Run) -> None:
    comparison = Comparison(run)
    pair = pair_of(comparison, selection_of())
    text = answer.finding(comparison, pair, {"A": at_cell(comparison)}, "A")
    logits = run.next_logits
    difference = float(logits[pair.target] - logits[pair.distractor])
    sentence = re.search(r"(leads|trails) .* by ([\d.]+) logits", text)
    assert sentence is not None
    # Two decimals are printed.
    assert float(sentence[2]) * (1 if sentence[1] == "leads" else -1) == pytest.approx(difference, abs=0.0051)


def test_a_part_below_the_floor_is_not_named_and_its_bar_is_short(run: Run) -> None:
    comparison = Comparison(run)
    at = at_cell(comparison)
    effects = {name: value * 1e-3 for name, value in effect_by_name(at).items()}
    bars, room = part_plots.fall(effects).traces
    assert max(room["x"]) >= 0.1 > 10 * max(map(abs, bars["x"]))
    assert set(answer.heads_by_name({"A": at})) <= set(effects)


def test_short_bars_to_the_left_have_their_scale_and_the_room_of_their_numbers_there() -> None:
    _, room = part_plots.fall({"L1H0": -0.001, "embed": -0.002}).traces
    low, high = min(room["x"]), max(room["x"])
    assert high < 0.05  # nothing that is drawn goes further to the right
    assert low <= -0.1 * (1 + ROOM)


def test_a_bars_place_is_that_of_its_name(run: Run) -> None:
    effects = {"L1H0": 0.5, "embed": -2.0, "L0 MLP": 1.0}
    plot = part_plots.fall(effects)
    bars = plot.traces[0]
    assert plot.y.labels[:3] == ["embed", "L0 MLP", "L1H0"]
    assert bars["customdata"] == [0, 1, 2, 3]
    assert bars["x"] == [-2.0, 1.0, 0.5, -0.5]
