"""The scripts print the page's numbers, in a process that has never seen the page."""

import ast
import csv
import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from headlight.app.exports.csv_files import csv_bytes
from headlight.app.exports.data import Table
from headlight.app.exports.export import Export
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.prompts.choices import Statistic
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.pages.why import EXPORT as WHY
from headlight.app.runs import comparisons, models
from headlight.model.base.source import Source
from headlight.model.runs.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer
from tests.app.exports.hostile import HOSTILE, OTHER, PROMPTS, RUN, chosen
from tests.places import ROOT

Tables = dict[tuple[str, ...], list[list[str]]]

TEN = [f"{word} two." for word in ("One", "Three", "Four", "Five", "Six", "Two", "Ten", "Nine", "Go", "No")]
EDITS = (
    AblateHeads(((0, 1), (2, 3)), "mean"),
    CutEdge((1, 2), 9, 4, True),
    Steer(1, "one two", "'''\"\"\" {0} two", -1.5, (3, 5)),
    Patch("blocks.2.hook_resid_post", HOSTILE, (2,)),
    FreezePatterns((2,)),
)
FRESH = [  # one of each exporter
    (ATTENTION, {"prompt_b": OTHER, "show": "write", "sink": "renormalise"}),
    (INSIDE, {"queries": (9,), "keys": (4,), "component": 3}),
    (RESIDUAL, {"edits": EDITS, "position": 5}),
    (LENS, {"prompt_b": OTHER, "align": "position", "layer": 2, "position": 3}),
    (GENERATE, {"n_new": 6, "prompt_b": OTHER, "edits": (), "step": 2, "b_writes": "own"}),
    (PROMPTS, {}),
]
CASES = [
    (ATTENTION, {}),
    (INSIDE, {"prompt_b": OTHER}),
    (RESIDUAL, {}),
    (RESIDUAL, {"prompt_b": OTHER, "position": 2}),
    (LENS, {"target": "one"}),
    (GENERATE, {"n_new": 12, "step": 5, "seed": 3}),
    (GENERATE, {"n_new": 9, "temperature": 0.7, "top_k": 40, "top_p": 0.9, "written": (300, 300, 77), "step": 3}),
]
VARIANTS = [
    *({"show": show, "sink": sink} for show in ("score", "write", "disagreement") for sink in ("keep", "renormalise")),
    *({"show": show, "sink": "hide", "prompt_b": OTHER} for show in ("weight", "score", "disagreement")),
    {"unit": "sentence", "prompt_b": OTHER},
    {"unit": "sentence", "prompt": " ".join(TEN), "prompt_b": " ".join(TEN[1:]), "hidden": 2},
    {"unit": "word", "prompt_b": OTHER, "align": "position"},
    {"unit": "word", "sink": "renormalise"},
    {"unit": "word", "fold": "largest", "sink": "renormalise"},
    {"edits": EDITS, "show": "weight"},
    {"heads": ()},
    {"heads": ((2, 0),), "prompt_b": OTHER, "align": "position"},
]


def parsed(printed: str) -> Tables:
    """The tables that were printed, by their headings."""
    tables: Tables = {}
    for block in printed.strip().split("\n\n"):
        heading, *rows = csv.reader(io.StringIO(block))
        tables[tuple(heading)] = rows
    return tables


def numbers(cells: list[str]) -> np.ndarray:
    """A column's numbers; NaN where a cell is empty or text."""

    def number(cell: str) -> float:
        try:
            return float(cell)
        except ValueError:
            return np.nan

    return np.array([number(cell) for cell in cells])


def compare(printed: str, export: Export, fields: dict[str, object], folder: str) -> None:
    """What a script printed is what the page's csv files hold."""
    selection = chosen(folder, **fields)
    expected = dict(export.data(comparisons.for_selection(selection), selection).tables)
    if export is PROMPTS:
        expected["prompts"] = computed(expected["prompts"])
    compare_tables(printed, expected)


def compare_tables(printed: str, expected: dict[str, Table]) -> None:
    """What a script printed are these tables, by their headings."""
    tables = parsed(printed)
    assert set(tables) == {tuple(table) for table in expected.values()}
    for table in expected.values():
        text = csv_bytes(table).decode("utf-8-sig")
        heading, *rows = csv.reader(io.StringIO(text, newline=""))
        mine = tables[tuple(table)]
        assert len(mine) == len(rows)
        for column, name in enumerate(heading):
            _same([row[column] for row in mine], [row[column] for row in rows], name)


def computed(prompts: Table) -> Table:
    """What a script can tell of the prompts: text, statistic and tokens of those that were run."""
    was_run = [place for place, status in enumerate(prompts["status"]) if status == "run"]
    return {name: [prompts[name][place] for place in was_run] for name in list(prompts)[:3]}


def _same(printed: list[str], expected: list[str], name: str) -> None:
    ours, theirs = numbers(printed), numbers(expected)
    # float32, summed over one head instead of all and in another process: 1e-6 of scores and norms of size 30.
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=5e-5, err_msg=name)
    texts = [
        (a, b) for a, b in zip(printed, expected, strict=True) if b not in ("", "nan") and np.isnan(numbers([b])[0])
    ]
    assert all(b in (a, f"'{a}") for a, b in texts), name


def run_here(script: str) -> str:
    """What a script prints; in this process, for time's sake."""
    printed = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(printed, encoding="utf-8", write_through=True)):
        exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})
        return printed.getvalue().decode()


@pytest.mark.parametrize(("export", "fields"), FRESH)
def test_a_script_prints_the_pages_numbers_in_a_fresh_process(
    export: Export, fields: dict[str, object], folder: str, tmp_path: Path
) -> None:
    selection = chosen(folder, **fields)
    path = tmp_path / "script.py"
    path.write_text(export.script(comparisons.for_selection(selection), selection), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, path], capture_output=True, env=environment, cwd=tmp_path)
    assert not done.stderr.decode()
    compare(done.stdout.decode(), export, fields, folder)


@pytest.mark.parametrize(("export", "fields"), CASES)
def test_a_script_prints_the_pages_numbers(export: Export, fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    compare(run_here(export.script(comparisons.for_selection(selection), selection)), export, fields, folder)


@pytest.mark.parametrize("fields", VARIANTS)
def test_every_choice_of_the_attention_page_has_its_lines(fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    compare(run_here(ATTENTION.script(comparisons.for_selection(selection), selection)), ATTENTION, fields, folder)


@pytest.mark.parametrize("statistic", get_args(Statistic))
def test_every_statistic_of_the_prompts_has_its_lines(statistic: str, folder: str) -> None:
    fields: dict[str, object] = {"statistic": statistic, "statistic_head": (2, 1), "bos": False}
    selection = chosen(folder, **fields)
    compare(run_here(PROMPTS.script(comparisons.for_selection(selection), selection)), PROMPTS, fields, folder)


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS])
def test_two_models_of_unequal_depth_are_compared_where_both_have_layers(export: Export, folder: str) -> None:
    fields: dict[str, object] = {"prompt_b": OTHER, "model_b": "mini", "heads": ((1, 2), (0, 3))}
    selection = chosen(folder, **fields)
    compare(run_here(export.script(comparisons.for_selection(selection), selection)), export, fields, folder)


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS])
@pytest.mark.parametrize("edits", [EDITS, EDITS[:2], (Drop(0),)])
def test_a_run_with_edits_is_made_again(export: Export, edits: tuple[Edit, ...], folder: str) -> None:
    fields: dict[str, object] = {"edits": edits, "bos": False}
    selection = chosen(folder, **fields)
    compare(run_here(export.script(comparisons.for_selection(selection), selection)), export, fields, folder)


def test_a_model_of_the_servers_folder_is_named_by_its_path_to_its_own_user_alone(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source("random", Path(folder), "gpt2", ())
    assert models.opened_by(source) == folder
    assert models.opened_by(replace(source, revision="0" * 40)) == "random"
    monkeypatch.setattr(models, "any_model_allowed", lambda: False)
    assert models.opened_by(source) == "random"


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, LENS, RESIDUAL, WHY])
def test_a_prompt_in_a_script_is_a_literal(export: Export, folder: str) -> None:
    """Neither quotes nor line ends nor characters that are not seen let a prompt become code."""
    prompt = "''' + __import__('os').abort() + '''\r\n\"\"\"\\N{BULLET}\u2028# \ud7ff one"
    selection = chosen(folder, prompt=prompt)
    script = ast.parse(export.script(comparisons.for_selection(selection), selection))
    calls = [node for node in ast.walk(script) if isinstance(node, ast.Call)]
    texts = [ast.literal_eval(call.args[1]) for call in calls if ast.unparse(call.func) == "run_prompt"]
    assert texts == [prompt]
    assert "__import__" not in map(ast.unparse, (call.func for call in calls))


def test_the_prompts_of_a_script_are_literals(folder: str) -> None:
    selection = chosen(folder)
    script = ast.parse(PROMPTS.script(comparisons.for_selection(selection), selection))
    assigned = {ast.unparse(node.targets[0]): node.value for node in script.body if isinstance(node, ast.Assign)}
    assert ast.literal_eval(assigned["prompts"]) == [text for text, _ in RUN]
