"""A conversation in the prompt bar: its turns, what becomes of them at Run, in links, scripts and beside a B."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer

import headlight.model
from headlight.app.components import Turns
from headlight.app.components.turns import _read, component_chat
from headlight.app.exports import script
from headlight.app.frame import bars, conversation
from headlight.app.pages.attention.receivers import vertical_values
from headlight.app.runs import runs
from headlight.model import Comparison, Conversation, compare
from headlight.model.attention.axis import axis_of, turn_starts
from headlight.model.attention.fields import How, on_axis
from headlight.model.attention.receiver_heads import receiver_heads
from headlight.model.runs.head import attend
from tests.app.conftest import Options
from tests.places import MAIN

SECONDS = 60  # for one script run on a busy machine
ASKED, SAID = {"role": "user", "content": "one two three"}, {"role": "assistant", "content": "one two"}
SYSTEM = {"role": "system", "content": "three"}
CHAT = Conversation((SYSTEM, ASKED, SAID, ASKED)).to_prompt()


class Drawn:
    """Stands in for the turns that only a browser draws: what was drawn last of a side, and what is typed into it."""

    def __init__(self) -> None:
        self.turns: dict[str, Turns] = {}
        self.others: dict[str, Sequence[Mapping[str, Any]] | None] = {}
        self.typed: dict[str, Turns] = {}

    def __call__(self, drawn: Turns, *, title: str, change: Callable[[Turns], None], other: Any, **_: Any) -> Any:
        self.turns[title], self.others[title] = drawn, other

        def hear() -> None:
            if (typed := self.typed.pop(title, None)) is not None:
                change(typed)

        return hear


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    made = Drawn()
    monkeypatch.setattr(conversation, "turns", made)
    return made


@pytest.fixture
def page(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch, chat_folder: str) -> AppTest:
    monkeypatch.setattr(bars, "option_row", lambda options, **_: None)
    monkeypatch.setattr(st, "menu_button", lambda *_, **__: None)
    return AppTest.from_file(MAIN, default_timeout=SECONDS)


def _open(page: AppTest, folder: str, **query: str) -> AppTest:
    for name, value in {"model": folder, "bos": "chat", **query}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def _press_run(page: AppTest) -> None:
    next(button for button in page.button if button.label == "Run").click().run()
    assert not page.exception


def _n_tokens(page: AppTest) -> list[int]:
    said = "\n".join(text.value for text in page.text)
    return [int(n) for n in re.findall(r"(\d+) input tokens in the chat template", said)]


def _theirs(folder: str, prompt: str) -> list[int]:
    chat = Conversation.from_prompt(prompt)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids: Any = tokenizer.apply_chat_template(list(chat.messages), return_dict=False, **chat.settings)
    return list(ids)


def test_turns_of_a_link_are_typed_into_and_run(page: AppTest, drawn: Drawn, chat_folder: str) -> None:
    _open(page, chat_folder, prompt=CHAT)
    assert drawn.turns["Conversation"] == Turns((SYSTEM, ASKED, SAID, ASKED), "answer", None, may_think=True)
    assert not page.text_area
    assert _n_tokens(page) == [len(_theirs(chat_folder, CHAT))]
    drawn.typed["Conversation"] = Turns([ASKED, SAID], "continue", True)
    _press_run(page)
    prompt = page.query_params["prompt"]
    assert Conversation.from_prompt(prompt) == Conversation((ASKED, SAID), False, True, True)
    assert _n_tokens(page) == [len(_theirs(chat_folder, prompt))]
    assert drawn.turns["Conversation"] == Turns((ASKED, SAID), "continue", True, True)


def test_a_refused_conversation_leaves_what_was_shown(page: AppTest, drawn: Drawn, chat_folder: str) -> None:
    _open(page, chat_folder, prompt=CHAT)
    before = _n_tokens(page)
    drawn.typed["Conversation"] = Turns([ASKED, {"role": "tool", "content": "4"}], "answer")
    _press_run(page)
    assert "does not take this conversation (no tools" in "\n".join(text.value for text in page.text)
    assert _n_tokens(page) == before
    assert drawn.turns["Conversation"].messages[1]["role"] == "tool"  # what was typed stays


def test_one_turn_differs_beside_a_b(page: AppTest, drawn: Drawn, chat_folder: str) -> None:
    other = Conversation((SYSTEM, ASKED, SAID, SAID), False, True).to_prompt()
    _open(page, chat_folder, prompt=CHAT, prompt_b=other)
    assert [len(_theirs(chat_folder, prompt)) for prompt in (CHAT, other)] == _n_tokens(page)
    assert drawn.others["Conversation B"] == (SYSTEM, ASKED, SAID, ASKED)
    drawn.typed["Conversation B"] = Turns([SYSTEM, SAID, SAID, ASKED], "answer")
    _press_run(page)
    assert page.query_params["prompt"] == CHAT
    assert Conversation.from_prompt(page.query_params["prompt_b"]) == Conversation((SYSTEM, SAID, SAID, ASKED))


def test_without_the_template_the_turns_texts_are_the_prompt(
    page: AppTest, drawn: Drawn, chat_folder: str, options: Options
) -> None:
    _open(page, chat_folder, prompt=CHAT)
    options.change(page, "bos", "nothing")
    _press_run(page)
    assert page.query_params["prompt"] == "three\n\none two three\n\none two\n\none two three"
    assert page.text_area[0].value == page.query_params["prompt"]


def test_what_is_no_conversation_stands_as_text(page: AppTest, drawn: Drawn, chat_folder: str) -> None:
    prompt = '[{"role": "user"}]'
    _open(page, chat_folder, prompt=prompt)
    assert page.text_area[0].value == prompt
    assert "Turn 1 has no text under “content”" in "\n".join(text.value for text in page.text)


def test_turns_beside_a_longer_chat_begin_where_their_tokens_stand(chat_folder: str) -> None:
    """B's first turn goes on where A's ends: A's others stand further on."""
    longer = Conversation(({**SYSTEM, "content": "three one two three"}, ASKED, SAID, ASKED)).to_prompt()
    a, b = (runs.run(chat_folder, prompt, "chat") for prompt in (CHAT, longer))
    comparison = compare(a, b)
    positions = comparison.positions(a)
    assert [positions[place] for _, place in comparison.turns] == [turn.start for turn in a.turns]
    assert [role for role, _ in comparison.turns] == [turn.role for turn in a.turns]
    assert comparison.turns[-1][1] == a.turns[-1].start + len(b.tokens) - len(a.tokens) > a.turns[-1].start


def test_a_script_has_the_turns_and_runs_the_same_tokens(chat_folder: str) -> None:
    for chat in (
        Conversation((SYSTEM, ASKED)),
        Conversation((ASKED, SAID), False, True, False),
        Conversation((ASKED,)),
    ):
        a = runs.run(chat_folder, chat.to_prompt(), "chat")
        lines = script.runs_made(Comparison(a), "tokens")
        names = {name: getattr(headlight.model, name) for name in script.names_of(Comparison(a))}
        exec("\n".join(lines), names)
        assert names["a"].tokens.equal(a.tokens)
        assert ("Conversation(" in "\n".join(lines)) == (len(chat.messages) > 1)


@pytest.mark.parametrize("raw", [None, {}, {"messages": []}, {"messages": [1], "ending": "answer", "thinks": None}])
def test_what_a_browser_reports_else_is_nothing(raw: Any) -> None:
    assert _read(raw, may_think=False) is None
    turns = Turns([ASKED], "nothing", True)
    assert _read(component_chat(turns), may_think=False) == turns
    assert _read({**component_chat(turns), "ending": "end"}, may_think=False) is None
    assert conversation.conversation_of(Turns([{"role": "user"}])) is None


def test_tokens_fold_into_turns_whose_weights_add_up(chat_folder: str) -> None:
    """Between turns by hand: a turn's keys added up, its queries averaged."""
    a = Comparison(runs.run(chat_folder, CHAT, "chat"))
    axis = axis_of(a, "turn", "tokens")
    turns = a.a.turns
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "user", "assistant"]
    assert [place for _, place in turn_starts(a, axis)] == list(range(len(turns)))
    said = ["system: three", "user: one two three", "assistant: one two", "user: one two three", "assistant:"]
    assert [*axis.labels] == said
    pattern = attend(a.a, 1, 2).pattern
    cells = on_axis(a, "a", (1, 2), How(), axis)
    for query, from_turn in enumerate(turns):
        for key, to_turn in enumerate(turns[: query + 1]):
            part = pattern[from_turn.start : from_turn.stop, to_turn.start : to_turn.stop]
            assert float(cells[query, key]) == pytest.approx(float(part.sum(-1).mean()), abs=1e-6)
    assert a.turns == tuple((turn.role, turn.start) for turn in turns)
    plain = Comparison(runs.run(chat_folder, "one two", True))
    assert plain.turns == ()
    assert len(axis_of(plain, "turn", "tokens").labels) == 1


def test_sentences_of_a_chat_have_its_roles(chat_folder: str) -> None:
    """Each turn begins with a special token, which is a sentence of its own."""
    run = runs.run(chat_folder, Conversation((ASKED, SAID) * 4).to_prompt(), "chat")
    comparison = Comparison(run)
    axis = axis_of(comparison, "sentence", "tokens")
    begins = [place for place, label in enumerate(axis.labels) if label == run.labels[0]]
    values = vertical_values(comparison, {"A": receiver_heads(run, "sentence")}, None, axis, "sentence")
    assert list(values.turns) == list(zip(("user", "assistant") * 4 + ("assistant",), begins, strict=True))
