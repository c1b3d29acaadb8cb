"""The notebook runs from top to bottom, and what stands in it is what comes out."""

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headlight.app.registry import VIEWS
from tests.notebook import ARRAYS, FIGURES, NOTEBOOK, RUNS, committed, executed
from tests.places import ROOT

if TYPE_CHECKING:
    from nbformat import NotebookNode

pytestmark = pytest.mark.real

LARGEST = 600_000  # bytes; GitHub shows larger notebooks late or not at all
LINKS = re.compile(r"\]\(([^)#:]+)\)")


@pytest.fixture(scope="module")
def fresh() -> "NotebookNode":
    """A run of all cells in a new kernel; a cell that fails ends it."""
    return executed()


def _code(notebook: "NotebookNode") -> "list[NotebookNode]":
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _printed(notebook: "NotebookNode") -> dict[str, str]:
    """What each cell printed, by the cell's id."""
    return {
        cell.id: "".join(output.text for output in cell.outputs if output.output_type == "stream")
        for cell in _code(notebook)
    }


def _n_pictures(notebook: "NotebookNode") -> dict[str, int]:
    return {cell.id: sum("image/png" in output.get("data", {}) for output in cell.outputs) for cell in _code(notebook)}


def test_every_cell_runs_and_prints_what_was_committed(fresh: "NotebookNode") -> None:
    assert _printed(fresh) == _printed(committed())
    assert _n_pictures(fresh) == _n_pictures(committed())


def test_the_committed_outputs_are_of_one_run_from_top_to_bottom() -> None:
    cells = _code(committed())
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


def test_the_outputs_are_prints_and_pictures_without_warnings_or_paths(fresh: "NotebookNode") -> None:
    for notebook in (fresh, committed()):
        outputs = [output for cell in _code(notebook) for output in cell.outputs]
        kinds = {(output.output_type, output.get("name")) for output in outputs}
        assert kinds == {("stream", "stdout"), ("display_data", None)}
        text = "\n".join(_printed(notebook).values())
        assert str(ROOT) not in text
        assert not re.findall(r"(?i)warning|traceback|0x[0-9a-f]{6}|(?:^|\s)(?:/|[a-z]:\\)\w+", text)


def test_the_file_is_small_and_says_nothing_of_the_machine_that_ran_it() -> None:
    notebook = committed()
    assert NOTEBOOK.stat().st_size < LARGEST
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert not any(cell.metadata for cell in notebook.cells)


@pytest.mark.parametrize("folder", [ROOT, NOTEBOOK.parent], ids=["from the project", "from its own folder"])
def test_it_finds_the_library_from(folder: Path) -> None:
    code = _code(committed())[0].source + "\nprint(sys.path[0])"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert Path(run.stdout.strip()) == ROOT


def test_every_link_leads_to_a_file() -> None:
    links = [link for cell in committed().cells if cell.cell_type == "markdown" for link in LINKS.findall(cell.source)]
    assert links
    assert not [link for link in links if not (NOTEBOOK.parent / link).is_file()]


def test_the_pages_it_sends_the_reader_to_are_there() -> None:
    (last,) = [cell.source for cell in committed().cells if cell.id == "where-next"]
    named = re.findall(r"^- \*\*(.+?)\*\*", last, re.MULTILINE)
    assert named
    assert set(named) <= {view.title for view in VIEWS}


def test_the_numbers_bear_out_what_the_text_says(fresh: "NotebookNode") -> None:
    """The text calls each of these clear, so each is held to more than the right sign."""
    printed = _printed(fresh)

    def numbers(cell: str) -> list[float]:
        return [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?=%|,|\s|$)", printed[cell])]

    raw, divided = (line.split()[-5:] for line in printed["why-sqrt-code"].splitlines())
    assert [float(number) for number in raw] == pytest.approx([2, 4, 8, 16, 32], rel=0.02)  # the root of each width
    assert [float(number) for number in divided] == pytest.approx([1] * 5, rel=0.05)
    on_start, _, of_start, of_others = numbers("weight-is-not-writing-code")
    assert on_start > 0.5
    assert of_start < of_others / 2
    whole, without_induction, without_others = numbers("ablation-code")
    assert whole > 95
    assert without_induction < 5
    assert without_others > 85
    exact, total = numbers("measured-code")[:2]
    assert exact >= 0.99 * total
    assert numbers("measured-code")[-1] >= 99


def _figures(notebook: "NotebookNode") -> dict[str, list[tuple[str, int]]]:
    """The traces of each cell's figure: their kinds and how many numbers each has along its first axis."""
    return {
        cell.id: [
            (trace["type"], len(trace.get("z", trace.get("y", trace.get("x")))))
            for output in cell.outputs
            for trace in output.data["application/vnd.plotly.v1+json"]["data"]
        ]
        for cell in _code(notebook)
        if cell.outputs
    }


def test_the_notebook_of_figures_draws_what_was_committed() -> None:
    notebook, fresh = committed(FIGURES), executed(FIGURES)
    assert FIGURES.stat().st_size < LARGEST
    assert [cell.execution_count for cell in _code(notebook)] == list(range(1, len(_code(notebook)) + 1))
    assert _figures(fresh) == _figures(notebook)
    assert all(_figures(notebook).values())
    drawn = set(re.findall(r"figures\.(\w+)\(", "".join(cell.source for cell in _code(notebook))))
    lines = {"attention", "residual_norms", "logit_lens", "attribution", "patching_map", "head_scatter", "next_tokens"}
    assert lines | {"cosine", "components", "training_curves", "prompt_statistics", "generated"} == drawn


@pytest.mark.parametrize("path", [ARRAYS, RUNS], ids=["arrays", "runs"])
def test_the_notebooks_of_show_draw_a_picture_in_each_cell_that_ends_in_one(path: Path) -> None:
    notebook, fresh = committed(path), executed(path)
    assert [cell.execution_count for cell in _code(notebook)] == list(range(1, len(_code(notebook)) + 1))
    assert _printed(fresh) == _printed(notebook)
    for cell, stored in zip(_code(fresh), _code(notebook), strict=True):
        drawn = [output.data for output in cell.outputs if output.output_type == "execute_result"]
        assert [output.data for output in stored.outputs if output.output_type == "execute_result"] == [
            {"text/plain": data["text/plain"]} for data in drawn
        ]
        assert len(drawn) == cell.source.splitlines()[-1].startswith("show"), cell.id
        assert all(data["text/html"].startswith("<iframe srcdoc=") for data in drawn)
    links = [link for cell in notebook.cells if cell.cell_type == "markdown" for link in LINKS.findall(cell.source)]
    assert links
    assert not [link for link in links if not (path.parent / link).is_file()]
