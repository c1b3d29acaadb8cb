"""The page of patches: maps in pieces, what is asked, what is refused, and the files."""

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch

from app import patching, runs, shown
from app.exports.export import PATCHING
from app.exports.pictures import style
from app.patching import PATHS
from app.selection import Selection
from app.selection.chosen import PatchMap
from app.shown import Shown
from app.views.patches import (
    asked_of,
    finished,
    lacking,
    pair,
    patched_of,
    position_of,
    table,
)
from model.errors import InputError
from model.patching import LogitDifference, Patching, patching_map, path_map
from tests.app.exports.test_code import compare, run_here
from tests.model.conftest import unchecked_annotations

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way
A = "one two three one four"
B = "one six three one two"
MAPS: tuple[PatchMap, ...] = get_args(PatchMap)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Annotations are not checked while a test runs."""
    with unchecked_annotations():
        yield


def chosen(folder: str, **fields: object) -> Selection:
    """A and B of as many tokens."""
    return Selection(**{"model": folder, "prompt": A, "prompt_b": B, "align": "position", **fields})  # type: ignore[arg-type]


def of(folder: str, **fields: object) -> tuple[Shown, Selection]:
    """What is shown, and what was chosen."""
    selection = chosen(folder, **fields)
    return shown.of(selection), selection


@pytest.mark.parametrize("which", MAPS)
@pytest.mark.parametrize("into", ["A", "B"])
def test_a_map_in_pieces_is_the_librarys(
    which: PatchMap, into: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patching, "PIECE_SECONDS", 1e-5)
    found, selection = of(folder, patch_map=which, patch_into=into, patch_layer=1, patch_head=(2, 3))
    asked = asked_of(found, selection)
    pieces = patching.pieces_of(asked, found.a)
    assert len(pieces) > 1
    assert [piece.start for piece in pieces] == [0, *(piece.stop for piece in pieces[:-1])]
    exact = finished(found, selection).exact
    assert found.b is not None
    both = [run.tokens[None] for run in found.runs]
    difference = LogitDifference(asked.target, asked.distractor, asked.position)
    library = Patching(found.a.model, *both, difference, asked.into)
    if which in PATHS:
        expected = path_map(library, (2, 3), PATHS[which])
    else:
        expected = patching_map(library, patching.KINDS[which], layer=1)
    # the same products over other heights, in float32, of shares of size 1
    np.testing.assert_allclose(exact.values, expected.values.numpy(), atol=2e-4)
    assert exact.values.shape == (len(exact.rows), len(exact.columns))


def test_a_map_is_shown_as_far_as_it_is_done(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patching, "PIECE_SECONDS", 1e-5)
    found, selection = of(folder, prompt=f"{A} six", prompt_b=f"{B} six", patch_map="attn_out")
    asked = asked_of(found, selection)
    before = patched_of(found, selection)
    assert np.isnan(before.exact.values).all()
    assert before.order == []
    first, *rest = patching.pieces_of(asked, found.a)
    assert not patching.is_done(first)
    patching.do(first)
    assert patching.is_done(first)
    part = patched_of(found, selection)
    assert np.isfinite(part.exact.values).sum() == first.stop
    assert not part.complete
    for piece in rest:
        patching.do(piece)
    assert patched_of(found, selection).complete


def test_the_strongest_cells_come_first_from_either_side(folder: str) -> None:
    for into, unpatched in (("A", 0), ("B", 1)):
        found = finished(*of(folder, patch_into=into))
        moved = [abs(share - unpatched) for share in table(found)["share"]]  # type: ignore[operator]
        assert moved == sorted(moved, reverse=True)
        assert len(table(found, 4)["share"]) == 4


def test_the_estimate_stands_beside_the_map_with_its_rank_correlation(folder: str) -> None:
    found = finished(*of(folder, patch_estimate=True))
    assert found.estimate is not None
    assert found.agreement is not None
    ranks = [each.values.ravel().argsort().argsort() for each in (found.exact, found.estimate)]
    assert found.agreement == pytest.approx(np.corrcoef(*ranks)[0, 1])  # without ties Spearman is Pearson of the ranks
    assert "estimate" in table(found)
    assert finished(*of(folder, patch_estimate=True, patch_map="path_q")).estimate is None


def test_the_question_is_what_a_and_what_b_say_unless_another_is_typed() -> None:
    prompts = (f"When Mary and John went to the shop, {giver} gave a drink to" for giver in ("John", "Mary"))
    found, selection = of("mini", **dict(zip(("prompt", "prompt_b"), prompts, strict=True)))
    token = found.a.tokenizer.to_single_token
    asked = asked_of(found, selection)
    assert (asked.target, asked.distractor) == (token(" Mary"), token(" John"))
    typed = pair(found, replace(selection, target=" cat", distractor=" dog"))
    assert (typed.target, typed.distractor) == (token(" cat"), token(" dog"))
    assert position_of(found, selection) == len(found.a.tokens) - 1
    earlier = asked_of(found, replace(selection, position=2))
    assert earlier.position == 2
    assert patching.cells_of(replace(earlier, map="resid_pre"), found.a).shape == (4, 3)


def test_the_last_position_is_measured_even_where_the_last_tokens_differ(folder: str) -> None:
    """Laid side by side by their tokens, the last place that both have is an earlier one, and there they agree."""
    found, selection = of(folder, prompt="one two three", prompt_b="one two four", align="tokens")
    assert asked_of(found, selection).position == len(found.a.tokens) - 1
    assert finished(found, selection).complete


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"prompt_b": None}, "Compare A | B"),
        ({"prompt_b": "one two"}, "A has 6 tokens and B 3"),
        ({"model_b": "mini"}, "runs of two models"),
    ],
)
def test_runs_that_cannot_be_patched_say_what_is_missing(fields: dict[str, object], told: str, folder: str) -> None:
    found, selection = of(folder, **fields)
    assert told in lacking(found)
    with pytest.raises(InputError, match=told.replace("|", r"\|")):
        asked_of(found, selection)


def test_the_same_prompt_twice_leaves_nothing_to_share(folder: str) -> None:
    found, selection = of(folder, prompt_b=A)
    with pytest.raises(InputError, match="there is no share of it"):
        patched_of(found, selection)


def test_a_map_that_would_not_fit_is_refused(settings: dict[str, object], folder: str) -> None:
    found, selection = of(folder)
    asked = asked_of(found, selection)
    patching.patching_of(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patching, "_at_once", lambda: 1000)
        with pytest.raises(InputError, match="Shorten the prompts or allow more"):
            patching.pieces_of(asked, found.a)


CASES = [
    {},
    {"patch_map": "resid_pre", "patch_into": "B", "patch_estimate": True},
    {"patch_map": "z_by_position", "patch_layer": 1, "position": 3},
    {"patch_map": "path_k", "patch_head": (2, 1), "patch_mlps": True, "align": "tokens"},
]


@pytest.mark.parametrize("fields", CASES)
def test_a_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    fields = {"prompt": A, "prompt_b": B, "align": "position"} | fields
    found, selection = of(folder, **fields)
    compare(run_here(PATCHING.script(found, selection)), PATCHING, fields, folder)


@pytest.mark.parametrize("fields", CASES)
def test_data_picture_and_page_hold_the_map(fields: dict[str, object], folder: str) -> None:
    found, selection = of(folder, **fields)
    data, exact = PATCHING.data(found, selection), finished(found, selection).exact
    assert torch.equal(data.arrays["exact"].values, torch.tensor(exact.values))
    np.testing.assert_array_equal(np.array(data.tables["map"]["share"]), exact.values.ravel())
    drawn = style.file(lambda: PATCHING.draw(found, selection, style.LIGHT), style.LIGHT, "svg").decode()
    assert exact.rows[0] in drawn
    assert b"Patching, " in PATCHING.page(found, selection)


def test_nothing_is_computed_twice(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, selection = of(folder, patch_map="mlp_out")
    finished(found, selection)
    monkeypatch.setattr(runs, "turn", lambda: pytest.fail("the model was run again"))
    assert finished(found, selection).complete
