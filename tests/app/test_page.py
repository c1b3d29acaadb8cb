"""The page as a whole, without a browser: what a script run shows for what was typed, opened or clicked."""

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
import torch
from safetensors.torch import save_file
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.state import QueryParamsProxy
from streamlit.testing.v1 import AppTest, local_script_runner

from headlight.app import selection
from headlight.app.components import Option
from headlight.app.frame import bars, tour
from headlight.app.frame.about import names
from headlight.app.glossary import MODELS
from headlight.app.parts.markdown import plain
from headlight.app.runs import models, models_folder, runs
from headlight.app.runs.prompts import Example, SourceExample, examples, source_examples
from headlight.app.selection import links
from headlight.app.server import capacity
from headlight.model import Transformer, load
from headlight.model.attention import fields
from headlight.model.base import file_copies
from headlight.model.base.source import Source
from headlight.model.checkpoints.packaged import PACKAGED
from tests.app.conftest import Options
from tests.places import MAIN, MINI
from tests.tiny import tiny

SECONDS = 60  # for one script run on a busy machine
PROMPT = "one two three one two three"


@pytest.fixture
def page(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    """A session that has opened nothing yet; the line under the bar, which only a browser draws, has buttons."""
    monkeypatch.setattr(bars, "option_row", _buttons)
    monkeypatch.setattr(st, "menu_button", _menu)
    return AppTest.from_file(MAIN, default_timeout=SECONDS)


def _buttons(options: Sequence[Option], *, key: str) -> None:
    for option in options:
        st.button(option.label, key=f"{key}.{option.name}", on_click=option.change, args=(None,))


def _menu(label: str, options: Sequence[str], *, key: str, on_click: Callable[[], None], **look: object) -> None:
    def choose(option: str) -> None:
        st.session_state[key] = option
        on_click()

    for option in options:
        st.button(option, key=f"{key}.{option}", on_click=choose, args=(option,))


def _open(page: AppTest, **query: str) -> AppTest:
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def _type(page: AppTest, prompt: str) -> AppTest:
    page.text_area[0].set_value(prompt)
    page.button[0].click().run()
    assert not page.exception
    return page


def _texts(page: AppTest) -> str:
    return "\n".join(text.value for text in page.text)


def test_a_newcomer_sees_the_first_example_on_the_servers_model(page: AppTest, folder: str) -> None:
    _open(page)
    assert page.text_area[0].value == examples()[0].prompt
    assert "input tokens with BOS" in _texts(page)
    assert page.query_params == {"model": folder, "prompt": examples()[0].prompt}


def test_a_chat_model_is_asked_in_its_template(page: AppTest, chat_folder: str, options: Options) -> None:
    _open(page, model=chat_folder, prompt=PROMPT)
    options.change(page, "bos", "chat template")
    _press(page, "Run")
    assert re.search(r"\d input tokens in the chat template", _texts(page))
    assert page.query_params["bos"] == "chat"
    options.change(page, "bos", "nothing")
    _press(page, "Run")
    assert "without BOS" in _texts(page)


def test_a_chat_model_that_is_chosen_offers_its_template_at_once(
    page: AppTest, folder: str, chat_folder: str, options: Options
) -> None:
    _open(page, model=folder, prompt=PROMPT)
    assert options.drawn["bos"].kind == "switch"
    options.change(page, "model", chat_folder)
    _press(page, "Run")
    assert page.query_params["model"] == chat_folder
    assert options.drawn["bos"].kind == "list"


def test_a_model_without_a_chat_template_says_so(page: AppTest, folder: str, options: Options) -> None:
    _open(page, model=folder, prompt=PROMPT, bos="chat")
    assert "has no chat template" in page.text[0].value
    options.change(page, "bos", "BOS token")
    _press(page, "Run")
    assert "input tokens with BOS" in _texts(page)
    page.run()
    assert options.drawn["bos"].kind == "switch"


def test_a_url_opens_what_it_says(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, bos="0", heads="2.4 0.1", numbers="1")
    assert page.text_area[0].value == PROMPT
    assert re.search(r"\d input tokens without BOS", _texts(page))
    assert page.dataframe[0].value["Head"].tolist() == ["L2H4", "L0H1"]


def test_a_folder_is_called_by_its_end_where_that_tells_which_it_is(page: AppTest, folder: str) -> None:
    """The line has room for little more than a name; two folders that end alike are told apart by their paths."""
    _open(page, model=folder, prompt=PROMPT, model_b="mini", prompt_b=PROMPT)
    assert re.search(r"^A  random · \d+ input tokens.*^B  mini · \d+ input tokens", _texts(page), re.M | re.S)
    final, other = (Source(f"/runs/{run}/final", Path(), "gpt2", ()) for run in ("one", "two"))
    assert names([final, other]) == ["/runs/one/final", "/runs/two/final"]
    assert names([final, final]) == ["final", "final"]


def test_a_url_is_read_as_far_as_it_can_be(page: AppTest, folder: str) -> None:
    """What is no value, what this model and prompt do not have, and what is of a B that is not there."""
    _open(
        page, prompt=PROMPT, pair="first", scale="large", keys="2 99999", heads="99.99", model_b="nosuch", show="score"
    )
    (said,) = page.info
    assert set(re.findall(r"\w+", said.value.partition(":")[2])) == {"pair", "scale", "keys", "heads", "model_b"}
    assert page.text_area[0].value == PROMPT
    assert (page.query_params["keys"], page.query_params["show"]) == ("2", "score")
    assert not {"heads", "model_b"} & set(page.query_params)
    _type(page, "something else")
    assert not page.info


LINKED = {"heads": "1.1 2.2", "show": "score", "sink": "hide", "queries": "3", "layer": "2", "measure": "entropy"}


def _is_as_linked(page: AppTest) -> bool:
    return {name: page.query_params.get(name) for name in LINKED} == LINKED


@pytest.mark.parametrize("prompt_b", [{}, {"prompt_b": "one two four five", "side": "b"}], ids=["alone", "with B"])
def test_what_came_with_a_link_waits_for_the_prompt_that_it_left_out(
    page: AppTest, folder: str, prompt_b: dict[str, str]
) -> None:
    _open(page, model=folder, left_out="prompt", **LINKED, **prompt_b)
    assert [said.value for said in page.info] == [
        "This link does not contain prompt A. Paste the text that was sent with it."
    ]
    assert not page.text  # the empty box is not refused beside it
    _type(page, "")
    assert "The prompt is empty" in _texts(page)
    _type(page, PROMPT)
    assert page.query_params == {"model": folder, "prompt": PROMPT, **LINKED, **prompt_b}


def test_what_came_with_a_link_waits_for_the_prompt_b_that_it_left_out(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, side="difference", left_out="prompt_b", **LINKED)
    assert [area.value for area in page.text_area] == [PROMPT, ""]
    assert "prompt B" in page.info[0].value
    page.text_area[1].set_value("one two four")
    _press(page, "Run")
    assert page.query_params["side"] == "difference"
    assert _is_as_linked(page)


@pytest.mark.parametrize(
    ("link", "offered", "opened"),
    [
        ({"page": "translate", "source": "Xylophon"}, source_examples()[0], "source"),
        ({"page": "translate", "translator": "reverse", "source": "Xylophon"}, source_examples()[-1], "source"),
        ({"page": "lens", "prompt": "word " * 200}, examples()[0], "prompt"),
    ],
    ids=["words that the model does not know", "another model's example", "too long"],
)
def test_a_link_that_cannot_be_run_leaves_an_example_to_open(
    page: AppTest, link: dict[str, str], offered: Example | SourceExample, opened: str
) -> None:
    page.query_params.update(link)
    _open(page)
    assert page.text
    instead = [button for button in page.button if button.label == "Open this text with the default model"]
    assert len(instead) == ("translator" in link)
    has_picture = offered in (examples()[0], source_examples()[0])
    assert ("What you will get" in [caption.value for caption in page.caption]) == has_picture
    _press(page, plain(f"Open an example: {offered.name}"))
    assert page.query_params[opened] == getattr(offered, opened)
    assert not [button for button in page.button if "Open an example" in button.label]
    assert "What you will get" not in [caption.value for caption in page.caption]


def test_a_link_that_a_busy_server_refuses_can_be_run_later(page: AppTest, settings: dict[str, object]) -> None:
    settings.update(runs_at_once=1, runs_waiting=0)
    with runs._gate().enter():
        _open(page, prompt=PROMPT, **LINKED)
    assert "Busy" in page.text[0].value
    _press(page, "Run")
    assert _is_as_linked(page)


def test_a_link_whose_model_is_not_there_keeps_what_does_not_depend_on_it(
    page: AppTest, folder: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "any_model_allowed", lambda: False)
    _open(page, prompt=PROMPT, model="nosuch", **LINKED)
    assert "'nosuch' is not offered here" in page.text[0].value
    options.change(page, "model", folder)
    _press(page, "Run")
    assert page.query_params == {
        "model": folder,
        "prompt": PROMPT,
        **{name: LINKED[name] for name in ("show", "sink", "measure")},
    }


def test_a_typed_prompt_is_run_and_stands_in_the_url(page: AppTest) -> None:
    _type(_open(page), PROMPT)
    assert page.query_params["prompt"] == PROMPT
    assert not [caption for caption in page.caption if "to look at" in caption.value]


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("", "The prompt is empty."),
        (" \n ", "spaces or line breaks and nothing else"),
        ("word " * 200, r"tokens, the beginning-of-sequence token included; this model's context holds 100"),
        ("a" * 1_000_000, "1,000,000 characters; at most"),
    ],
)
def test_a_refused_prompt_says_why_and_the_result_before_stays(page: AppTest, prompt: str, said: str) -> None:
    before = _texts(_type(_open(page), PROMPT))
    url = dict(page.query_params)
    _type(page, prompt)
    assert re.search(said, page.text[0].value)
    assert "Below is still the result for the previous prompt:" in [caption.value for caption in page.caption]
    assert page.text[1].value == PROMPT.replace(" ", "␣")
    assert before in _texts(page)
    assert page.text_area[0].value == prompt
    assert page.query_params == url
    assert _texts(_type(page, PROMPT)) == before


ODD = ["👩‍👩‍👧", "שלום", "a\u202eb", "\x00", "<b>x</b>", "![i](https://e.example/p.png)", "$x$", "a"]


@pytest.mark.parametrize("prompt", ODD)
def test_odd_prompts_are_run(page: AppTest, prompt: str) -> None:
    _type(_open(page), prompt)
    assert page.query_params["prompt"] == prompt
    assert not any(prompt in element.value for element in page.markdown)


def test_a_model_that_cannot_be_opened_leaves_the_old_one(
    page: AppTest, folder: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "HUB_MODELS", ("no such model.safetensors",))
    before = _texts(_type(_open(page), PROMPT))
    options.change(page, "model", "no such model.safetensors")
    _type(page, PROMPT)
    assert "no such model" in page.text[0].value
    assert "Below is still the result for the previous model." in [caption.value for caption in page.caption]
    assert not [text for text in page.text if "␣two" in text.value]
    assert before in _texts(page)
    assert page.query_params["model"] == folder


def test_an_error_of_ours_is_an_id_and_the_rest_of_the_page_stays(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    _open(page)
    monkeypatch.setattr(fields, "attend", lambda *arguments: {}["secret"])
    _type(page, PROMPT)
    (said,) = [text.value for text in page.text if "Unexpected error" in text.value]
    assert re.search(r"Error id [0-9a-f]{8};", said)
    assert "secret" not in _texts(page)
    assert page.text_area[0].value == PROMPT


def test_an_error_before_the_url_is_read_ends_the_run_and_leaves_the_url(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "arrive", lambda *arguments: {}["secret"])
    _open(page, prompt=PROMPT)
    assert [text.value for text in page.text if "Unexpected error" in text.value]
    assert page.query_params["prompt"] == PROMPT


def test_a_full_queue_says_busy_and_the_result_before_stays(page: AppTest, settings: dict[str, object]) -> None:
    settings.update(runs_at_once=1, runs_waiting=0)
    before = _texts(_type(_open(page), PROMPT))
    with runs._gate().enter():
        _type(page, "another prompt")
    assert "Busy" in page.text[0].value
    assert before in _texts(page)


def _hint(page: AppTest) -> str:
    return next((caption.value for caption in page.caption if "What to look at" in caption.value), "")


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_an_example_brings_its_model_and_settings_and_says_so(page: AppTest, example: Example) -> None:
    """Whatever was open before: here a model of thirty words, without BOS, a B, pinned tokens and options of pages."""
    _open(page, model="teach-copy", prompt="a key", prompt_b="a fox", bos="0", queries="1", target=" key", measure="kl")
    _press(page, f"{example.title} · {example.model}")
    assert page.text_area[0].value == example.prompt
    heads = {} if example.heads is None else {"heads": " ".join(f"{layer}.{head}" for layer, head in example.heads)}
    b = {} if example.prompt_b is None else {"prompt_b": example.prompt_b}
    view = {} if example.view == "attention" else {"page": example.view}
    assert page.query_params == {"model": example.model, "prompt": example.prompt} | heads | b | view
    brought = "" if example.model == "teach-copy" else f" The example brought its model, {example.model}."
    assert _hint(page).endswith(f"{example.look_at}{brought}")


def test_a_first_visit_has_no_hint_over_its_finding(page: AppTest) -> None:
    """Nobody opened the example, or chose another model that it could have changed."""
    _open(page)
    assert page.text_area[0].value == examples()[0].prompt
    assert _hint(page) == ""
    _press(page, f"{examples()[0].title} · {examples()[0].model}")
    assert examples()[0].look_at in _hint(page)


@pytest.mark.parametrize(
    ("number", "model", "said"), [(2, "mini-llama", True), (2, "teach-induction", False), (-1, "mini", False)]
)
def test_a_hint_is_said_of_models_of_which_it_is_true(page: AppTest, number: int, model: str, said: bool) -> None:
    """An example's text in another model that learned from text; what was written by hand, and what was not."""
    example = examples()[number]
    _open(page)
    _press(page, f"{example.title} · {example.model}")
    page.session_state[selection.bar_key("model")] = model
    page.button[0].click().run()
    assert (example.look_at in _hint(page)) is said
    assert "The example brought its model" not in _hint(page)


def test_a_model_that_comes_with_headlight_says_what_it_is_good_for(page: AppTest, folder: str) -> None:
    assert MODELS.keys() == {*models._embedded(), *models._embedded_seq2seq(), *PACKAGED}
    _open(page, model="mini", prompt=PROMPT)
    said = f"**mini.** {MODELS['mini']}"
    assert said in [caption.value for caption in page.caption]
    page.button(key=selection.widget_key("close_hint")).click().run()
    assert said not in [caption.value for caption in page.caption]
    _move_to(page, model=folder, prompt=PROMPT)
    assert f"{Path(folder).name} · " in _texts(page)
    assert not any(caption.value.startswith("**") for caption in page.caption)


@pytest.mark.parametrize(
    ("query", "begins"),
    [({}, True), ({"prompt": examples()[0].prompt}, True), ({"prompt": PROMPT}, False), ({"page": "lens"}, False)],
)
def test_the_tour_does_not_stand_over_what_somebody_wants_to_show(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, query: dict[str, str], begins: bool
) -> None:
    drawn: list[bool] = []
    monkeypatch.setattr(tour, "tour", lambda steps, *, begins, **look: drawn.append(begins))
    page.query_params.update(query)
    _open(page)
    page.run()
    assert set(drawn) == ({True} if begins else set())  # what is never seen is not sent


@pytest.mark.parametrize("model", ["teach-copy", "mini"])
def test_a_model_without_a_prompt_opens_with_its_own_example(page: AppTest, model: str) -> None:
    _open(page, model=model)
    assert page.query_params["prompt"] == next(each.prompt for each in examples() if each.model == model)


def test_another_prompt_keeps_the_chosen_heads_and_drops_the_pinned_tokens(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, heads="1.1", queries="3", keys="2")
    assert page.query_params["queries"] == "3"
    _type(page, "another prompt of some words")
    assert page.query_params["heads"] == "1.1"
    assert "queries" not in page.query_params


def test_a_prompt_too_long_for_a_link_is_said(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MAX_URL_PROMPT", 10)
    _type(_open(page), PROMPT)
    assert "prompt" not in page.query_params
    assert any("link does not contain prompt A" in caption.value for caption in page.caption)


def _move_to(page: AppTest, **query: str) -> AppTest:
    """What the browser's Back and Forward do: the script runs with the URL gone to, and is told so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "RerunData", partial(RerunData, is_history_navigation=True))
        return _open(page, **query)


def test_a_url_gone_back_to_is_shown_again(page: AppTest) -> None:
    _type(_open(page), PROMPT)
    _type(page, "another prompt")
    _move_to(page, prompt=PROMPT)
    assert page.text_area[0].value == page.query_params["prompt"] == PROMPT


def test_forward_is_heard_though_it_stopped_the_run_of_back_before_its_url_was_written(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type(_open(page), PROMPT)
    _type(page, "another prompt")
    with monkeypatch.context() as stopped:
        stopped.setattr(selection, "write_url", lambda besides: None)
        _move_to(page, prompt=PROMPT)
    assert page.text_area[0].value == PROMPT
    _move_to(page, prompt="another prompt")
    assert page.text_area[0].value == page.query_params["prompt"] == "another prompt"


def test_back_is_heard_while_something_else_waits_to_be_run(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    _type(_open(page), PROMPT)
    with monkeypatch.context() as stopped:
        stopped.setattr(selection, "accept", lambda pending: None)
        stopped.setattr(selection, "pending", lambda: None)  # so that the page does not run it at once
        _type(page, "another prompt")
    _move_to(page, prompt="a third one")
    assert page.text_area[0].value == page.query_params["prompt"] == "a third one"


def test_the_url_gone_to_is_written_though_it_is_the_same(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The URL of a run that Back stopped may have replaced it in the browser."""
    _type(_open(page), PROMPT)
    url: dict[str, str] = dict(page.query_params)
    sent: list[object] = []
    monkeypatch.setattr(QueryParamsProxy, "from_dict", lambda self, query: sent.append(query))
    _open(page, **url)
    assert not sent
    _move_to(page, **url)
    assert sent == [url]


def test_a_click_that_left_before_the_url_was_heard_undoes_nothing(page: AppTest, options: Options) -> None:
    _type(_open(page), PROMPT)
    _type(page, "another prompt")
    page.query_params["prompt"] = PROMPT  # what the browser had before the answer
    options.change(page, "show", "Score")
    assert page.text_area[0].value == page.query_params["prompt"] == "another prompt"
    assert page.query_params["show"] == "score"


def test_a_second_prompt_is_shown_beside_the_first_and_closed_again(page: AppTest) -> None:
    _type(_open(page, numbers="1"), PROMPT)
    _press(page, "Compare A | B")
    assert [area.value for area in page.text_area] == [PROMPT, PROMPT]
    assert "prompt_b" not in page.query_params  # nothing is run before it is asked for
    page.text_area[1].set_value("one two four one two five")
    _press(page, "Run")
    assert page.query_params["prompt_b"] == "one two four one two five"
    assert page.dataframe[0].value["Run"].tolist()[:3] == ["A", "B", "B − A"]
    _press(page, "Close B")
    assert "prompt_b" not in page.query_params
    assert len(page.text_area) == 1


def test_swapping_makes_a_of_b(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, prompt_b="one two four")
    _press(page, "Swap A and B")
    assert [area.value for area in page.text_area] == ["one two four", PROMPT]
    assert page.query_params["prompt"] == "one two four"


def test_a_second_prompt_that_is_refused_leaves_the_result_before(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, prompt_b="one two four")
    before = page.query_params.copy()
    page.text_area[1].set_value("word " * 200)
    _press(page, "Run")
    assert "this model's context holds 100" in page.text[0].value
    assert "Below is still the result for the previous prompt B:" in [caption.value for caption in page.caption]
    assert [text.value for text in page.text[1:3]] == [PROMPT.replace(" ", "␣"), "one␣two␣four"]
    assert page.query_params == before


def test_a_b_that_is_refused_leaves_a_alone(page: AppTest) -> None:
    _type(_open(page), PROMPT)
    _press(page, "Compare A | B")
    page.text_area[1].set_value("word " * 200)
    _press(page, "Run")
    assert "Below is still the result from before, without B." in [caption.value for caption in page.caption]


def test_a_b_that_is_as_a_still_asks_to_be_changed(page: AppTest) -> None:
    hint = "Change B and press Run."
    _type(_open(page), PROMPT)
    assert hint not in [caption.value for caption in page.caption]
    _press(page, "Compare A | B")
    assert hint in [caption.value for caption in page.caption]
    page.text_area[1].set_value("one two four one two five")
    _press(page, "Run")
    assert hint not in [caption.value for caption in page.caption]


def test_the_scores_table_adds_up(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, prompt_b="one two four one two five", heads="1.1", numbers="1")
    entropy = page.dataframe[0].value.set_index("Run")["Entropy (nats)"]
    assert entropy["B − A"] == pytest.approx(entropy["B"] - entropy["A"])


def test_the_sorted_grid_shows_as_many_heads_as_asked(page: AppTest, folder: str, options: Options) -> None:
    _open(page, model=folder, prompt=PROMPT)
    assert "top" not in options.drawn
    options.change(page, "sort", "Entropy (nats)")
    assert (options.drawn["top"].value, page.query_params["sort"]) == (15, "entropy")  # 3 layers of 5 heads
    options.change(page, "top", 4)
    assert options.drawn["top"].value == 4
    assert page.query_params["top"] == "4"


def test_tables_stand_for_the_pictures(page: AppTest, folder: str) -> None:
    _open(page, model=folder, prompt=PROMPT, heads="0.1", table="1")
    everyone, cells = (table.value for table in page.dataframe[:2])
    assert len(everyone) == 15  # 3 layers of 5 heads
    assert cells.shape[1] == len(cells) + 1
    assert cells.iloc[:, 1:].sum(axis=1).to_numpy() == pytest.approx(1)


def test_the_difference_of_two_heads_is_opened_from_a_link(page: AppTest, folder: str, options: Options) -> None:
    _open(page, model=folder, prompt=PROMPT, heads="0.1 1.2", pair="0.1 1.2", numbers="1")
    assert page.query_params["pair"] == "0.1 1.2"
    assert options.drawn["pair"].value == ((0, 1), (1, 2))


def _press(page: AppTest, label: str) -> None:
    (button,) = [button for button in page.button if button.label == label]
    button.click().run()
    assert not page.exception


def test_a_click_finds_its_page_after_the_server_forgot_the_session(page: AppTest, folder: str) -> None:
    """The click's callback is then the first that the new session hears of; all else comes from the URL."""
    _open(page, model=folder, prompt=PROMPT)
    page.session_state["headlight"] = selection.session._Session(page="lens")
    page.run()
    assert not page.exception
    assert page.query_params == {"model": folder, "prompt": PROMPT, "page": "lens"}


def test_a_page_says_what_of_the_models_folder_is_not_in_its_list(
    page: AppTest, settings: dict[str, object], tmp_path: Path
) -> None:
    """And is drawn: another folder's damage is no matter of the model that is looked at."""
    for number in range(5):
        (tmp_path / f"*broken* {number}").mkdir()
        (tmp_path / f"*broken* {number}" / "config.json").write_text("{")
    settings["models_folder"] = str(tmp_path)
    _open(page, model="mini", prompt=PROMPT)
    assert not page.exception
    said = [line for line in _texts(page).splitlines() if "not in the list" in line.lower()]
    assert said[0].startswith("Not in the list of models: *broken* 0. config.json cannot be read as JSON (Expecting ")
    assert (len(said), said[-1]) == (4, "2 more are not in the list of models.")
    assert page.query_params["model"] == "mini"
    shutil.rmtree(tmp_path)
    models_folder.forget()
    page.run()
    assert not page.exception
    assert "The models folder cannot be read (No such file or directory)." in _texts(page)


def test_a_page_says_that_its_model_was_closed_and_goes_on(
    page: AppTest, settings: dict[str, object], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file was written anew; then it was cut short, and the page has no model until another is chosen."""
    monkeypatch.setattr(file_copies, "_copies", True)
    shutil.copytree(folder, tmp_path / "mine")
    settings["models_folder"] = str(tmp_path)
    weights = tmp_path / "mine" / "model.safetensors"
    _open(page, model="mine", prompt=PROMPT)
    os.utime(weights, (1, 1))
    page.run()
    assert not page.exception
    assert "mine was closed: model.safetensors changed on disk or disappeared since it was opened." in _texts(page)
    assert "input tokens with BOS" in _texts(page)
    page.run()
    assert "was closed" not in _texts(page)
    os.truncate(weights, 100)
    for _ in range(2):
        page.run()
        assert not page.exception
        assert "model.safetensors cannot be read as safetensors" in _texts(page)
    assert "Unexpected error" not in _texts(page)


def test_what_was_asked_as_a_model_changed_is_answered_from_its_current_files(
    page: AppTest, settings: dict[str, object], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt and its BOS setting are not lost, and that the files have changed is said beside their answer."""
    monkeypatch.setattr(file_copies, "_copies", True)
    shutil.copytree(folder, tmp_path / "mine")
    settings["models_folder"] = str(tmp_path)
    _open(page, model="mine", prompt=PROMPT)
    os.utime(tmp_path / "mine" / "model.safetensors", (1, 1))
    _type(page, "one two three")
    assert "mine was closed: model.safetensors changed" in _texts(page)
    assert page.query_params["prompt"] == "one two three"
    assert "Below is still the result" not in _texts(page)


def test_each_session_is_told_once_that_its_model_was_closed(
    page: AppTest, settings: dict[str, object], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, where a path was typed; whoever has seen nothing of it is told nothing."""
    monkeypatch.setattr(file_copies, "_copies", True)
    shutil.copytree(folder, tmp_path / "mine")
    settings["model"] = path = str(tmp_path / "mine")
    sessions = [page, *(AppTest.from_file(MAIN, default_timeout=SECONDS) for _ in range(2))]
    for session in sessions[:2]:
        _open(session, model=path, prompt=PROMPT)
    os.utime(tmp_path / "mine" / "model.safetensors", (1, 1))
    for session in sessions[:2]:
        for is_told in (True, False, False):
            session.run()
            assert not session.exception
            assert ("mine was closed: model.safetensors changed" in _texts(session)) == is_told
    _open(sessions[2], model=path, prompt=PROMPT)
    assert "was closed" not in _texts(sessions[2])


def test_a_state_dict_is_asked_for_what_its_shapes_do_not_tell_and_opens_with_the_answers(
    page: AppTest, settings: dict[str, object], tmp_path: Path
) -> None:
    """The answers stand behind its name: in the selection, the link and the script."""
    model = tiny("gpt2-like")
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, tmp_path / "toy.safetensors")
    for file in MINI.glob("tokenizer*.json"):
        shutil.copy(file, tmp_path)
    settings["models_folder"] = str(tmp_path)
    _open(page, model="toy.safetensors", prompt=PROMPT)
    assert "shapes in toy.safetensors do not tell act_fn, attention_dir, positional_embedding_type" in _texts(page)
    assert [box.label for box in page.selectbox] == ["Activation", "Attention", "Positions", "Scores divided by"]
    assert page.number_input[0].label == "Window"
    page.selectbox[0].set_value("gelu_new")
    page.selectbox[3].set_value(1.0)
    page.number_input[0].set_value(3)
    next(button for button in page.button if button.label == "Open with these settings").click().run()
    assert not page.exception
    name = (
        "toy.safetensors?act_fn=gelu_new&attention_dir=causal&positional_embedding_type=standard&attn_scale=1.0"
        "&window_size=3"
    )
    assert page.query_params["model"] == name
    assert not page.selectbox
    opened = models.open_model(name)
    assert (opened.cfg.act_fn, opened.cfg.attn_scale, opened.cfg.window_size) == ("gelu_new", 1.0, 3)
    by_script = load(models.opened_by(opened.source))
    tokens = torch.arange(12)[None]
    expected = Transformer(replace(model.cfg, attn_scale=1.0, window_size=3))
    expected.load_state_dict(model.state_dict())
    assert by_script(tokens).equal(opened(tokens))
    torch.testing.assert_close(opened(tokens), expected(tokens), rtol=1e-5, atol=1e-5)  # float32, in another layout


def test_a_predicted_token_leads_to_what_made_it(page: AppTest, options: Options) -> None:
    _open(page, model="mini", prompt=PROMPT, position="1")  # of a random model no token is likelier than 1%
    model = load(MINI)
    top = model(model.to_tokens(PROMPT, prepend_bos=True))[0, -1].softmax(-1).topk(3)
    links = {name: option for name, option in options.drawn.items() if name.startswith("predicted_A")}
    likely = zip(model.tokenizer.labels(top.indices), top.values.tolist(), strict=True)
    assert [option.label for option in links.values()] == [f"“{label}” {share:.0%}" for label, share in likely]
    options.change(page, "predicted_A_1", None)
    assert page.query_params["page"] == "why"
    assert page.query_params["target"] == model.to_string(top.indices[1])
    assert "position" not in page.query_params  # it is the prediction's own


def test_a_predicted_token_that_is_the_distractor_becomes_the_target(
    page: AppTest, options: Options, folder: str
) -> None:
    model = load(folder)
    top = model(model.to_tokens(PROMPT, prepend_bos=True))[0, -1].topk(2).indices
    _open(page, prompt=PROMPT, distractor=model.to_string(top[1]))
    options.change(page, "predicted_A_1", None)
    assert page.query_params["target"] == model.to_string(top[1])
    assert "distractor" not in page.query_params


def test_those_inside_read_that_the_server_is_full_until_it_is_not(
    page: AppTest, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings["sessions"] = 2
    monkeypatch.setattr(capacity, "n_sessions", lambda: 2)
    _open(page, prompt=PROMPT)
    assert [info.value for info in page.info] == [plain(capacity.FULL_INSIDE.format(2))]
    monkeypatch.setattr(capacity, "n_sessions", lambda: 1)
    page.run()
    assert not page.info
