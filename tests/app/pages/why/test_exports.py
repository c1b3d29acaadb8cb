"""What can be taken along of the page *Why*: the script prints its numbers, parts add up, tokens stay text."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.style import DARK, LIGHT
from headlight.app.pages.why import EXPORT as WHY
from headlight.model import run_prompt
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge, Steer
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened
from tests.app.exports.test_pictures import texts
from tests.tiny import open_tiny

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side
QUERY, KEY = 9, 3
CASES: list[dict[str, object]] = [
    {},
    {"queries": (QUERY,), "keys": (KEY,)},
    {"heads": ((2, 3),), "position": 5, "target": "one", "distractor": " two"},
    {"heads": ((0, 1),), "bos": False},
    {"queries": (2,), "keys": (5,)},  # above the diagonal: nothing to tell
    {"prompt_b": OTHER},
    {"prompt_b": 'one two $x$ "three" </script><b>{1}</b> one\\n\n\u202e\x00 ᚠ שלום 👨‍👩‍👧 =1+1 one two'},
    {"prompt_b": OTHER, "model_b": "mini", "align": "position"},
    {"prompt_b": OTHER, "align": "position", "mean_over": ("one two", "'''three\"\"\"")},
    {"edits": (AblateHeads(((0, 1),), "mean"), CutEdge((1, 2), 9, 4, True), Steer(1, "one", "two", -1.5, (3, 5)))},
]


@pytest.mark.parametrize("fields", CASES)
def test_the_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    from headlight.app.runs import comparisons

    selection = chosen(folder, **fields)
    compare(run_here(WHY.script(comparisons.for_selection(selection), selection)), WHY, fields, folder)


def test_arrays_add_up(two: Comparison, folder: str) -> None:
    """float32 activations of size 1 to 10, each rounded to 6e-8 of itself."""
    arrays = WHY.data(two, chosen(folder, prompt_b=OTHER)).arrays
    for side in "AB":
        parts, score = (arrays[f"{side} {name}"].values for name in ("score parts", "score"))
        assert float(parts.sum()) == pytest.approx(float(score), abs=1e-4)
        assert abs(float(arrays[f"{side} score residual"].values)) < 1e-4
        effects, difference = (arrays[f"{side} {name}"].values for name in ("direct effects", "difference"))
        assert float(effects.sum()) == pytest.approx(float(difference), abs=1e-4)
        assert float(arrays[f"{side} accumulated"].values[-1]) == pytest.approx(float(difference), abs=1e-4)
        assert float(arrays[f"{side} lens"].values[-1]) == pytest.approx(float(difference), abs=1e-4)


@pytest.mark.parametrize("kind", ["gemma2-like", "llama-like", "neox-like"])
def test_files_tell_what_soft_caps_make_and_list_no_bias_that_a_model_lacks(kind: str, tmp_path: Path) -> None:
    model = open_tiny(kind, tmp_path / kind)
    selection = chosen(str(tmp_path / kind), prompt="one two three one", heads=((1, 2),), queries=(4,), keys=(2,))
    comparison = Comparison(run_prompt(model, "one two three one"))
    data = WHY.data(comparison, selection)
    with torch.inference_mode():
        logits, cache = model.run_with_cache(comparison.a.tokens[None])
    ids = [data.shows[name]["token id"] for name in ("target", "distractor")]
    truth = {"score": cache["attn_scores", 1][0, 2, 4, 2], "target − distractor": logits[0, -1][ids].diff()[0].neg()}
    cell = dict(zip(data.tables["cell"]["quantity"], data.tables["cell"]["value"], strict=True))
    for name, value in truth.items():
        assert cell[name] == pytest.approx(float(value), abs=1e-4), name  # float32 of size 10
    parts, score = (data.arrays[f"A {name}"].values for name in ("score parts", "score"))
    capped = kind == "gemma2-like"
    cap = model.cfg.attn_scores_soft_cap or 1.0
    before = cap * float((truth["score"].double() / cap).atanh()) if capped else float(truth["score"])
    assert float(parts.sum()) == pytest.approx(before, abs=1e-3)  # near its end the cap is steep
    assert float(score) == pytest.approx(before, abs=1e-3)
    said = style.file(lambda: WHY.picture(comparison, selection, LIGHT), LIGHT, "svg"), WHY.page(comparison, selection)
    assert ("before the soft cap" in " ".join(texts(said[0]))) == (b"before the soft cap" in said[1]) == capped
    assert ("A score behind the soft cap" in data.arrays) == capped
    listed = {*data.tables["effects"]["part"], *data.tables["score"]["query's part"]}
    has = {  # by the parameters that there are: tiny models have no unembedding's bias
        "final LayerNorm's bias": kind == "neox-like",
        "LayerNorm's bias": kind == "neox-like",
        "query's bias b_Q": True,
    }
    for name, is_there in has.items():
        assert (name in listed) == is_there, name


def test_the_same_numbers_give_the_same_bytes(two: Comparison, folder: str) -> None:
    selection = chosen(folder, prompt_b=OTHER)
    made = [(archive(two, WHY.data(two, selection)), WHY.page(two, selection)) for _ in range(2)]
    assert made[0] == made[1]


def test_tokens_stay_text_in_the_picture(alone: Comparison, folder: str) -> None:
    """Dollars are no mathematics, angle brackets no markup: warnings are errors."""
    selection = chosen(folder, target="</script>"[:2], distractor="$")
    svg = style.file(lambda: WHY.picture(alone, selection, LIGHT), LIGHT, "svg")
    assert any("</ − $" in text for text in texts(svg))


def test_a_cell_above_the_diagonal_gives_empty_files(alone: Comparison, folder: str) -> None:
    selection = chosen(folder, queries=(2,), keys=(5,))
    assert WHY.data(alone, selection).tables["score"]["score"] == []
    assert style.file(lambda: WHY.picture(alone, selection, LIGHT), LIGHT, "svg")
    assert alone.a.source.sha256.encode() in WHY.page(alone, selection)


def test_a_comparison_is_drawn_dark_as_pixels(two: Comparison, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "DPI", 50)  # quick to draw
    png = style.file(lambda: WHY.picture(two, chosen(folder, prompt_b=OTHER), DARK), DARK, "png")
    assert png.startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_tells_its_numbers_and_names_nothing_outside_itself(
    browser: Browser, tmp_path: Path, alone: Comparison, folder: str
) -> None:
    selection = chosen(folder, queries=(QUERY,), keys=(KEY,))
    content = WHY.page(alone, selection)
    text = re.sub(r'(?<=id="data">)[A-Za-z0-9+/=]+', "", content.decode())
    assert not re.findall(r"https?:|//[a-z]|\bsrc=|\bhref=|@import|url\(|\bfetch\(|\u2028", text)
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(content)
    score = page.get_by_role("application", name=re.compile("^part of the score"))
    score.focus()
    page.keyboard.press("ArrowDown")
    expected = WHY.data(alone, selection).tables["score"]["score"]
    tooltip = score.page.locator(".tooltip:popover-open dd").last.inner_text().replace("−", "-")
    assert np.isclose(np.array(expected, float), float(tooltip), rtol=1e-3).any()  # four digits are shown
    expect(page.get_by_text("edge cut, row renormalised")).to_be_visible()
    assert not opened.complaints
    page.context.close()
