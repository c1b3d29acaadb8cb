"""A walk through every page, and the tutorial's four clicks from a prediction to the two heads that make it."""

from playwright.sync_api import expect

from headlight.app.registry import VIEWS
from tests.e2e.driver import DRAWN, PROMPTED_VIEWS, Driver
from tests.e2e.walk import walk

SAID = [
    "the model's logit difference is 4.984",
    "weight 0.7890",
    "weight 0.9979",
    "has the highest score for induction",
]

PROMPT = "When Mary and John went to the shop, John gave a drink to"
# What a screen reader lists of a page.
OUTLINE = "headings => headings.map(heading => [heading.tagName, heading.innerText])"


def test_the_prompt_goes_along_from_page_to_page(app: Driver) -> None:
    app.open(prompt=PROMPT)
    line = app.fed.get_by_test_id("stText")
    fed = line.all_inner_texts()
    for view in PROMPTED_VIEWS[1:]:
        app.go_to(view)
        expect(app.prompt).to_have_value(PROMPT)
        assert line.all_inner_texts() == fed
        first, *others = app.page.get_by_test_id("stMain").locator("h1, h2, h3").evaluate_all(OUTLINE)
        assert first == ["H1", view.title]
        assert others[0][0] == "H2"
        assert {level for level, _ in others} <= {"H2", "H3"}
        expect(app.page.locator(DRAWN).first).to_be_visible()


def test_the_page_of_another_model_keeps_the_prompt_of_the_others(app: Driver) -> None:
    translate = VIEWS[-1]
    app.open(prompt=PROMPT)
    app.go_to(translate)
    assert app.page.get_by_test_id("stMain").locator("h1").all_inner_texts() == [translate.title]
    expect(app.board).to_be_visible()
    expect(app.refused).to_have_count(0)
    app.go_to(VIEWS[0])
    expect(app.prompt).to_have_value(PROMPT)


def test_four_clicks_lead_from_a_prediction_to_a_named_circuit(app: Driver) -> None:
    stops = walk(app)
    for said, _ in zip(SAID, stops, strict=False):
        expect(app.page.get_by_text(said)).to_be_visible()
    assert len(list(stops)) == 1
    assert app.panels.locator("figcaption strong").all_inner_texts() == ["L0H0", "L1H0"]
    assert not app.outside
