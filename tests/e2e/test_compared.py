"""Every page with an A and a B and something chosen: in every window, in somebody else's, and as files."""

import io
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from headlight.app.frame.view import View
from headlight.app.registry import VIEWS
from tests.e2e.driver import PROMPTED_VIEWS, Driver
from tests.e2e.fitting import check_first_screen, check_fits_every_window
from tests.e2e.screenshots import compared

CHOSEN = {
    "attention": {"heads": "2.1 0.3", "queries": "9", "keys": "3", "show": "write", "side": "b", "sort": "divergence"},
    "inside": {"heads": "2.1", "queries": "9", "keys": "3", "component": "5", "convention": "column", "side": "b"},
    "why": {"heads": "2.1", "position": "9", "keys": "3", "target": " John", "distractor": " Mary", "side": "b"},
    "residual": {"position": "4"},
    "lens": {"layer": "2", "position": "6", "measure": "entropy", "target": " John", "lens": "tuned"},
    "flow": {"position": "12", "flow_threshold": "0.06", "flow_chosen": "3 12 0"},
    "mlp": {"neuron": "2.5", "position": "9", "neurons_by": "gradient", "neurons_layer": "2", "target": " John"},
    "features": {"feature": "2.5", "position": "9", "features_by": "effect"},
    "graph": {"position": "9", "graph_nodes": "0.5", "graph_node": "1_-11_9", "graph_against": "mean"},
    "generate": {"heads": "2.1", "n_new": "6", "temperature": "0.5", "top_k": "20", "seed": "3", "step": "2"},
    "patching": {"patch_map": "resid_pre", "patch_into": "B", "target": " John", "distractor": " Mary"},
    "experiments": {"exp_measure": "patching", "exp_interval": "t"},
    "directions": {"dir_layer": "2", "dir_toward": "singular", "dir_factor": "-0.75", "position": "4"},
    "heads": {"finder_score": "previous_token", "finder_top": "3", "finder_count": "4", "finder_half": "9"},
    "weights": {"heads": "1.1", "circuit": "ov", "circuit_token": " fox"},
    "corpus": {"heads": "1.1 0.1", "corpus_by": "prev_token_score", "corpus_across": "qk_distance", "sequence": "1"},
    "prompts": {"statistic": "entropy", "statistic_head": "1.3"},
}
ELSE = {"align": "position", "bos": "0"}  # than it is where nothing was chosen
# Pages whose picture stands elsewhere, or a line lower, for these choices; test_first_screen.py has them without.
MOVED_BY_CHOICE = ("inside", "why", "flow")
NAMED = {"lens": "tuned_lens"}  # files that are not called after their page
TABLES_OF_NO_PROMPT = {
    "heads": "scores.csv",
    "weights": "directions.csv",
    "corpus": "figures.csv",
    "experiments": "cells.csv",
    "directions": "projection.csv",
}
PICTURES = ("svg", "pdf", "png")  # seconds each: all are drawn of every comparison in the tests of exports


@pytest.mark.parametrize("view", PROMPTED_VIEWS, ids=lambda view: view.slug)
def test_a_comparison_fits_every_window_opens_elsewhere_and_can_be_taken_along(
    app: Driver, elsewhere: Driver, view: View
) -> None:
    sides = compared(view)
    if view.slug == "prompts":
        app.clear()  # it lists what the session has run
    app.open(view, **sides | ELSE | CHOSEN[view.slug])
    _check_link(app, elsewhere, CHOSEN[view.slug])
    if view.slug in MOVED_BY_CHOICE:
        check_fits_every_window(app)
    else:
        check_first_screen(app, view, "compared")
    _check_files(app, view, sides)


def _check_link(app: Driver, elsewhere: Driver, chosen: dict[str, str]) -> None:
    link = app.page.url
    for name, value in chosen.items():
        assert f"{name}={value.replace(' ', '+')}" in link
    elsewhere.page.goto(link)
    elsewhere.becomes(app.picture())
    assert elsewhere.page.url == link


def _check_files(app: Driver, view: View, sides: dict[str, str]) -> None:
    """Every file comes, and is what its ending says."""
    drawn = PICTURES if view is VIEWS[0] else ()
    files = app.take_away(but=set(PICTURES).difference(drawn))
    assert set(files) == {"html", "py", "zip", *drawn}
    assert {ending: file.suggested_filename for ending, file in files.items()} == {
        ending: f"headlight_{NAMED.get(view.slug, view.slug)}.{ending}" for ending in files
    }
    made = {ending: Path(file.path()).read_bytes() for ending, file in files.items()}
    compile(made["py"], "script.py", "exec")
    of_a_model = view.slug in TABLES_OF_NO_PROMPT
    assert (sides.get("model", "mini") if of_a_model else sides["prompt"]) in made["py"].decode()
    with zipfile.ZipFile(io.BytesIO(made["zip"])) as archive:
        table = TABLES_OF_NO_PROMPT.get(view.slug, "prompts.csv" if view.slug == "prompts" else "tokens.csv")
        assert {"about.json", "arrays.npz", table} <= set(archive.namelist())
    assert made["html"].startswith(b"<!doctype html>")
    if drawn:
        assert b"<svg" in made["svg"]
        assert made["png"].startswith(b"\x89PNG")


SWAPPED = {
    "prompt": "When Mary and John went to the shop, John gave a drink to",
    "prompt_b": "When Mary and John went to the shop, Mary gave a drink to",
}


@pytest.mark.parametrize("slug", ["why", "patching", "graph", "mlp"])
def test_the_last_token_has_its_place_on_the_common_axis_as_its_number_on_every_page(app: Driver, slug: str) -> None:
    """Of 15 tokens one, at 10, is another in B: they have a place each, and the last token is the sixteenth."""
    app.open(next(view for view in VIEWS if view.slug == slug), **SWAPPED)
    expect(app.page.get_by_text("15 ␣to").filter(visible=True).first).to_be_visible()
    assert app.page.get_by_text("14 ␣to").count() == 0


BOXES = """all => all.map((each) => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    return [left, right, top, bottom];
})"""


@pytest.mark.parametrize("width", [390, 1440])
def test_what_is_predicted_covers_no_token_that_the_other_prompt_has_behind_the_last(app: Driver, width: int) -> None:
    app.page.set_viewport_size({"width": width, "height": 844})
    app.open(prompt="We found a small", prompt_b="We found a large old")
    tokens = app.page.locator(".joined .chip").evaluate_all(BOXES)
    predicted = app.page.locator(".joined .prediction").evaluate_all(BOXES)
    assert len(predicted) == 2
    for left, right, top, bottom in predicted:
        assert right <= width
        assert not [
            each for each in tokens if each[0] < right and each[1] > left and each[2] < bottom and each[3] > top
        ]
