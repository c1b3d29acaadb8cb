"""What can be taken along of the page of all heads: the script finds them again, prompts stay text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.style import DARK, LIGHT
from headlight.app.pages.heads import export as of_heads
from headlight.app.pages.heads.subjects import subjects
from headlight.app.parts import detection
from headlight.app.parts.detection import Repeats
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge
from tests.app.exports.hostile import OTHER, TEXTS, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened
from tests.app.exports.test_pictures import PNG, texts
from tests.places import ROOT

HEADS = of_heads((*TEXTS, "long " * 200))
MINI: dict[str, object] = {"prompt": "one two one two", "heads": ((1, 0),)}


def ablated(model: str, bos: bool, *heads: tuple[int, int]) -> None:
    """Look at the random repeats, and ablate these heads."""
    sequences = detection.repeats(model, bos, Repeats())
    for fed in sequences:
        detection.look(fed)
    for job in detection.ablation_jobs(sequences, heads):
        detection.ablate(job)


def test_the_script_finds_the_heads_again_in_a_fresh_process(tmp_path: Path) -> None:
    ablated("mini", True, (1, 0), (0, 1), (3, 3))
    selection = chosen("mini", **MINI)
    path = tmp_path / "script.py"
    path.write_text(HEADS.script(comparisons.for_selection(selection), selection), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, path], capture_output=True, env=environment, cwd=tmp_path)
    assert not done.stderr.decode()
    compare(done.stdout.decode(), HEADS, MINI, "mini")
    assert "L1H0,Induction,supported" in done.stdout.decode()
    assert "L1H1,Induction,not measured" in done.stdout.decode()


@pytest.mark.parametrize("bos", [True, False])
def test_the_script_looks_at_the_same_prompts(bos: bool, folder: str) -> None:
    ablated(folder, bos, (1, 0))
    fields: dict[str, object] = {"finder_data": "prompts", "bos": bos}
    selection = chosen(folder, **fields)
    HEADS.data(comparisons.for_selection(selection), selection)  # which looks at them
    script = HEADS.script(comparisons.for_selection(selection), selection)
    assert "long long" not in script  # it does not fit the context, and was refused
    compare(run_here(script), HEADS, fields, folder)


SIDES: list[dict[str, object]] = [
    {"edits": (AblateHeads(((0, 1), (1, 3)), "mean"), CutEdge((1, 2), 9, 4, True))},
    {"prompt_b": "one two", "model_b": "mini", "finder_data": "prompts"},
    {"prompt_b": OTHER, "finder_data": "prompts"},
]


@pytest.mark.parametrize("fields", SIDES)
def test_the_script_of_two_sides_prints_the_change_too(fields: dict[str, object], folder: str) -> None:
    fields = {"finder_count": 3, "finder_half": 6, **fields}
    selection = chosen(folder, **fields)
    for subject in subjects(TEXTS, comparisons.for_selection(selection), selection).values():
        for job in detection.ablation_jobs(subject.repeats, [(1, 0), (2, 1)]):
            detection.ablate(job)
    data = HEADS.data(comparisons.for_selection(selection), selection)
    assert set(data.tables["scores"]["run"]) == set(data.tables["ablations"]["run"]) == {"A", "B", "B - A"}
    compare(run_here(HEADS.script(comparisons.for_selection(selection), selection)), HEADS, fields, folder)


def test_a_picture_and_a_page_have_all_three_maps(browser: Browser, tmp_path: Path, folder: str) -> None:
    fields = {"finder_count": 3, "finder_half": 6, **SIDES[0]}
    selection = chosen(folder, **fields)
    comparison = comparisons.for_selection(selection)
    svg = style.file(lambda: HEADS.picture(comparison, selection, LIGHT), LIGHT, "svg")
    assert {"A", "B"} <= set(texts(svg))
    assert any(", B − A" in text for text in texts(svg))  # which needs no legend, as its title says it
    window = Opened(browser, tmp_path / "page.html")
    page = window.open(HEADS.page(comparison, selection))
    expect(page.locator(".board")).to_have_count(3)
    expect(page.get_by_role("columnheader", name="B − A", exact=True)).to_be_visible()
    window.page.context.close()
    assert not window.complaints


def test_the_numbers_say_what_they_were_measured_on(alone: Comparison, folder: str) -> None:
    data = HEADS.data(alone, chosen(folder, finder_data="prompts"))
    # The page's own prompt is one of the list; the longest does not fit.
    assert data.shows["sequences"] == {"A": len(TEXTS)}
    assert data.shows["measured on"] == "prompts"
    assert data.arrays["A copying"].values.shape == data.arrays["A induction"].values.shape == (3, 5)
    repeats = HEADS.data(alone, chosen(folder))
    assert repeats.shows["sequences"] == {"A": 10}
    assert repeats.shows["random repeats"] == "10 times 25 tokens, twice"


@pytest.mark.parametrize("score", ["induction", "copying", "effect", "punctuation"])
def test_every_score_is_drawn(score: str, alone: Comparison, folder: str) -> None:
    ablated(folder, alone.a.bos, (1, 0))
    selection = chosen(folder, finder_score=score)
    svg = style.file(lambda: HEADS.picture(alone, selection, LIGHT), LIGHT, "svg")
    assert {"H4", "L2"} <= set(texts(svg))
    assert style.file(lambda: HEADS.picture(alone, selection, DARK), DARK, "png").startswith(PNG)


def test_the_page_tells_every_heads_score_and_label(browser: Browser, tmp_path: Path) -> None:
    ablated("mini", True, (1, 0))
    selection = chosen("mini", **MINI)
    window = Opened(browser, tmp_path / "page.html")
    page = window.open(HEADS.page(comparisons.for_selection(selection), selection))
    expect(page.get_by_role("row")).to_have_count(17)
    expect(page.get_by_role("row").filter(has_text="↻ induction")).to_have_count(2)
    page.locator(".board").hover(position={"x": 40, "y": 110})
    expect(page.locator(".tooltip:popover-open")).to_contain_text("induction")
    window.page.context.close()
    assert not window.complaints
