"""What can be taken along of the page *Features*: the script prints its numbers, and no text becomes markup."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from headlight.app.exports import style
from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.features import EXPORT
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.registry import VIEWS
from headlight.app.runs import comparisons
from headlight.model.runs.edits import EditFeature
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.exports.test_documents import Opened
from tests.app.pages.features.conftest import HOOK
from tests.app.pages.test_architectures import OTHER as SHORTER
from tests.app.pages.test_architectures import PROMPT
from tests.saved_dictionary import save_dictionary
from tests.tiny import KINDS, SIZES, save_tiny

CASES: list[dict[str, object]] = [
    {"dictionary": "sae", "feature": (1, 7), "position": 5},
    {"dictionary": "transcoders", "feature": (2, 3), "prompt_b": OTHER},
    {"dictionary": "behind", "feature": (2, 3)},
    {"dictionary": "sae", "feature": (1, 7), "features_by": "effect", "target": "one", "distractor": " two"},
    {"dictionary": "sae", "edits": (EditFeature("sae", HOOK, 7, "clamp", 3.0), EditFeature("sae", HOOK, 9))},
]


@pytest.mark.parametrize("fields", CASES)
def test_the_script_prints_the_pages_numbers(fields: dict[str, object], folder: str, saved: Path) -> None:
    selection = chosen(folder, **fields)
    comparison = comparisons.for_selection(selection)
    compare(run_here(EXPORT.script(comparison, selection)), EXPORT, fields, folder)
    assert archive(comparison, EXPORT.data(comparison, selection)) == archive(
        comparison, EXPORT.data(comparison, selection)
    )


def test_a_script_of_another_page_makes_the_edits_of_features(folder: str, saved: Path) -> None:
    fields = CASES[-1]
    selection = chosen(folder, **fields)
    script = RESIDUAL.script(comparisons.for_selection(selection), selection)
    assert "dictionaries={'sae': open_dictionary(" in script
    compare(run_here(script), RESIDUAL, fields, folder)


def test_the_parts_of_the_table_add_up_to_the_activation(folder: str, saved: Path) -> None:
    selection = chosen(folder, **CASES[0])
    tables = EXPORT.data(comparisons.for_selection(selection), selection).tables
    rows = zip(
        tables["features"]["feature"], tables["features"]["place"], tables["features"]["activation"], strict=True
    )
    activation = {(feature, place): value for feature, place, value in rows}.get((7, 5), 0.0)
    total = sum(value for value in tables["made by"]["activation"] if isinstance(value, float))
    assert max(total, 0.0) == pytest.approx(activation, abs=1e-5)  # sums of 40 products of float32


def test_picture_and_page_hold_the_features_and_no_markup(folder: str, saved: Path) -> None:
    for fields in CASES[:2]:
        selection = chosen(folder, **fields)
        comparison = comparisons.for_selection(selection)
        picture = style.file(lambda f=comparison, s=selection: EXPORT.picture(f, s, LIGHT), LIGHT, "svg").decode()
        assert "Features of blocks" in picture
        page = EXPORT.page(comparison, selection).decode()
        outside = re.sub(r'(?<=id="data">)[A-Za-z0-9+/=]+', "", page)
        assert not re.findall(r"https?:|\bsrc=|\bhref=|@import|url\(|\bfetch\(|<b>", outside)


@pytest.mark.thorough
def test_the_file_colours_the_tokens_without_a_server(
    folder: str, saved: Path, browser: Browser, tmp_path: Path
) -> None:
    selection = chosen(folder, **CASES[1])
    opened = Opened(browser, tmp_path / "page.html")
    page = opened.open(EXPORT.page(comparisons.for_selection(selection), selection))
    lines = page.get_by_role("listbox", name=re.compile("Tokens, coloured by Feature 3"))
    expect(lines).to_have_count(3)  # A, B and B - A
    coloured = lines.first.locator(".chip").evaluate_all("all => all.map(each => each.style.background)")
    active = EXPORT.data(comparisons.for_selection(selection), selection).tables["features"]
    own = set(zip(active["run"], active["feature"], active["place"], strict=True))
    assert [bool(each) for each in coloured] == [("A", 3, place) in own for place in range(len(coloured))]
    lines.first.locator(".chip").first.hover()
    expect(page.locator(".tooltip:popover-open")).to_contain_text("token 0")
    lines.first.press("ArrowLeft")  # from the chosen one
    chosen_place = EXPORT.data(comparisons.for_selection(selection), selection).shows["looked at place"]
    expect(page.locator(".tooltip:popover-open")).to_contain_text(f"token {chosen_place - 1}")
    opened.page.context.close()
    assert not opened.complaints


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_features_of_every_kind_of_model_are_shown(kind: str, tmp_path: Path, settings: dict[str, object]) -> None:
    from tests.app.pages.test_sides import page

    save_tiny(kind, tmp_path / kind)
    save_dictionary(tmp_path / "d", HOOK, SIZES["d_model"])
    settings["model"] = model = str(tmp_path / kind)
    for more in ({}, {"prompt_b": SHORTER}):
        fields = {"model": model, "prompt": PROMPT, "dictionary": str(tmp_path / "d"), **more}
        selection = chosen(model, **fields)
        comparison = comparisons.for_selection(selection)
        assert not next(view for view in VIEWS if view.slug == "features").needs(comparison)
        for table in (False, True):
            at = page("features", comparison, table=table, **fields)
            assert not at.exception
        assert archive(comparison, EXPORT.data(comparison, selection))
        assert EXPORT.picture(comparison, selection, LIGHT)
        assert EXPORT.page(comparison, selection)
        assert EXPORT.script(comparison, selection)
