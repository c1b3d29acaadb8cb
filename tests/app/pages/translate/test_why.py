"""Why a token was written, on the page *Translate*: a click on the token opens it, and a bar leads to its head."""

import re
from collections.abc import Callable, ItemsView, Mapping
from typing import Any

import pytest
import streamlit as st
import torch
from streamlit.testing.v1 import AppTest

from headlight.app import components
from headlight.app.components import Choice
from headlight.app.pages.translate import explaining, head_menu
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts.labels import signed_cents
from headlight.app.runs import translations
from headlight.model import TranslationQuestion
from headlight.model.decoding.explained_sides import explain_translations, pass_of
from headlight.model.runs.edits import Head
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.places import MAIN

A, B = "ba ko li su fe", "ba li su ko ne"
SECONDS = 120  # for one script run on a busy machine


def opened(**query: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": "translate", "source": A, **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    assert not page.session_state["headlight"].refusal
    return page


def parameters(page: AppTest) -> ItemsView[str, str]:
    return {name: page.query_params[name][0] for name in page.query_params}.items()


def choices(page: AppTest) -> Choices:
    return page.session_state["headlight"].active.choices_of(Choices)


def choose(options: Options, page: AppTest, name: str, value: object) -> None:
    option = options.drawn[name]
    assert isinstance(option, Choice)
    options.change(page, name, option.options[value])


@pytest.mark.usefixtures("settings")
def test_a_click_on_a_written_token_explains_it_and_the_link_carries_it(
    translator: str, options: Options, headings: list[str]
) -> None:
    page = opened(translator=translator)
    assert "Why this token?" not in headings
    options.change(page, "written_A_1", None)
    assert "Why this token?" in headings
    assert parameters(page) >= {"why_written": "1"}.items()
    comparison = translations.for_selection(selection_of(translator=translator, source=A))
    logits = pass_of(comparison.a).logits[1]
    other = logits.clone()
    other[comparison.a.written[1]] = -torch.inf
    difference = float(logits[comparison.a.written[1]] - other.max())
    said = re.search(r"(leads|trails) .* by ([\d.]+) logits\. Largest", " ".join(headings))
    assert said is not None
    # Two decimals are printed.
    assert float(said[2]) * (1 if said[1] == "leads" else -1) == pytest.approx(difference, abs=0.0051)
    choose(options, page, "why_versus", -1)
    assert f"has a logit of {signed_cents(float(logits[comparison.a.written[1]]))}" in " ".join(headings)
    choose(options, page, "translate_key", 2)
    assert parameters(page) >= {"pair_keys": "2", "why_alone": "1"}.items()
    options.change(page, "why_close", None)
    assert "why_written" not in page.query_params


@pytest.mark.usefixtures("settings")
@pytest.mark.parametrize("attends", ["cross", "decoder", "encoder"])
def test_two_translations_and_tables_are_explained(translator: str, attends: str, headings: list[str]) -> None:
    query = {"translator": translator, "source_b": B, "why_written": "0", "attends": attends}
    opened(**query)
    assert any(each.startswith("From A to B the logit difference changes by") for each in headings)
    page = opened(**query, table="1")
    assert len(page.dataframe) > 5


@pytest.mark.usefixtures("settings")
def test_a_place_that_a_link_has_and_the_target_lacks_is_left_out(translator: str, headings: list[str]) -> None:
    page = opened(translator=translator, translation="ko ba", why_written="99", pair_keys="2")
    assert "why_written" not in page.query_params
    assert "Why this token?" not in headings


def test_a_side_without_the_token_says_so_and_the_other_is_explained(translator: str) -> None:
    chosen = selection_of(translator=translator, source=A, source_b=A, translation="ko ba su", translation_b="ko su")
    pair = translations.for_selection(chosen)
    place = pair.axes("cross", "written")[0].positions[1].index(None)
    sides, reasons = explain_translations(pair, TranslationQuestion(place, "cross", (1, 0)))
    assert set(sides) == {"A"}
    assert "B wrote no token" in reasons["B"]
    assert explaining.side_of(pair, chosen, sides) == "A"
    assert "has a logit of" in explaining.finding(sides, "A")


def test_the_largest_head_is_explained_until_one_is_chosen(translator: str) -> None:
    chosen = selection_of(translator=translator, source=A, why_written=1)
    pair = translations.for_selection(chosen)
    question = explaining.question_of(pair, chosen)
    assert question is not None
    sides, _ = explain_translations(pair, question)
    effects = {
        head: abs(value)
        for (name, (attends, head)) in explaining.heads_by_name(sides).items()
        for value in [sides["A"].effects.by_name[name]]
        if attends == "cross"
    }
    assert question.head == max(effects, key=effects.__getitem__)
    matrix = explaining.by_source(pair, sides["A"])
    assert matrix.values.sum() == pytest.approx(
        sum(value for name, value in sides["A"].effects.by_name.items() if re.match(r"cross L\dH\d", name)), abs=1e-6
    )


class Menu:
    """What stands in for the navigation: the entries of a head's menu, and clicks on them."""

    def __init__(self) -> None:
        self.entries: Mapping[str, str] = {}
        self._clicked: tuple[str, Head, str] | None = None

    def draw(
        self, *_: object, of_head: Mapping[str, str], open_head: Callable[[str, Head, str], None], **__: Any
    ) -> None:
        self.entries = of_head
        if self._clicked is not None:
            clicked, self._clicked = self._clicked, None
            open_head(*clicked)
            st.rerun()

    def click(self, page: AppTest, slug: str, head: Head, kind: str = "") -> None:
        self._clicked = slug, head, kind
        page.run()
        assert not page.exception
        assert self._clicked is None


@pytest.fixture
def menu(monkeypatch: pytest.MonkeyPatch) -> Menu:
    made = Menu()
    monkeypatch.setattr(components, "nav_bar", made.draw)
    return made


@pytest.mark.usefixtures("settings")
def test_the_menu_of_a_head_shows_and_explains_it(translator: str, menu: Menu, headings: list[str]) -> None:
    page = opened(translator=translator, pair_queries="1")
    assert list(menu.entries.values()) == ["Its attention", "Why it looks there"]
    menu.click(page, head_menu.SHOW, (1, 0))
    assert (choices(page).pair_heads, choices(page).pair_queries) == (((1, 0),), (1,))
    assert "Why this token?" not in headings
    menu.click(page, head_menu.EXPLAIN, (0, 1), "self")
    assert (choices(page).attends, choices(page).pair_heads, choices(page).why_written) == ("decoder", ((0, 1),), 1)
    assert any(each.startswith("Where self L0H1 looks") for each in headings)
    menu.click(page, head_menu.SHOW, (0, 1), "encoder")
    assert (choices(page).attends, choices(page).pair_queries) == ("encoder", ())  # which were tokens of the target


@pytest.mark.usefixtures("settings")
def test_the_end_token_has_one_name(translator: str, options: Options) -> None:
    opened(translator=translator, translation="ko ba")
    names = [option.label for name, option in options.drawn.items() if name.startswith("written_A")]
    assert names[-1].startswith("⟨eos⟩ ")
