"""The README's walk holds: five clicks from a prediction to the two heads that make it, by name, with its figures."""

from playwright.sync_api import expect

from tests.e2e.driver import Driver
from tests.e2e.walk import walk

SAID = ["the model's own difference: 4.984", "weight 0.7890", "weight 0.9979", "induction: L1H0"]


def test_five_clicks_lead_from_a_prediction_to_a_named_circuit(app: Driver) -> None:
    clicks = walk(app)
    for said, _ in zip(SAID, clicks, strict=False):
        expect(app.page.get_by_text(said)).to_be_visible()
    assert len(list(clicks)) == 1
    assert app.panels.locator("figcaption strong").all_inner_texts() == ["L0H0", "L1H0"]
    assert not app.outside
