"""What can be taken along of the page *Head internals*: its numbers are the attention's, its tokens stay text."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.style import LIGHT
from headlight.app.figures.text import token_names
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.inside.choices import Choices, inside_of
from headlight.app.parts.labels import number
from headlight.app.runs import comparisons
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from tests.app.choosing import selection_of
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare_tables, run_here
from tests.app.exports.test_documents import Opened
from tests.app.exports.test_pictures import texts

QUERY, KEY = 9, 3


def test_arrays_are_the_attention_of_the_query(alone: Comparison, folder: str) -> None:
    arrays = INSIDE.data(alone, chosen(folder, queries=(QUERY,))).arrays
    pattern = attend(alone.a, 1, 2).pattern[QUERY].numpy()
    # A product with one query instead of all of them: float32's 1e-7, over d_head sums.
    np.testing.assert_allclose(arrays["A weights"].values.numpy(), pattern, rtol=1e-5, atol=1e-6)
    assert arrays["A read"].axes == ("pos", "d_model")


def test_a_run_without_the_query_is_left_out(two: Comparison, folder: str) -> None:
    only_a = two.presence.index("a")
    selection = chosen(folder, prompt_b=OTHER, queries=(only_a,))
    data = INSIDE.data(two, selection)
    assert set(data.tables["keys"]["run"]) == {"A"}
    compare_tables(run_here(INSIDE.script(two, selection)), dict(data.tables))
    assert style.file(lambda: INSIDE.picture(two, selection, LIGHT), LIGHT, "svg")


def test_tokens_stay_text_in_the_picture(alone: Comparison, folder: str) -> None:
    """Dollars are no mathematics, angle brackets no markup: warnings are errors."""
    selection = chosen(folder, queries=(QUERY,), keys=(KEY,))
    svg = style.file(lambda: INSIDE.picture(alone, selection, LIGHT), LIGHT, "svg")
    at = inside_of(alone, selection, "A")
    assert at is not None
    labels = [alone.a.labels[position] for position in at.window]
    assert {"$"} <= set(labels)
    assert set(token_names(labels)) <= set(texts(svg))
    assert number(float(at.steps.weights.values[KEY])) in texts(svg)


@pytest.mark.parametrize("models", [("mini", "mini-llama"), ("mini-llama", "mini")])
def test_each_row_of_the_picture_is_one_step(models: tuple[str, str]) -> None:
    """mini-llama turns its queries and keys in a step that mini does not take, and its norm is another one."""
    selection = selection_of(model=models[0], model_b=models[1], prompt="one two", prompt_b="one two")
    both = comparisons.for_selection(selection)
    figure = INSIDE.picture(both, selection, LIGHT)
    rows: dict[int, dict[str, list[str]]] = {}
    for axes in figure.axes:
        if axes.get_title() and (spec := axes.get_subplotspec()):
            side, step = axes.get_title().split(":  ", 2)[:2]
            rows.setdefault(spec.rowspan.start, {}).setdefault(step, []).append(side)
    assert all(len(steps) == 1 for steps in rows.values())
    sides = {step: names for steps in rows.values() for step, names in steps.items()}
    norms, turned = ("LayerNorm", "RMSNorm")[:: 1 if models[0] == "mini" else -1], "B" if models[0] == "mini" else "A"
    assert (sides["Turned"], sides[norms[0]], sides[norms[1]]) == ([turned], ["A"], ["B"])
    assert all(names == ["A", "B", "B − A"] for step, names in sides.items() if step not in ("Turned", *norms))


def test_the_file_tells_its_numbers_and_follows_a_click(
    browser: Browser, tmp_path: Path, alone: Comparison, folder: str
) -> None:
    selection = chosen(folder, queries=(QUERY,), keys=(KEY,))
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(INSIDE.page(alone, selection))
    at = inside_of(alone, selection, "A")
    assert at is not None
    softmax = page.get_by_role("region", name="Softmax")
    weight = number(float(at.steps.weights.values[KEY]))
    expect(softmax.locator(".spelled")).to_contain_text(f"= {weight}, the attention weight")
    expect(softmax.locator("td.followed").last).to_have_text(weight)
    query = page.get_by_role("region", name="Query")
    query.get_by_role("img", name=re.compile("W_Q")).hover(position={"x": 1, "y": 1})
    tooltip = page.locator(".tooltip:popover-open")
    expect(tooltip).to_contain_text(number(float(at.weights.W_Q[0, 0])))
    softmax.get_by_role("button", name=re.compile(r"^follow key 0\b")).last.click()
    first = number(float(at.steps.weights.values[0]))
    expect(softmax.locator("td.followed").last).to_have_text(first)
    expect(softmax.locator(".spelled")).to_contain_text(f"= {first}, the attention weight")
    page.context.close()
    assert not opened.complaints


def test_columns_are_taken_along_as_columns(alone: Comparison, folder: str) -> None:
    selection = chosen(folder)
    assert INSIDE.page(alone, selection) != INSIDE.page(alone, selection.updated(Choices, convention="column"))
