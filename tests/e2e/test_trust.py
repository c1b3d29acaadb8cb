"""What the page says of the model that computed it, and the checks that a user can ask for."""

import hashlib
import re

from playwright.sync_api import expect

from headlight.app.glossary import MODELS
from headlight.model import embedded_models, load
from tests.e2e.driver import Driver

PROMPT = "The keys to the cabinet"


def test_the_panel_says_what_was_computed_from_what_and_checks_it_on_request(app: Driver) -> None:
    app.open(prompt=PROMPT)
    app.page.get_by_role("button", name="About this model").click()
    panel = app.page.get_by_test_id("stPopoverBody")
    weights = (embedded_models()["mini"] / "model.safetensors").read_bytes()
    expect(panel).to_contain_text(MODELS["mini"])
    expect(panel).to_contain_text(hashlib.sha256(weights).hexdigest())
    expect(panel).to_contain_text(" ".join(map(str, load("mini").to_tokens(PROMPT, prepend_bos=True)[0].tolist())))
    expect(panel).to_contain_text(re.compile(r"matrix product +\S+"))
    expect(panel).to_contain_text(re.compile(r"\d\.\de-\d\d, [\d,]+ GFLOP/s"))
    curves = panel.locator(".js-plotly-plot .scatterlayer .trace")
    expect(curves).to_have_count(5)  # three scores, where the task grew harder, and the loss
    panel.get_by_role("button", name="Check the sums").click()
    off = r"components − final residual\s+[1-9]\.\de−\d\d at most, beside entries of up to \d+"
    expect(panel).to_contain_text(re.compile(off))
    expect(panel).to_contain_text("16 heads, 4 biases b_O, 4 MLPs, 2 embeddings, in float64")
    panel.get_by_role("button", name="Compare with transformers").click()
    line = panel.get_by_text(re.compile(r"transformers' logits\s+(\S+) at most"))
    expect(line).to_be_visible()
    largest = re.search(r"logits\s+(\S+) at most", line.inner_text())
    assert largest
    assert float(largest[1].replace("−", "-")) < 1e-4  # float32 sums in another order
