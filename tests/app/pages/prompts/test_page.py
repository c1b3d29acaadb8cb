"""The page of all prompts, without a browser: upload, run, stop, list, open, go back."""

import statistics
from collections.abc import Sequence
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.components import Column, Table, row_table
from headlight.app.frame.prompt_list import LIST_PAGE
from headlight.app.glossary import TERMS
from headlight.app.pages.prompts import prompt_statistics
from headlight.app.pages.prompts import view as prompts
from headlight.app.runs import jobs, runs
from headlight.app.runs.limits import BusyError
from tests.app.conftest import Options
from tests.places import MAIN

SECONDS = 60  # for one script run on a busy machine
SHOWN = "one two three one two three"
HOSTILE = ["<b>x</b>", "![i](https://e.example/p.png)", "=1+1"]
UPLOADED = ["red blue red blue", *HOSTILE]
FILE = "prompt;kind\n" + "".join(f"{prompt};{number}\n" for number, prompt in enumerate(UPLOADED))

Tables = dict[str, tuple[Sequence[Column], int]]
"""The page's tables as they were drawn last, by name: their columns and their epochs."""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    """What the page's tables are given."""
    drawn: Tables = {}

    def noting(table: Table, *, key: str, epoch: int = 0, **others: Any) -> int | None:
        drawn[key.removeprefix("headlight.")] = table.columns, epoch
        return row_table(table, key=key, epoch=epoch, **others)

    for view in (prompts, prompt_statistics):
        monkeypatch.setattr(view, "row_table", noting)
    return drawn


@pytest.fixture
def page(settings: dict[str, object], tables: Tables) -> AppTest:
    """The page of all prompts, with one prompt that was typed."""
    opened = AppTest.from_file(MAIN, default_timeout=SECONDS)
    opened.query_params["prompt"] = SHOWN
    opened.run()
    _go_to(opened, LIST_PAGE)
    return opened


@pytest.mark.parametrize(
    ("prompt", "read"),
    [
        ("The cat", "The cat"),
        ('[{"role":"user","content":"Hi"},{"role":"assistant","content":"<b>"}]', "user: Hi · assistant: <b>"),
        ('{"messages":[{"role":"user","content":"Hi"}],"add_generation_prompt":false}', "user: Hi"),
        ('[{"role":"user"}]', '[{"role":"user"}]'),
    ],
)
def test_a_conversation_is_listed_as_it_is_read(prompt: str, read: str) -> None:
    assert prompts.as_read(prompt) == read


def _go_to(page: AppTest, slug: str) -> None:
    page.session_state["headlight"].page = slug  # what a click on the navigation does, which AppTest cannot do
    page.run()
    assert not page.exception


def _upload(page: AppTest, name: str, data: str) -> None:
    page.file_uploader[0].set_value((name, data.encode(), "text/plain")).run()
    assert not page.exception


def _choose(page: AppTest, tables: Tables, name: str, row: int) -> None:
    page.session_state[f"headlight.{name}"] = {"value": {"epoch": tables[name][1], "value": row}}
    page.run()


def _press(page: AppTest, label: str) -> None:
    next(button for button in page.button[1:] if button.label.startswith(label)).click().run()
    assert not page.exception


def _columns(tables: Tables, name: str = "prompt_table") -> list[list[Any]]:
    return [list(column.cells) for column in tables[name][0]]


def _can(page: AppTest, label: str) -> bool:
    return not next(button.disabled for button in page.button if button.label == label)


def _said(page: AppTest) -> str:
    return "\n".join(element.value for element in [*page.text, *page.caption])


def test_the_run_that_is_shown_is_in_the_list_and_among_the_last_runs(
    page: AppTest, folder: str, tables: Tables
) -> None:
    text, _, tokens, status, source = [column[0] for column in _columns(tables)]
    assert [text, tokens, status, source] == [SHOWN, len(runs.run(folder, SHOWN, True).tokens), "run", "typed"]
    prompt, prompt_b, model, seen_on = _columns(tables, "past_runs")
    assert (prompt, prompt_b, model, seen_on) == ([SHOWN], [None], [folder], ["Attention"])


def test_an_uploaded_file_is_listed_with_its_labels(page: AppTest, tables: Tables) -> None:
    _upload(page, "a.csv", FILE)
    assert "4 new prompts from a.csv" in _said(page)
    text, _, _, status, source, kind = _columns(tables)
    assert text == [SHOWN, *UPLOADED]
    assert status == ["run", *["not run"] * 4]
    assert source == ["typed", *["a.csv"] * 4]
    assert kind[1:] == ["0", "1", "2", "3"]
    _upload(page, "a.csv", FILE)
    assert "0 new prompts from a.csv" in _said(page)


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("empty.csv", "", "Could not read empty.csv. The file is empty"),
        ("quote.csv", 'prompt\n"The cat\n', "Line 2: a double quote"),
        ("column.csv", "text\nThe cat\n", "(found: “text”)"),
        ("line.jsonl", '{"prompt": "a"}\n{"prompt":\n', "Line 2 is not valid JSON"),
        ("many.txt", "a\n" * 1001, "has 1,001 prompts; the limit is 1,000"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_the_list_stays(
    page: AppTest, name: str, data: str, said: str, tables: Tables
) -> None:
    before = _columns(tables)
    _upload(page, name, data)
    assert said in _said(page)
    assert _columns(tables) == before
    _upload(page, "a.txt", "The cat\n")
    assert said not in _said(page)


def _uploaded(page: AppTest) -> str | None:
    """How many uploaded prompts the address tells of."""
    value = page.query_params.get("uploaded")
    return value[0] if isinstance(value, list) else value


def test_a_session_that_begins_without_the_uploaded_list_says_so(page: AppTest) -> None:
    """As after the server was restarted below a page that stays open: the browser comes back with its address."""
    _upload(page, "a.txt", "a b\nc d\ne f\n")
    assert _uploaded(page) == "3"
    for count, mended_by in (("3", "upload"), ("3", "button"), ("1", "button")):
        again = AppTest.from_file(MAIN, default_timeout=SECONDS)
        for name, values in page.query_params.items():
            again.query_params[name] = values
        again.query_params["uploaded"] = count
        again.run()
        assert _uploaded(again) == count  # until something is done about it
        said = (
            "1 prompt that was uploaded is no longer" if count == "1" else "3 prompts that were uploaded are no longer"
        )
        assert said in _said(again)
        if mended_by == "upload":
            _upload(again, "a.txt", "a b\n")
        else:
            _press(again, "Go on without")
        assert "no longer in the list" not in _said(again)
        assert _uploaded(again) == ("1" if mended_by == "upload" else None)


@pytest.mark.parametrize("count", ["", "0", "-1", "1e3", "9" * 5000, "٣"])
def test_a_count_that_is_none_is_passed_over(page: AppTest, count: str) -> None:
    again = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, values in page.query_params.items():
        again.query_params[name] = values
    again.query_params["uploaded"] = count
    again.run()
    assert not again.exception
    assert "no longer in the list" not in _said(again)
    assert _uploaded(again) is None


def test_a_refused_prompt_and_a_refused_file_are_both_said(page: AppTest) -> None:
    """Streamlit takes no two boxes of one key."""
    page.text_area[0].set_value("")
    page.button[0].click().run()
    _upload(page, "empty.csv", "")
    assert "The prompt is empty" in _said(page)
    assert "Could not read empty.csv" in _said(page)


def test_all_prompts_are_run_and_those_that_cannot_be_say_why(
    page: AppTest, folder: str, tables: Tables, options: Options
) -> None:
    _upload(page, "a.txt", "red blue red blue\n" + "long " * 200 + "\na b c\n")
    options.change(page, "statistic", "Previous token")
    options.change(page, "statistic_head", "L2H4")
    _press(page, "Run 3 prompts")
    text, value, tokens, status, _ = _columns(tables)
    assert status[:2] == ["run", "run"]
    assert "this model's context holds 100" in status[2]
    assert status[3] == "run"
    assert value[2] is None
    for place in (0, 1, 3):
        whole = runs.run(folder, text[place], True)
        assert tokens[place] == len(whole.tokens)
        # The same pass, kept as float32 on its way to the page.
        assert value[place] == pytest.approx(float(whole.scores["previous_token"].values[2, 4]), rel=1e-6)
    assert not [button for button in page.button[1:] if button.label.startswith("Run")]
    assert page.query_params["statistic_head"] == "2.4"


def test_every_heads_statistics_stand_in_a_table_the_largest_mean_first(
    page: AppTest, folder: str, tables: Tables
) -> None:
    _upload(page, "a.txt", "red blue red blue\na b a b a b\n")
    _press(page, "Run")
    scores = [runs.run(folder, text, True).scores["induction"].values for text in _columns(tables)[0]]
    heads, means, deviations, counts = _columns(tables, "heads_table")
    assert sorted(means, reverse=True) == means
    assert len(heads) == 15
    place = heads.index("L2H3")
    values = [float(score[2, 3]) for score in scores]
    # float32 carries seven digits.
    assert means[place] == pytest.approx(statistics.mean(values), rel=1e-5)
    assert deviations[place] == pytest.approx(statistics.stdev(values), rel=1e-5)
    assert counts[place] == 3


def test_a_prompt_that_is_listed_twice_counts_once(headings: list[str], page: AppTest) -> None:
    assert any(heading.endswith("over 1 prompt") for heading in headings)
    _upload(page, "a.csv", "prompt,kind\na b a b,1\na b a b,2\n")
    _press(page, "Run")
    assert "3 of 3 run" in _said(page)
    assert any(heading.endswith("over 2 different prompts") for heading in headings)


def test_a_stopped_batch_keeps_what_is_done_and_can_go_on(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, tables: Tables
) -> None:
    _upload(page, "a.txt", "a b\nc d\ne f\n")
    whole, requests = runs.head_statistics, []

    def stopped_after_two(*inputs: Any) -> runs.HeadStatistics:
        requests.append(inputs)
        if len(requests) == 2:
            jobs.get_jobs("prompts").stop()
        return whole(*inputs)

    monkeypatch.setattr(jobs, "SLICE_SECONDS", 0)
    monkeypatch.setattr(runs, "head_statistics", stopped_after_two)
    _press(page, "Run 3 prompts")
    assert _columns(tables)[3] == ["run", "run", "run", "not run"]
    _press(page, "Run 1 prompt")
    assert _columns(tables)[3] == ["run"] * 4
    assert len(requests) == len(set(requests)) == 3


def test_a_busy_server_halts_the_batch_and_says_so(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, tables: Tables
) -> None:
    def busy(*inputs: Any) -> runs.HeadStatistics:
        raise BusyError("Busy: try again.")

    _upload(page, "a.txt", "a b\n")
    with monkeypatch.context() as patched:
        patched.setattr(runs, "head_statistics", busy)
        _press(page, "Run 1 prompt")
    assert "Busy: try again." in _said(page)
    _press(page, "Run 1 prompt")
    assert "Busy" not in _said(page)
    assert _columns(tables)[3] == ["run", "run"]


def test_another_model_or_bos_is_another_set_of_results(page: AppTest, options: Options, tables: Tables) -> None:
    _upload(page, "a.txt", "a b\n")
    _press(page, "Run 1 prompt")
    options.change(page, "bos", False)
    page.button[0].click().run()
    assert _columns(tables)[3] == ["run", "not run"]


@pytest.mark.parametrize(("side", "field"), [("A", "prompt"), ("B", "prompt_b")])
@pytest.mark.parametrize("row", range(1, 5))
def test_a_row_is_opened_as_a_or_b(page: AppTest, side: str, field: str, row: int, tables: Tables) -> None:
    _upload(page, "a.csv", FILE)
    _choose(page, tables, "prompt_table", row)
    _press(page, f"Open as {side}")
    assert page.query_params[field] == UPLOADED[row - 1]
    assert "next token:" in _said(page)
    assert not page.file_uploader


def test_no_prompt_is_read_as_markdown(page: AppTest, tables: Tables) -> None:
    _upload(page, "![i](https:e.example).csv", FILE.replace("kind", "<b>kind</b>"))
    _choose(page, tables, "prompt_table", 2)
    texts = [element.value for element in [*page.markdown, *page.caption]]
    assert not [text for text in texts if "<b>" in text or "e.example" in text]


def test_a_choice_lasts_as_long_as_the_list(page: AppTest, tables: Tables, options: Options) -> None:
    _upload(page, "a.csv", FILE)
    assert not any(_can(page, label) for label in ("Open as A", "Open as B", "Remove"))
    _choose(page, tables, "prompt_table", 2)
    options.change(page, "statistic", "Entropy (nats)")
    assert all(_can(page, label) for label in ("Open as A", "Open as B", "Remove"))
    _press(page, "Remove")
    assert _columns(tables)[0] == [SHOWN, UPLOADED[0], *HOSTILE[1:]]
    assert not _can(page, "Remove")


def test_a_long_prompt_is_cut_in_the_table_and_opened_whole(page: AppTest, tables: Tables) -> None:
    long = "a b " * 90
    _upload(page, "a.txt", long)
    assert _columns(tables)[0][1] == f"{long[:200]}…"
    _choose(page, tables, "prompt_table", 1)
    _press(page, "Open as B")
    assert page.text_area[1].value == long


def test_the_columns_of_numbers_say_how_they_are_shown_and_what_they_are(
    page: AppTest, tables: Tables, options: Options
) -> None:
    options.change(page, "statistic", "Current token")
    (_, value, tokens, *_), _ = tables["prompt_table"]
    assert (value.decimals, tokens.decimals) == (3, None)
    assert value.name.endswith("Current token")
    assert value.help == TERMS["current_token"]


def test_rows_can_be_removed(page: AppTest, tables: Tables) -> None:
    _upload(page, "a.csv", FILE)
    _choose(page, tables, "prompt_table", 1)
    _press(page, "Remove")
    assert _columns(tables)[0] == [SHOWN, *HOSTILE]
    _press(page, "Clear the list")
    assert _columns(tables)[0] == []


def test_going_back_to_a_run_restores_its_whole_selection(settings: dict[str, object], tables: Tables) -> None:
    chosen = {"prompt": "a b a b", "heads": "2.1", "queries": "3", "scale": "linear"}
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    page.query_params.update(chosen)
    page.run()
    page.text_area[0].set_value("another prompt")
    page.button[0].click().run()
    _go_to(page, LIST_PAGE)
    assert _columns(tables, "past_runs")[0] == ["another prompt", "a b a b"]
    assert _columns(tables, "past_runs")[3] == ["Attention", "Attention"]
    page.text_area[0].set_value("run on this page")
    page.button[0].click().run()
    assert _columns(tables, "past_runs")[3] == ["Prompts", "Attention", "Attention"]
    _choose(page, tables, "past_runs", 2)
    _press(page, "Restore this run")
    assert not page.file_uploader
    assert {name: page.query_params.get(name) for name in chosen} == chosen
