"""The page *Experiments* without a browser: the set, the finding, a cell and its rows, and what goes wrong."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from streamlit.testing.v1 import AppTest

from headlight.app.components import CellMap, Table
from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.experiments import cell, exports, set_table, view
from headlight.app.parts import columns_form
from headlight.app.runs import comparisons, prompt_sets
from headlight.model import load
from headlight.model.corpus.engines import Here
from headlight.model.experiments.results import Experiment
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.nn.hooks import HookPoint
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.reading import read_prompt_set
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.exports.test_code import compare_tables, run_here
from tests.places import MAIN

SECONDS = 120
PAIRS = [
    ("one two three one", "one four three one", " two", " four"),
    ("two three one two", "two four one two", " three", " four"),
    ("three one two three", "three four two three", " one", " four"),
    ("four two one four", "four three one four", " two", " three"),
]
BAD = [("one two", "one two", " no such answer", " four"), ("", "one", " one", " two")]

Listed = list[dict[str, list[Any]]]


def jsonl(pairs: list[tuple[str, str, str, str]]) -> str:
    names = ("clean", "corrupted", "answers", "wrong_answers")
    return "".join(json.dumps(dict(zip(names, pair, strict=True))) + "\n" for pair in pairs)


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    """A file with four pairs of one length."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(jsonl(PAIRS), encoding="utf-8")
    return str(path)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    """The rows that the page's tables listed, the last drawing last."""
    drawn: Listed = []

    def note(table: Table, **_: object) -> None:
        drawn.append({column.name: list(column.cells) for column in table.columns})

    monkeypatch.setattr(set_table, "row_table", note)
    return drawn


@pytest.fixture
def maps(monkeypatch: pytest.MonkeyPatch) -> list[CellMap]:
    """The maps that the page drew, the last drawing last."""
    drawn: list[CellMap] = []
    monkeypatch.setattr(view, "cell_map", lambda each, **_: drawn.append(each))
    return drawn


def opened(**parameters: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"page": "experiments", "prompt": "one two three one", **parameters}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def said(page: AppTest) -> str:
    return "\n".join(element.value for element in [*page.text, *page.caption, *page.info])


def upload(page: AppTest, name: str, data: str) -> None:
    page.file_uploader[0].set_value((name, data.encode(), "text/plain")).run()
    assert not page.exception


def difference(folder: str, prompt: str, right: str, wrong: str, ablated: tuple[int, int] | None = None) -> float:
    """The logit difference at the last token, of a run of this prompt alone."""
    model = load(folder)

    def zero(z: torch.Tensor, hook: HookPoint) -> None:
        if ablated is not None and hook.layer() == ablated[0]:
            z[:, :, ablated[1]] = 0

    tokens = model.to_tokens(prompt, prepend_bos=True)
    logits = model.run_with_hooks(tokens, fwd_hooks=[(lambda name: name.endswith("hook_z"), zero)])[0, -1]
    return float(logits[model.to_single_token(right)] - logits[model.to_single_token(wrong)])


def test_the_sets_rows_have_the_models_logit_differences(
    settings: dict[str, object], folder: str, pairs: str, listed: Listed
) -> None:
    page = opened(prompt_set=pairs)
    clean = [difference(folder, prompt, right, wrong) for prompt, _, right, wrong in PAIRS]
    corrupted = [difference(folder, prompt, right, wrong) for _, prompt, right, wrong in PAIRS]
    assert listed[-1]["diff."] == pytest.approx(clean, abs=1e-4)  # float32, by batches of other sizes
    assert listed[-1]["corr."] == pytest.approx(corrupted, abs=1e-4)
    assert [status == "right" for status in listed[-1]["status"]] == [value > 0 for value in clean]
    assert f"right in {sum(value > 0 for value in clean)} of 4" in said(page)


def test_the_finding_is_the_largest_certain_cell_and_the_map_has_every_mean(
    settings: dict[str, object], folder: str, pairs: str, maps: list[CellMap]
) -> None:
    page = opened(prompt_set=pairs, exp_measure="ablation", exp_ablation="zero", exp_interval="t")
    (first, *_) = maps
    shape = first.values.shape
    clean = np.array([difference(folder, prompt, right, wrong) for prompt, _, right, wrong in PAIRS])
    heads = list(np.ndindex(*shape))
    ablated = [[difference(folder, prompt, right, wrong, head) for head in heads] for prompt, _, right, wrong in PAIRS]
    changes = np.array(ablated).reshape(4, *shape) - clean[:, None, None]
    mean, interval = changes.mean(0), stats.ttest_1samp(changes, 0).confidence_interval(0.95)
    assert maps[-1].values == pytest.approx(mean, abs=1e-4)
    doubt = (interval.low <= 0) & (interval.high >= 0)
    assert maps[-1].unsure is not None
    assert (maps[-1].unsure == doubt).all()
    if doubt.all():
        assert "every cell's 95% interval includes 0" in said(page)
        return
    layer, head = np.unravel_index(np.where(doubt, 0, np.abs(mean)).argmax(), shape)
    low, high = interval.low[layer, head], interval.high[layer, head]
    (sentence,) = (text.value for text in page.text if text.value.startswith("Over 4 "))
    assert f"the output of L{layer}H{head} by zeros" in sentence
    numbers = [float(number) for number in re.findall(r"[−-]?\d+\.\d+", sentence.replace("−", "-").replace("95%", ""))]
    assert numbers == pytest.approx([mean[layer, head], low, high], rel=0.06)  # two digits of the interval's half width


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"exp_measure": "patching"}, "of the logit difference"),
        ({"exp_measure": "patching", "exp_part": "resid_pre", "exp_direction": "noise"}, "residual stream"),
        ({"exp_measure": "attribution", "exp_part": "q", "exp_by": "position"}, "stimated by gradients"),
        ({"exp_measure": "path", "exp_receiver": "2.1", "exp_read": "v"}, "into L2H1's value"),
        ({"exp_measure": "lens"}, "the logit lens"),
        ({"exp_measure": "patterns", "exp_positions": "from_end"}, "attends from"),
        ({"exp_part": "all"}, "rows agree"),
        ({"table": "1"}, "Over 4 rows"),
    ],
)
def test_every_measure_says_what_it_shows(
    parameters: Mapping[str, str], says: str, settings: dict[str, object], pairs: str
) -> None:
    page = opened(prompt_set=pairs, **parameters)
    assert says in said(page) or "includes 0" in said(page)
    assert "Unexpected" not in said(page)


def test_a_chosen_cell_lists_its_farthest_rows_which_open_as_a_and_b(
    settings: dict[str, object], options: Options, pairs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: list[Table] = []
    monkeypatch.setattr(cell, "row_table", lambda table, **_: tables.append(table) or 1)
    page = opened(prompt_set=pairs, exp_cell="1.2")
    assert any(text.value.startswith("L1H2") for text in page.text)
    numbers, prompts, values = (list(column.cells) for column in tables[-1].columns)
    assert [PAIRS[number - 1][0] for number in numbers] == prompts
    away = np.abs(np.array(values) - np.mean(values))
    assert list(away) == sorted(away, reverse=True)
    clean, corrupted, right, wrong = PAIRS[numbers[1] - 1]
    options.change(page, "why", None)
    query = page.query_params
    wanted = {
        "page": "why",
        "prompt": clean,
        "prompt_b": corrupted,
        "heads": "1.2",
        "target": right,
        "distractor": wrong,
    }
    assert {name: query[name] for name in wanted} == wanted


def test_an_uploaded_set_is_taken_and_its_link_holds_it(settings: dict[str, object], listed: Listed) -> None:
    page = opened()
    upload(page, "mine.jsonl", jsonl([*PAIRS, *BAD]))
    assert page.query_params["prompt_set"] == "session:mine.jsonl"
    assert "2 cannot be used" in said(page)
    assert listed[-1]["status"][4:] == ["not used"] * 2
    link = {name: value for name, value in page.query_params.items() if isinstance(value, str)}
    again = opened(**link)
    assert "2 cannot be used" in said(again)
    del link["set_rows"]
    assert "Upload the file again" in said(opened(**link))


def test_unknown_columns_are_matched_by_a_form_and_remembered(settings: dict[str, object]) -> None:
    page = opened()
    rows = "\n".join(f"{clean};{right};{wrong}" for clean, _, right, wrong in PAIRS)
    upload(page, "odd.csv", f"frage;gut;schlecht\n{rows}\n")
    assert "columns that no program is known to write" in said(page)
    for box, column in zip(page.selectbox, ("frage", columns_form.NOT_THERE, "gut", "schlecht"), strict=False):
        box.set_value(column)
    next(button for button in page.button if button.label == "Read the file").click().run()
    assert not page.exception
    assert "4 rows" in said(page)
    assert page.query_params["set_columns"] == "clean=frage&answers=gut&wrong_answers=schlecht"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.csv", "", "Could not read a.csv"),
        ("a.csv", "clean,clean\na,b\n", "twice"),
        ("a.json", "{", "Could not read a.json"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_and_the_set_stays(
    name: str, data: str, says: str, settings: dict[str, object], pairs: str
) -> None:
    page = opened(prompt_set=pairs)
    upload(page, name, data)
    assert says in said(page)
    assert "4 rows" in said(page)


def test_what_a_set_lacks_is_said_plainly(settings: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "few.jsonl"
    path.write_text(jsonl(PAIRS[:1]), encoding="utf-8")
    assert "needs at least 2" in said(opened(prompt_set=str(path)))
    alone = [{"clean": pair[0], "answers": pair[2], "wrong_answers": pair[3]} for pair in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in alone), encoding="utf-8")
    assert "No row has a corrupted prompt" in said(opened(prompt_set=str(path), exp_measure="patching"))
    foreign = [{"clean": [1, 2, 999_999], "answers": [3], "wrong_answers": [4]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in foreign), encoding="utf-8")
    page = opened(prompt_set=str(path))
    assert "1 cannot be used" in said(page)


def test_a_set_written_from_a_template_is_one_of_the_session(settings: dict[str, object], pairs: str) -> None:
    page = opened(prompt_set=pairs)
    areas = {area.label: area for area in page.text_area}
    areas["Prompt, with slots in braces"].set_value("{A} {B} {A}")
    areas["Corrupted prompt, of the same slots (empty for none)"].set_value("{B} {B} {A}")
    areas["Values of each slot, a line each"].set_value("A: one, two, three\nB: four, two, one")
    next(box for box in page.number_input if box.label == "Rows").set_value(4)
    next(button for button in page.button if button.label == "Write the set").click().run()
    assert not page.exception
    assert page.query_params["prompt_set"] == "session:written"
    assert "4 rows" in said(page)


def test_two_sets_are_compared_and_the_same_set_row_by_row(
    settings: dict[str, object], pairs: str, maps: list[CellMap]
) -> None:
    opened(prompt_set=pairs, prompt_set_b=pairs)
    assert [each.title.split(":")[0] for each in maps[-3:]] == ["A", "B", "B − A"]
    assert maps[-1].values == pytest.approx(np.zeros_like(maps[-1].values))


def test_two_models_are_compared_row_by_row(
    settings: dict[str, object], folder: str, pairs: str, maps: list[CellMap]
) -> None:
    page = opened(
        prompt_set=pairs,
        exp_measure="ablation",
        exp_ablation="zero",
        exp_interval="t",
        prompt_b="one two",
        model_b="mini",
    )
    a, b, both = maps[-3:]
    assert [each.title.split(":")[0] for each in (a, b, both)] == ["A", "B", "B − A"]
    head = tuple(map(int, np.unravel_index(np.abs(both.values).argmax(), both.values.shape)))
    changes = [
        [difference(model, prompt, right, wrong, head) - difference(model, prompt, right, wrong)]
        for model in (folder, "mini")
        for prompt, _, right, wrong in PAIRS
    ]
    of_a, of_b = np.array(changes).reshape(2, -1)
    interval = stats.ttest_rel(of_b, of_a).confidence_interval(0.95)
    assert (a.values[head], b.values[head]) == pytest.approx((of_a.mean(), of_b.mean()), abs=1e-4)  # float32, batched
    assert both.values[head] == pytest.approx((of_b - of_a).mean(), abs=1e-4)
    ends = [both.details[end][head] for end in ("95% from", "95% to")]
    assert ends == pytest.approx([interval.low, interval.high], abs=1e-3)  # t's quantile times errors of that size
    lines = next(text.value for text in page.text if text.value.startswith("A: Over 4 ")).splitlines()
    assert [line.split(":")[0] for line in lines] == ["A", "B", "B − A"]


def test_the_commands_folder_is_shown_beside_its_set(
    settings: dict[str, object], folder: str, pairs: str, tmp_path: Path, maps: list[CellMap]
) -> None:
    model, prompt_set = load(folder), read_prompt_set(pairs)
    tokens = to_tokens(prompt_set, model.tokenizer, True, cfg=model.cfg)
    chosen = ExperimentSettings(measure="dla")
    written = Experiment(model, tokens, chosen, tmp_path / "out")
    measured = written.run(written.plan(), Here)
    page = opened(prompt_set=pairs, exp_results=str(tmp_path / "out"))
    assert "4 of 4 rows measured" in said(page)
    assert maps[-1].values == pytest.approx(measured.measure.values.double().mean(0).numpy(), abs=1e-6)
    other = tmp_path / "other.jsonl"
    other.write_text(jsonl(PAIRS), encoding="utf-8")
    assert "Choose that set" in said(opened(prompt_set=str(other), exp_results=str(tmp_path / "out")))


CHOICES: list[dict[str, object]] = [
    {"exp_measure": "patching", "exp_cell": (1, 2)},
    {"exp_part": "all"},
    {"exp_measure": "lens", "exp_only_correct": True},
]


@pytest.mark.parametrize("fields", CHOICES)
def test_the_script_prints_the_pages_numbers(
    fields: dict[str, object], folder: str, settings: dict[str, object], pairs: str
) -> None:
    known = prompt_sets.named(pairs, "")
    chosen = selection_of(model=folder, prompt="one two", **fields)
    runs, export = comparisons.for_selection(chosen), exports.make_export((known,))
    printed = {name: table for name, table in export.data(runs, chosen).tables.items() if not name.startswith("set ")}
    compare_tables(run_here(export.script(runs, chosen)), printed)
    assert archive(runs, export.data(runs, chosen))
    assert export.picture(runs, chosen, LIGHT)
    assert b"pairs" in export.page(runs, chosen)


def test_a_set_that_the_model_fails_is_said(settings: dict[str, object], folder: str, tmp_path: Path) -> None:
    counts = []
    for turned in (False, True):
        rows = [
            (clean, corrupted, *((wrong, right) if turned else (right, wrong)))
            for clean, corrupted, right, wrong in PAIRS
        ]
        path = tmp_path / f"{turned}.jsonl"
        path.write_text(jsonl(rows[:3]), encoding="utf-8")
        text = said(opened(prompt_set=str(path)))
        counts.append(int(re.search(r"right in (\d) of 3", text).group(1)))  # type: ignore[union-attr]
        assert (f"answers {counts[-1]} of 3 rows correctly" in text) == (counts[-1] < 2)
    assert sum(counts) == 3  # of each row one of the two sets has it right
