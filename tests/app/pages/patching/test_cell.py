"""A chosen cell of a map: what it says, and where its links lead."""

import pytest
from streamlit.testing.v1 import AppTest

from headlight.app.components import Column, MapCell, Table
from headlight.app.pages.patching import view
from headlight.app.pages.patching.cell import subject_of
from headlight.app.pages.patching.patches import finished
from headlight.app.runs import comparisons
from headlight.model import load
from headlight.model.patching import KINDS, LogitDifference, Patching, patching_map
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.places import MAIN

pytestmark = pytest.mark.usefixtures("unchecked")  # each cell is a row of a batch
A, B = "one two three one four", "one six three one two"
LONGER = "one the two three one cat four"
SECONDS = 120


def opened(settings: dict[str, object], **parameters: str) -> AppTest:
    page = AppTest.from_file(MAIN, default_timeout=SECONDS)
    for name, value in {"prompt": A, "prompt_b": B, "page": "patching", **parameters}.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception
    return page


def shares(page: AppTest) -> list[str]:
    return [text.value for text in page.text if ": share" in text.value]


def test_the_cell_clicked_in_the_map_says_its_share_and_leads_to_its_head(
    settings: dict[str, object], options: Options, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicked = MapCell(1, 2)
    monkeypatch.setattr(view, "cell_map", lambda *_, **__: clicked)
    page = opened(settings, target=" two", distractor=" cat", align="position")
    model = load(folder)
    tokens = [model.to_tokens(text, prepend_bos=True) for text in (A, B)]
    question = LogitDifference(model.to_single_token(" two"), model.to_single_token(" cat"), tokens[0].shape[1] - 1)
    library = patching_map(Patching(model, *tokens, question, "A"), KINDS["z"])
    (text,) = shares(page)
    name, _, share = text.partition(": share ")
    assert name == "L1H2"
    # four digits, of the library's share by batches of other heights
    assert float(share.replace("−", "-")) == pytest.approx(float(library.values[clicked]), rel=1e-3, abs=1e-4)
    options.change(page, "why", None)
    assert page.query_params["page"] == "why"
    assert page.query_params["heads"] == "1.2"
    assert page.query_params["queries"] == str(tokens[0].shape[1] - 1)


def test_a_row_of_the_largest_effects_chooses_its_cell_which_can_be_ablated(
    settings: dict[str, object], options: Options, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Sequence[Column]] = []

    def second_row(table: Table, **_: object) -> int | None:
        drawn.append(table.columns)
        return 1 if len(table.columns[0].cells) > 1 else None

    monkeypatch.setattr(view, "row_table", second_row)
    page = opened(settings)
    head, share = (str(column.cells[1]) for column in drawn[-1])
    (text,) = shares(page)
    assert text.startswith(f"{head}: share")
    assert float(text.rpartition(" ")[2].replace("−", "-")) == pytest.approx(float(share), rel=1e-3)  # four digits
    options.change(page, "patched_ablate", None)
    assert "prompt_b" not in page.query_params
    assert head.replace("L", "").replace("H", ".") in page.query_params["edits"]


@pytest.mark.parametrize(("which", "depth"), [("resid_pre", 1), ("attn_out", 2), ("mlp_out", 2)])
def test_a_cell_of_a_position_leads_to_the_stream_there(
    which: str, depth: int, settings: dict[str, object], options: Options, folder: str
) -> None:
    """Depth 0 is the embedding: what layer 1 reads is depth 1, and what it has written stands in depth 2."""
    page = opened(settings, patch_map=which, patch_cell="1.3", align="position")
    (text,) = shares(page)
    assert text.startswith("L1 at 3")
    options.change(page, "lens", None)
    assert page.query_params["page"] == "lens"
    assert (page.query_params["layer"], page.query_params["position"]) == (str(depth), "3")


@pytest.mark.parametrize("into", ["A", "B"])
def test_the_place_is_that_of_the_patched_runs_token_where_the_prompts_differ_in_length(into: str, folder: str) -> None:
    now = selection_of(
        model=folder, prompt=A, prompt_b=LONGER, patch_map="z_by_position", patch_layer=2, patch_into=into
    )
    both = comparisons.for_selection(now)
    run = both.runs["AB".index(into)]
    result = finished(both, now)
    for position in range(result.exact.values.shape[1]):
        subject = subject_of(both, result, MapCell(1, position))
        assert subject.head == (2, 1)
        assert both.positions(run)[subject.place] == position


def test_a_link_with_a_cell_that_the_map_lacks_shows_the_map(settings: dict[str, object], options: Options) -> None:
    page = opened(settings, patch_cell="90.0")
    assert shares(page) == []
    assert any("Click a cell" in caption.value for caption in page.caption)
