"""What can be taken along of the page *Weights*: the script finds the same pairs, tokens stay text."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from safetensors.torch import load_file, save_file

from headlight.app.exports import style
from headlight.app.exports.style import DARK, LIGHT
from headlight.app.pages.weights import EXPORT as WEIGHTS
from headlight.app.pages.weights.analysis import CircuitKey, circuit_of
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened
from tests.app.exports.test_pictures import PNG, texts
from tests.places import MINI, ROOT


def test_the_script_finds_the_same_in_a_fresh_process(folder: str, tmp_path: Path) -> None:
    fields: dict[str, object] = {"heads": ((2, 3),), "circuit": "ov", "circuit_token": "one"}
    selection = chosen(folder, **fields)
    path = tmp_path / "script.py"
    path.write_text(WEIGHTS.script(comparisons.for_selection(selection), selection), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, path], capture_output=True, env=environment, cwd=tmp_path)
    assert not done.stderr.decode()
    compare(done.stdout.decode(), WEIGHTS, fields, folder)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"heads": ((0, 1),), "circuit": "ov"},
        {"circuit_token": "not a single token of any model"},
        {"prompt_b": OTHER, "model_b": "mini", "side": "b", "heads": ((1, 0),), "circuit_token": " the"},
        {"prompt_b": OTHER, "model_b": "mini", "heads": ((2, 3),), "circuit": "ov"},
    ],
)
def test_every_choice_has_its_lines(fields: dict[str, object], folder: str) -> None:
    selection = chosen(folder, **fields)
    comparison = comparisons.for_selection(selection)
    compare(run_here(WEIGHTS.script(comparison, selection)), WEIGHTS, fields, folder)
    assert ("token" in WEIGHTS.data(comparison, selection).tables) == (fields.get("circuit_token") == " the")


def test_two_models_are_laid_side_by_side_and_another_prompt_is_not(folder: str) -> None:
    two = chosen(folder, prompt_b=OTHER, model_b="mini", heads=((2, 3),), circuit="ov")
    data = WEIGHTS.data(comparisons.for_selection(two), two)
    pairs = data.tables["pairs"]
    difference = np.array(pairs["B"]) - np.array(pairs["A"])
    np.testing.assert_allclose(pairs["B - A"], difference, atol=1e-4)  # float32 entries below 100
    assert max(difference[20:]) < min(difference[:20])
    assert set(data.tables["strengths"]["of"]) == {"A", "B", "B - A"}
    assert {"score in A", "score in B"} <= set(data.tables["composition"])
    assert len(data.tables["composition"]["score in A"]) == 3 * 2 * 4  # the heads that both have
    assert data.shows["strongest in"] == "B - A"
    svg = style.file(lambda: WEIGHTS.picture(comparisons.for_selection(two), two, LIGHT), LIGHT, "svg")
    assert "K-composition − that of random heads, B − A" in " ".join(texts(svg))
    one = chosen(folder, prompt_b=OTHER)
    assert "value" in WEIGHTS.data(comparisons.for_selection(one), one).tables["pairs"]


def test_the_arrays_are_those_of_the_page_and_say_their_units(alone: Comparison, folder: str) -> None:
    data = WEIGHTS.data(alone, chosen(folder, circuit="ov"))
    pairs = circuit_of(CircuitKey(alone.a.source.name, (1, 2), "ov")).pairs()
    np.testing.assert_array_equal(data.arrays["highest values"].values, pairs.highest.values.values)
    assert data.arrays["highest values"].unit == data.arrays["strengths"].unit == "logits"
    assert data.arrays["composition by key"].values.shape == (1, 5)
    assert "folded into the weights" in data.shows["reading"]


@pytest.mark.parametrize("head", [(0, 1), (2, 4)])
def test_the_picture_has_the_tokens_as_text(head: tuple[int, int], alone: Comparison, folder: str) -> None:
    selection = chosen(folder, heads=(head,))
    svg = style.file(lambda: WEIGHTS.picture(alone, selection, LIGHT), LIGHT, "svg")
    directions = circuit_of(CircuitKey(alone.a.source.name, head, "qk")).directions()
    labels = alone.a.tokenizer.labels(directions.rows.tokens.values[0, 0].tolist())
    assert any(text.startswith(labels[0]) for text in texts(svg))
    assert ("K-composition − that of random heads" in " ".join(texts(svg))) == (head[0] > 0)
    assert style.file(lambda: WEIGHTS.picture(alone, selection, DARK), DARK, "png").startswith(PNG)


def test_a_head_that_does_nothing_has_files_too(tmp_path: Path) -> None:
    """Its shares and compositions are no numbers."""
    folder = tmp_path / "idle"
    shutil.copytree(MINI, folder)
    weights_of = load_file(folder / "model.safetensors")
    weights_of["transformer.h.1.attn.c_attn.weight"][:, :32] = 0  # the queries of head 0
    weights_of["transformer.h.0.attn.c_proj.weight"][:] = 0  # all that the first layer writes
    save_file(weights_of, folder / "model.safetensors", {"format": "pt"})
    fields: dict[str, object] = {"prompt": "one two", "heads": ((1, 0),)}
    selection = chosen(str(folder), **fields)
    comparison = comparisons.for_selection(selection)
    compare(run_here(WEIGHTS.script(comparison, selection)), WEIGHTS, fields, str(folder))
    assert set(WEIGHTS.data(comparison, selection).tables["composition"]["score"]) == {None}
    assert WEIGHTS.page(comparison, selection)
    assert style.file(lambda: WEIGHTS.picture(comparison, selection, LIGHT), LIGHT, "png").startswith(PNG)


def test_the_page_lists_the_pairs(browser: Browser, tmp_path: Path, alone: Comparison, folder: str) -> None:
    selection = chosen(folder, circuit_token="one")
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(WEIGHTS.page(alone, selection))
    pairs = circuit_of(CircuitKey(alone.a.source.name, (1, 2), "qk")).pairs().highest
    first = page.get_by_role("grid").first.get_by_role("row").nth(1)
    (label,) = alone.a.tokenizer.labels(pairs.rows.values[:1].tolist())
    expect(first).to_contain_text(label)
    expect(page.get_by_role("application")).to_have_count(3)
    page.context.close()
    assert not opened.complaints
