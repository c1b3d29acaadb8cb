"""Links that name what the server does not offer: nothing is opened or fetched before the user agrees."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.frame.lessons import library
from headlight.app.frame.link import ASKS
from headlight.app.registry import VIEWS
from headlight.app.runs import dictionaries, lenses, models, scans, trusted
from headlight.app.selection import from_query, to_query
from headlight.model.runs.edits import AblateHeads, EditFeature, to_text
from tests.app.choosing import selection_of
from tests.places import MAIN
from tests.tiny import save_tiny

PROMPT = "one two three one two"
NAME = "attacker/model"
OPENING = [
    (models, "_open"),
    (models, "_open_seq2seq"),
    (models, "may_know_chat"),
    (models, "questions"),
    (dictionaries, "_open"),
    (dictionaries, "_stamp"),
    (lenses, "lens_of"),
    (scans, "_stamp"),
]


@pytest.fixture(autouse=True)
def _agreed() -> None:
    """Nothing is agreed to."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names and paths that were opened, or looked at."""
    noted: list[str] = []

    def noting(what: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any, **named: Any) -> Any:
            noted.extend(map(str, args))
            return what(*args, **named)

        return note

    for module, name in OPENING:
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    monkeypatch.setattr(trusted, "_trusted", set())
    return noted


def follow(**query: str) -> AppTest:
    """Follow a link."""
    page = AppTest.from_file(MAIN, default_timeout=60)
    for name, value in {"prompt": PROMPT, **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def texts(page: AppTest) -> str:
    return "\n".join(text.value for text in page.text)


def press(page: AppTest, label: str) -> None:
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception


LINKS: list[dict[str, str]] = [
    {"model": NAME},
    {"model": f"{NAME}?act_fn=relu"},
    {"model": NAME, "prompt": "~damaged"},
    {"model": "/a/path"},
    {"prompt_b": PROMPT, "model_b": NAME},
    {"page": "translate", "translator": NAME},
    {"page": "translate", "source": "ba", "source_b": "ba", "translator_b": NAME},
    {"page": "features", "dictionary": "a/b/c"},
    {"page": "why", "dictionary": "a/b/c"},
    {"page": "graph", "graph_units": "a/b/c"},
    {"page": "corpus", "scan": "/a/b"},
    {"page": "corpus", "scan_b": "/a/b"},
    {"page": "experiments", "prompt_set": "/a/b"},
    {"page": "experiments", "prompt_set_b": "a/b/c"},
    {"page": "lens", "lens": "tuned", "lens_from": "attacker/lens"},
    {"edits": to_text(EditFeature("a/b/c", "blocks.1.hook_resid_pre", 7))},
]


@pytest.mark.parametrize("query", LINKS, ids=str)
def test_what_a_link_names_is_asked_for_before_anything_of_it_is_opened(
    query: dict[str, str], settings: dict[str, object], opened: list[str]
) -> None:
    names = [NAME, "/a/path", "a/b/c", "/a/b", "attacker/lens"]
    page = follow(**query)
    assert ASKS in texts(page)
    assert any(name in texts(page) for name in names)
    assert "Hub" in texts(page) or "this machine" in texts(page)
    assert not [each for each in opened for name in names if name in each]
    press(page, "Ignore it")
    assert ASKS not in texts(page)
    assert not [each for each in opened for name in names if name in each]


def test_a_link_is_followed_once_its_user_agrees_and_then_without_a_question(
    settings: dict[str, object], tmp_path: Path, opened: list[str]
) -> None:
    save_tiny("gpt2-like", tmp_path / "other")
    query = {"model": str(tmp_path / "other"), "heads": "2.3", "page": "residual"}
    page = follow(**query)
    assert f"the model {query['model']}, from this machine, 0.00" in texts(page)
    press(page, "Open")
    assert ASKS not in texts(page)
    assert {name: page.query_params[name] for name in query} == query
    again = follow(**query)  # a reload is a session of its own
    assert ASKS not in texts(again)
    assert again.query_params["model"] == query["model"]


def test_a_lesson_in_a_link_opens_nothing_unasked(settings: dict[str, object], opened: list[str]) -> None:
    text = f"---\ntitle: a\nminutes: 10\nmodel: {NAME}\n---\n## b\nLink: ?heads=0.1\n"
    page = AppTest.from_file(MAIN, default_timeout=60)
    page.query_params["lesson"] = library.in_link(text)
    page.run()
    assert not page.exception
    assert ASKS in texts(page)
    assert not [each for each in opened if NAME in each]
    assert page.query_params["heads"] == "0.1"  # on the server's own model


@pytest.mark.parametrize(
    "query",
    [{"model": "mini"}, {"model": "teach-copy"}, {"page": "translate", "translator": "reverse"}, {}],
)
def test_a_link_to_what_the_server_offers_is_followed(
    query: dict[str, str], settings: dict[str, object], opened: list[str]
) -> None:
    assert ASKS not in texts(follow(**query))


def test_what_is_typed_is_not_asked_for(settings: dict[str, object], tmp_path: Path, opened: list[str]) -> None:
    save_tiny("gpt2-like", tmp_path / "other")
    name = str(tmp_path / "other")
    page = follow()
    page.session_state["headlight.model"] = name
    press(page, "Run")
    assert ASKS not in texts(page)
    assert page.query_params["model"] == name
    assert ASKS not in texts(follow(model=name))


def test_where_only_offered_names_open_there_is_nothing_to_ask(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    settings["any_model"] = False
    page = follow(model=NAME)
    assert ASKS not in texts(page)
    assert "is not offered here" in texts(page)


def test_only_what_is_not_offered_is_left_out() -> None:
    edits = (AblateHeads(((0, 1),)),)
    chosen = selection_of(model="mini", prompt_b="x", model_b=NAME, edits=edits, lens="tuned", lens_from="a/b", layer=2)
    left = selection_of(model="mini", prompt_b="x", edits=edits, lens="tuned", layer=2)
    assert trusted.unasked(chosen) == left
    pages = [view.choices for view in VIEWS if view.choices]
    assert from_query(to_query(left), pages)[0] == left
