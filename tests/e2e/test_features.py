"""Below the head in a browser: six clicks from a prediction to the edit that removes what carries it."""

import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect

from headlight.app.runs import runs
from headlight.model.runs.edits import from_text
from tests.e2e.driver import Driver
from tests.e2e.feature_walk import walk
from tests.e2e.walk import PROMPT


def _numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in re.findall(r"[+−]?\d+\.\d+", text)]


def _said(app: Driver, what: str) -> str:
    return app.page.get_by_text(re.compile(what)).first.inner_text()


def test_six_clicks_lead_from_a_prediction_to_the_edit_that_removes_it(app: Driver) -> None:
    clicks = walk(app)
    next(clicks)
    own = _numbers(_said(app, "the model's logit difference"))
    next(clicks)
    carried = _said(app, "the model's logit difference")
    parts, _, rest = carried.partition(": together ")
    total, constants, difference = _numbers(rest)
    shares = [float(n.replace("−", "-")) for n in re.findall(r" ([+−]\d+\.\d+)", parts)]
    assert abs(sum(shares) - total) < 0.006  # each of a dozen numbers is rounded to three decimals
    assert abs(total + constants - difference) < 0.002
    assert abs(difference - own[0]) < 0.002
    next(clicks)
    next(clicks)
    score = _said(app, "Decomposition error:")
    assert re.search(r"Decomposition error: −?\d\.\de−0[5-9]", score)
    next(clicks)
    next(clicks)
    assert not list(clicks)
    assert "edits=feature" in app.page.url
    expect(app.fed.last).to_contain_text("feature")  # B, of which the line says what was done to it
    edits = tuple(map(from_text, parse_qs(urlsplit(app.page.url).query)["edits"][0].split()))
    before, after = (runs.run("mini", PROMPT, True, made).next_logits.softmax(-1) for made in ((), edits))
    key = int(before.argmax())
    assert after[key] < before[key]
    expect(app.fed.last).to_contain_text(f"“␣key” {after[key]:.0%}")
    assert not app.outside
