"""A list of one prompt offers sets that come along, of which one becomes the list by a click."""

from streamlit.testing.v1 import AppTest

from headlight.app.pages.prompts.ready_sets import N_PROMPTS, N_SETS, offered
from headlight.model.prompt_sets.shipped import shipped_sets
from tests.places import MAIN


def test_a_click_adds_the_set_that_makes_sense_for_the_model(settings: dict[str, object]) -> None:
    settings["model"] = "mini"
    page = AppTest.from_file(MAIN, default_timeout=120)
    page.query_params["page"] = "prompts"
    page.run()
    buttons = [button for button in page.button if button.label.startswith(f"Add {N_PROMPTS} prompts")]
    assert len(buttons) == N_SETS
    first = offered("mini")[0]
    assert "mini" in first.models
    buttons[0].click().run()
    assert not page.exception
    listed = {prompt.text for prompt in page.session_state["prompt_list"].prompts}
    assert {row.clean for row in first.prompt_set(N_PROMPTS).rows} <= listed


def test_the_sets_of_the_model_come_before_the_others() -> None:
    for model in ("mini", "smollm2", "no such model"):
        own = [model in each.models for each in offered(model)]
        assert own == sorted(own, reverse=True)
        assert sum(own) == min(N_SETS, sum(model in each.models for each in shipped_sets()))
