"""The pane of lessons in a session: what a link opens, what a step shows, and what is said of an answer."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from torch import Tensor

from headlight.app.frame.lessons import library, pane, writing
from headlight.app.frame.lessons.lesson import read_lesson
from headlight.app.selection import Selection
from headlight.app.selection import session as session_module
from headlight.model.base.errors import InputError
from headlight.model.patching import AT_ONCE, Cells
from tests.places import MAIN

TWO_STEPS = """---
title: Two steps
minutes: 10
model: {model}
---

## First

Link: ?prompt=one+two+three+one+two&heads=1.0

Look.

Question: How likely is “ three”?

Check: probability " three" ± 100%

## Second

Link: ?page=lens&prompt=one+two

Look again.
"""


class Pane:
    """What stands in for the component: its last props, and clicks in it."""

    def __init__(self) -> None:
        self.props: Mapping[str, Any] = {}
        self._said: list[Any] | None = None

    def draw(self, props: Mapping[str, Any], *, key: str, hear: Callable[[Any], None]) -> None:
        self.props = props
        if self._said is not None:
            said, self._said = self._said, None
            hear(said)
            pane.st.rerun()

    def say(self, page: AppTest, *said: object) -> None:
        self._said = [*said, 0]
        page.run()
        assert not page.exception
        assert self._said is None


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Pane:
    made = Pane()
    monkeypatch.setattr(pane, "lesson_pane", made.draw)
    return made


@pytest.fixture
def page(settings: dict[str, object]) -> AppTest:
    return AppTest.from_file(MAIN, default_timeout=60)


def _open(page: AppTest, **query: str) -> None:
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception


def _selection(page: AppTest) -> Selection:
    seen = page.session_state["headlight"]
    assert isinstance(seen, session_module._Session)
    assert seen.active is not None
    return seen.active


def test_a_class_s_link_opens_the_lesson_at_its_own_page(page: AppTest, drawn: Pane, folder: str) -> None:
    _open(page, lesson=library.in_link(TWO_STEPS.format(model=folder)))
    assert drawn.props["lesson"]["title"] == "Two steps"
    assert (_selection(page).prompt, _selection(page).heads) == ("one two three one two", ((1, 0),))
    assert page.query_params["lesson"].startswith("~")
    assert page.query_params["step"] == "1"


def test_a_step_turns_the_page_and_an_answer_is_checked_there(page: AppTest, drawn: Pane, folder: str) -> None:
    _open(page, lesson=library.in_link(TWO_STEPS.format(model=folder)))
    drawn.say(page, "check", "3%")
    assert drawn.props["verdict"]["right"] is True
    drawn.say(page, "check", "much")
    assert drawn.props["verdict"]["right"] is None
    assert "Write a number" in drawn.props["verdict"]["text"]
    before = drawn.props
    drawn.say(page, "check", "much")
    assert drawn.props != before  # a browser that is told nothing new would wait for good
    drawn.say(page, "step", 1)
    assert drawn.props["verdict"] is None
    assert (_selection(page).prompt, page.query_params["page"], page.query_params["step"]) == (
        "one two",
        "lens",
        "2",
    )
    drawn.say(page, "close")
    assert "lesson" not in page.query_params
    assert _selection(page).prompt == "one two"  # the page stays


def test_a_verdict_has_no_more_digits_than_the_lesson_s_answer(page: AppTest, drawn: Pane, folder: str) -> None:
    answer = '± 100%\n\nAnswer: {3% = probability " three"}.'
    _open(page, lesson=library.in_link(TWO_STEPS.format(model=folder).replace("± 100%", answer)))
    drawn.say(page, "check", "0.03")
    assert re.fullmatch(r"The model says \d\.\d\d\.", drawn.props["verdict"]["text"])


PATCHED = """---
title: Patch
minutes: 5
model: {model}
---

## Which head

Link: ?page=patching&prompt=one+two+three&prompt_b=one+four+three&target=one&distractor=two

Question: Which head carries the most?

Check: top 1 patched
"""


@pytest.mark.usefixtures("unchecked")  # a batch of patches grows within a pass
def test_a_check_takes_the_map_that_the_page_has_made(
    page: AppTest, drawn: Pane, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares, computed = Cells.shares, list[int]()

    def counted(cells: Cells, start: int, stop: int, at_once: int = AT_ONCE) -> Tensor:
        computed.extend(range(start, stop))
        return shares(cells, start, stop, at_once)

    monkeypatch.setattr(Cells, "shares", counted)
    _open(page, lesson=library.in_link(PATCHED.format(model=folder)))
    heads = list(range(len(computed)))
    assert sorted(computed) == heads != []
    drawn.say(page, "check", "L0H0")
    assert drawn.props["verdict"]["text"].startswith("The model says L")
    assert sorted(computed) == heads


def test_a_link_with_a_page_of_its_own_keeps_it(page: AppTest, drawn: Pane, folder: str) -> None:
    _open(page, lesson=library.in_link(TWO_STEPS.format(model=folder)), step="2", prompt="three two")
    assert (drawn.props["step"], _selection(page).prompt) == (1, "three two")


def test_a_link_without_a_lesson_behind_it_says_so(page: AppTest, drawn: Pane) -> None:
    _open(page, lesson="none")
    assert "There is no lesson 'none'" in drawn.props["error"]
    drawn.say(page, "file", "no lesson")
    assert "Line 1" in drawn.props["error"]


def test_a_teacher_adds_the_present_page_as_a_step(page: AppTest, drawn: Pane, folder: str) -> None:
    _open(page, prompt="one two three one two", heads="1.0", queries="4")
    drawn.say(page, "write", "")
    assert "attended L1H0 4" in [check for check, *_ in drawn.props["offered"]]
    drawn.say(page, "add", "Look back", "All heads", "Some **text**.", "Where to?", "attended L1H0 4", "", "There.")
    (step,) = read_lesson(drawn.props["draft"]).steps
    assert (step.title, step.part, dict(step.query)["queries"]) == ("Look back", "All heads", "4")
    drawn.say(page, "add", "", "", "", "", "", "", "")
    assert drawn.props["error"] == "Give the step a title."
    drawn.say(page, "try")
    first_step = drawn.props["lesson"]["steps"][0]
    assert (first_step["asks"], first_step["part"]) == ("token", "All heads")
    assert library.open_lesson(library.in_link(_draft(page))).lesson.steps == (step,)


def _draft(page: AppTest) -> str:
    return str(page.session_state["headlight.lessons"].draft)


def test_a_step_that_could_not_be_read_again_is_not_added() -> None:
    fields = dict.fromkeys(writing.FIELDS, "") | {"title": "a", "text": "<script>x</script>"}
    with pytest.raises(InputError, match="HTML"):
        writing.with_step("", Selection(model="mini", prompt="x"), "attention", fields)


@pytest.mark.parametrize("name", ["~", "~abc", "~" + "A" * 100, library.in_link(TWO_STEPS)[:-9]])
def test_half_a_link_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="incomplete"):
        library.open_lesson(name)


def test_a_link_of_a_step_that_names_what_there_is_not_is_said(page: AppTest, drawn: Pane, folder: str) -> None:
    text = TWO_STEPS.format(model=folder).replace("Link: ?", "Link: ?page=nowhere&queries=x&", 1)
    _open(page, lesson=library.in_link(text))
    assert "(page, queries)" in drawn.props["error"]
    drawn.say(page, "step", 1)
    assert not drawn.props["error"]


def test_what_can_be_asked_for_is_told_apart_in_words() -> None:
    offered = writing.offered(Selection(model="mini", prompt="x", prompt_b="y"), "attention")
    words = {name: meaning.removesuffix(f": {name}") for name, meaning, _ in offered}
    assert words["top 1 previous_token"] == "the head with the largest previous token score"
    assert words["top 1 effect"] == "the head with the largest direct effect"
    in_a = [words[name] for name in words if not name.endswith("in B")]
    assert len(set(in_a)) == len(in_a)
