"""The models written by hand on the page: what it says of them is what was written."""

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.pages.weights.weight_tables import spelled_composition
from headlight.app.pages.why.figures import score_matrix
from headlight.app.runs import comparisons, models, runs
from headlight.app.runs.prompts import first_prompt
from headlight.app.selection import Selection
from headlight.model.lens.run_lens import logit_lens
from headlight.model.weights.head_circuit import compositions
from headlight.recipes.teaching_weights import HEADS
from tests.app.conftest import Options
from tests.app.pages.why.cells import explained_of
from tests.app.test_page import SECONDS
from tests.places import MAIN

ANSWERED_FROM = {"teach-induction": 5, "teach-copy": 6}  # where “key” and “river” stand, after the first token


@pytest.mark.parametrize("name", HEADS)
def test_the_whole_score_of_the_head_that_answers_is_by_what_the_previous_token_head_wrote(name: str) -> None:
    comparison = comparisons.for_selection(Selection(model=name, prompt=first_prompt(name)))
    at = explained_of(comparison, Selection(heads=((1, 0),)), "A")
    assert at.cell.key == ANSWERED_FROM[name]
    matrix = score_matrix(at)
    by_key = dict(zip(matrix.columns, matrix.values.sum(0).tolist(), strict=True))
    assert by_key["L0H0"] == pytest.approx(60)
    assert not any(value for part, value in by_key.items() if part != "L0H0")


@pytest.mark.parametrize("name", HEADS)
def test_keys_are_composed_with_the_previous_token_head_and_nothing_else_is(name: str) -> None:
    composition = compositions(models.open_model(name), (1, 0))
    assert spelled_composition(composition, "key").startswith("Most: L0H0 with 0.1")
    assert float(composition.scores["key"].values[0, 0]) > 5 * float(composition.random["key"].mean.values) / 3
    assert not float(composition.scores["query"].values[0, 0])
    assert not float(composition.scores["value"].values[0, 0])


def test_they_are_offered_and_known_by_their_heads() -> None:
    assert set(HEADS) <= set(models.offered_models())
    assert models.heads_by_hand("teach-copy")[1, 0].startswith("copy")
    assert not models.heads_by_hand("mini")


def test_one_is_the_other_ones_b() -> None:
    first, second = HEADS
    both = comparisons.for_selection(
        Selection(model=first, prompt=first_prompt(first), prompt_b=first_prompt(second), model_b=second)
    )
    assert both.b is not None
    assert both.b.source.name == second


@pytest.mark.parametrize("name", HEADS)
def test_one_that_is_chosen_brings_its_own_prompt_unless_another_was_typed(
    name: str, settings: dict[str, object], options: Options
) -> None:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.run()
    options.change(page, "model", name)
    page.button[0].click().run()
    assert not page.exception
    assert page.query_params["model"] == name
    assert page.text_area[0].value == page.query_params["prompt"] == first_prompt(name)
    page.text_area[0].set_value("the quick fox and a dog")
    page.button[0].click().run()
    assert any("knows 30 words and not: dog." in text.value for text in page.text)
    assert page.query_params["prompt"] == first_prompt(name)


def test_all_that_runs_need_is_there_without_mlps_and_layernorms(settings: dict[str, object]) -> None:
    name = "teach-copy"
    run = runs.run(name, first_prompt(name), True)
    assert run.tokenizer.labels([int(run.next_logits.argmax())]) == ["river"]
    read = logit_lens(run)
    assert read.top_tokens.values[-1, -1, 0] == run.next_logits.argmax()
