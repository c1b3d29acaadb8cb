"""The page of patches: maps in pieces, what is asked, what is refused, and the files."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from headlight.app.exports import style
from headlight.app.pages.patching import EXPORT as PATCHING
from headlight.app.pages.patching import exports, view
from headlight.app.pages.patching.choices import Choices
from headlight.app.pages.patching.patches import (
    finished,
    maps_of,
    measured_at,
    obstacle,
    pair,
    patched_of,
    question_of,
    said_of_b,
    table,
)
from headlight.app.pages.patching.view import patch_map
from headlight.app.runs import comparisons, patching, runs
from headlight.app.runs import jobs as jobs_module
from headlight.app.runs.jobs import Jobs
from headlight.app.selection import Selection
from headlight.model import load, save_gpt2
from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import NO_TAP, Chain
from headlight.model.nn.hooks import Edit as Hooks
from headlight.model.patching import KINDS, PATHS, LogitDifference, Parts, Patching, PatchMap, patching_map, path_map
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, Drop, Edit, Head, Patch, Steer
from tests.app.choosing import selection_of
from tests.app.exports.test_code import compare, run_here
from tests.app.pages.test_sides import page
from tests.model.runs.test_masked_runs import CONFIGS, saved

pytestmark = pytest.mark.usefixtures("unchecked")  # of the batch, which grows on the way
A = "one two three one four"
B = "one six three one two"
LONGER = "one the two three one cat four"
EDITS = (AblateHeads(((0, 1), (1, 2)), "mean", over=("one two", "six")), Steer(1, "one", "two", 1.5, (3,)))
MAPS: tuple[PatchMap, ...] = get_args(PatchMap)


def chosen(folder: str, **fields: object) -> Selection:
    """A and B of as many tokens."""
    return selection_of(**{"model": folder, "prompt": A, "prompt_b": B, "align": "position", **fields})


def runs_for(folder: str, **fields: object) -> tuple[Comparison, Selection]:
    """What is shown, and what was chosen."""
    selection = chosen(folder, **fields)
    return comparisons.for_selection(selection), selection


def test_a_masked_tokens_prediction_is_measured_where_it_is(tmp_path: Path) -> None:
    saved(CONFIGS["bert"], tmp_path)
    runs, now = runs_for(str(tmp_path), prompt="the [MASK] sat on the mat", prompt_b="the cat sat [MASK] the mat")
    assert measured_at(runs, now) == (2, 4)


@pytest.mark.parametrize("which", MAPS)
@pytest.mark.parametrize("into", ["A", "B"])
def test_a_map_in_pieces_is_the_librarys(
    which: PatchMap, into: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patching, "PIECE_SECONDS", 1e-5)
    comparison, selection = runs_for(folder, patch_map=which, patch_into=into, patch_layer=1, patch_head=(2, 3))
    question = question_of(comparison, selection)
    pieces = patching.pieces_of(question)
    assert len(pieces) > 1
    in_place = sorted(pieces, key=lambda piece: piece.start)
    assert [piece.start for piece in in_place] == [0, *(piece.stop for piece in in_place[:-1])]
    exact = finished(comparison, selection).exact
    assert comparison.b is not None
    both = [run.tokens[None] for run in comparison.runs]
    difference = LogitDifference(question.measured.target, question.measured.distractor, question.measured.position)
    library = Patching(comparison.a.model, *both, difference, question.into)
    if which in PATHS:
        expected = path_map(library, (2, 3), PATHS[which])
    else:
        expected = patching_map(library, KINDS[which], layer=1)
    # the same products over other heights, in float32, of shares of size 1
    np.testing.assert_allclose(exact.values, expected.values.numpy(), atol=2e-4)
    assert exact.values.shape == (len(exact.rows), len(exact.columns))


def test_a_map_is_shown_as_far_as_it_is_done(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patching, "PIECE_SECONDS", 1e-5)
    comparison, selection = runs_for(folder, prompt=f"{A} six", prompt_b=f"{B} six", patch_map="attn_out")
    question = question_of(comparison, selection)
    before = patched_of(comparison, selection)
    assert not before.complete
    assert np.isnan(before.exact.values).all()
    assert before.order == []
    first, *rest = patching.pieces_of(question)
    assert not patching.is_done(first)
    patching.do(first)
    assert patching.is_done(first)
    part = patched_of(comparison, selection)
    assert np.isfinite(part.exact.values).sum() == first.stop - first.start
    assert np.isfinite(part.exact.values[-1]).any()  # the last layer, from which on the least is computed
    assert not part.complete
    for piece in rest:
        patching.do(piece)
    assert patched_of(comparison, selection).complete


def test_the_strongest_cells_come_first_from_either_side(folder: str) -> None:
    for into, unpatched in (("A", 0), ("B", 1)):
        result = finished(*runs_for(folder, patch_into=into))
        moved = [abs(share - unpatched) for share in table(result)["share"]]  # type: ignore[operator]
        assert moved == sorted(moved, reverse=True)
        assert len(table(result, 4)["share"]) == 4


def test_the_estimate_stands_beside_the_map_with_its_rank_correlation(folder: str) -> None:
    result = finished(*runs_for(folder, patch_estimate=True))
    assert result.estimate is not None
    assert result.agreement is not None
    ranks = [each.values.ravel().argsort().argsort() for each in (result.exact, result.estimate)]
    assert result.agreement == pytest.approx(np.corrcoef(*ranks)[0, 1])  # without ties Spearman is Pearson of the ranks
    assert "estimate" in table(result)
    assert finished(*runs_for(folder, patch_estimate=True, patch_map="path_q")).estimate is None


def test_the_question_is_what_a_and_what_b_say_unless_another_is_typed() -> None:
    prompts = (f"When Mary and John went to the shop, {giver} gave a drink to" for giver in ("John", "Mary"))
    comparison, selection = runs_for("mini", **dict(zip(("prompt", "prompt_b"), prompts, strict=True)))
    token = comparison.a.tokenizer.to_single_token
    question = question_of(comparison, selection)
    assert (question.measured.target, question.measured.distractor) == (token(" Mary"), token(" John"))
    typed = pair(comparison, replace(selection, target=" cat", distractor=" dog"))
    assert (typed.target, typed.distractor) == (token(" cat"), token(" dog"))
    assert measured_at(comparison, selection) == (len(comparison.a.tokens) - 1,) * 2
    earlier = question_of(comparison, replace(selection, position=12))
    assert (earlier.measured.position, earlier.measured.position_b) == (12, 12)
    assert patching.cells_of(replace(earlier, parts=Parts("resid_pre"))).grid.shape == (4, 13)


def test_the_last_position_is_measured_even_where_the_last_tokens_differ(folder: str) -> None:
    """Laid side by side by their tokens, the last place that both have is an earlier one, and there they agree."""
    comparison, selection = runs_for(folder, prompt="one two three", prompt_b="one two four", align="tokens")
    assert question_of(comparison, selection).measured.position == len(comparison.a.tokens) - 1
    assert finished(comparison, selection).complete


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt_b": None}, "Compare A | B"),
        ({"prompt_b": "red red", "bos": False, "align": "tokens"}, "None of A's 5 tokens is matched"),
        ({"model_b": "mini"}, "different shapes (n_layers is 3 and 4)"),
    ],
)
def test_runs_that_cannot_be_patched_say_what_is_missing(fields: dict[str, object], message: str, folder: str) -> None:
    comparison, selection = runs_for(folder, **fields)
    assert message in obstacle(comparison, selection)
    with pytest.raises(InputError, match=re.escape(message)):
        question_of(comparison, selection)


def test_the_same_prompt_twice_leaves_nothing_to_share(folder: str) -> None:
    comparison, selection = runs_for(folder, prompt_b=A)
    with pytest.raises(InputError, match="there is no share of it"):
        patched_of(comparison, selection)


def test_a_map_that_would_not_fit_is_refused(settings: dict[str, object], folder: str) -> None:
    comparison, selection = runs_for(folder)
    question = question_of(comparison, selection)
    patching.patching_of(question)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patching, "_at_once", lambda: 1000)
        with pytest.raises(InputError, match="Shorten the prompts or allow more"):
            patching.pieces_of(question)


CASES = [
    {},
    {"patch_map": "resid_pre", "patch_into": "B", "patch_estimate": True},
    {"patch_map": "z_by_position", "patch_layer": 1, "position": 3},
    {"patch_map": "path_k", "patch_head": (2, 1), "patch_mlps": True, "align": "tokens"},
    {"prompt_b": LONGER, "patch_map": "resid_pre", "align": "tokens", "patch_estimate": True},
    {"prompt_b": LONGER, "patch_map": "z_by_position", "patch_into": "B", "patch_layer": 0},
    {"prompt_b": None, "edits": EDITS, "patch_map": "attn_out", "patch_into": "B", "patch_estimate": True},
    {"prompt_b": None, "edits": EDITS, "patch_map": "path_v", "patch_head": (2, 1)},
]


@pytest.mark.parametrize("fields", CASES)
def test_a_script_prints_the_pages_numbers(fields: dict[str, object], folder: str) -> None:
    fields = {"prompt": A, "prompt_b": B, "align": "position"} | fields
    comparison, selection = runs_for(folder, **fields)
    compare(run_here(PATCHING.script(comparison, selection)), PATCHING, fields, folder)


@pytest.mark.parametrize("fields", CASES)
def test_data_picture_and_page_hold_the_map(fields: dict[str, object], folder: str) -> None:
    comparison, selection = runs_for(folder, **fields)
    data, exact = PATCHING.data(comparison, selection), finished(comparison, selection).exact
    torch.testing.assert_close(data.arrays["exact"].values, torch.tensor(exact.values), rtol=0, atol=0, equal_nan=True)
    np.testing.assert_array_equal(np.array(data.tables["map"]["share"], dtype=float), exact.values.ravel())
    drawn = style.file(lambda: PATCHING.picture(comparison, selection, style.LIGHT), style.LIGHT, "svg").decode()
    assert exact.rows[0] in drawn
    assert b"Patching, " in PATCHING.page(comparison, selection)


@pytest.mark.parametrize(
    ("fields", "receiver"),
    [
        ({"heads": ((1, 2), (2, 0))}, (1, 2)),
        ({"heads": ((0, 1), (2, 3))}, (2, 3)),  # below the first layer there is no head whose path could end in it
        ({"heads": ((1, 2),), "patch_head": (2, 1)}, (2, 1)),
        ({"heads": ((0, 1),)}, (2, 0)),
    ],
)
def test_paths_lead_to_the_head_that_is_looked_at(fields: dict[str, object], receiver: Head, folder: str) -> None:
    comparison, selection = runs_for(folder, patch_map="path_q", **fields)
    assert comparison.a.cfg.n_layers == 3
    assert question_of(comparison, selection).parts.receiver == receiver


@pytest.mark.parametrize(("largest", "limit"), [(0.004, 0.1), (0.7, 0.7)])
@pytest.mark.parametrize("into", ["A", "B"])
def test_shares_that_do_not_matter_have_pale_colours(largest: float, limit: float, into: str, folder: str) -> None:
    """On the page, in a file and in the picture, whose scale is the square root of how far a share is from none."""
    comparison, selection = runs_for(folder, patch_into=into)
    whole = finished(comparison, selection)
    moved = np.full_like(whole.exact.values, -largest / 2)
    moved[0, 0] = largest
    small = replace(whole, exact=replace(whole.exact, values=whole.unpatched + moved))
    assert patch_map(small, small.exact, "share").limits == pytest.approx((0, limit))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exports, "finished", lambda comparison, selection: small)
        figure = PATCHING.picture(comparison, selection, style.LIGHT)
    (norm,) = (image.norm for axes in figure.axes for image in axes.images)
    assert (norm.vmin, norm.vmax) == pytest.approx((-limit, limit))


def test_nothing_is_computed_twice(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison, selection = runs_for(folder, patch_map="mlp_out")
    finished(comparison, selection)
    monkeypatch.setattr(runs, "turn", lambda: pytest.fail("the model was run again"))
    assert finished(comparison, selection).complete


def test_prompts_of_another_length_are_matched_and_the_rest_is_marked(folder: str) -> None:
    """One word of B comes before A's words, and another between them."""
    comparison, selection = runs_for(folder, prompt_b=LONGER, align="tokens", patch_map="resid_pre")
    assert measured_at(comparison, selection) == (5, 7)
    assert "6 of A's 6 positions are matched with B's 8, by tokens; 0 of them" in said_of_b(comparison, selection)[0]
    assert not np.isnan(finished(comparison, selection).exact.values).any()
    into_b = finished(comparison, selection.updated(Choices, patch_into="B"))
    assert into_b.complete
    marked = [name[2] == "+" for name in into_b.exact.columns]
    assert np.isnan(into_b.exact.values).all(0).tolist() == marked
    assert [place for place, lacks in enumerate(marked) if lacks] == [2, 6]
    assert len(into_b.order) == 3 * 6
    by_position = replace(selection, align="position")
    assert "by position" in said_of_b(comparisons.for_selection(by_position), by_position)[0]
    assert finished(comparisons.for_selection(by_position), by_position).exact.columns[2] == "2 ␣two→␣the"


def test_only_a_place_that_is_matched_can_be_measured(folder: str) -> None:
    comparison, selection = runs_for(folder, prompt_b=LONGER, align="tokens")
    places = {name: place for place, name in enumerate(comparison.labels)}
    assert measured_at(comparison, replace(selection, position=places["␣two"])) == (2, 3)
    only_b = next(place for place, kind in enumerate(comparison.presence) if kind == "b")
    assert measured_at(comparison, replace(selection, position=only_b)) == (5, 7)


EDITED: list[Edit] = [
    Drop(1, "MLP"),
    AblateHeads(((0, 1),), "resample", B),
    Patch("blocks.0.hook_resid_post", B, (2, 4)),
]


@pytest.mark.parametrize("into", ["A", "B"])
@pytest.mark.parametrize("edit", EDITED)
def test_a_with_edits_is_patched_as_another_prompt_is(edit: Edit, into: str, folder: str) -> None:
    """Whole runs with hooks: the edits, then one head's z of the other run at all positions."""
    comparison, selection = runs_for(folder, prompt_b=None, edits=(edit,), patch_into=into)
    question, exact = question_of(comparison, selection), finished(comparison, selection).exact
    assert comparison.b is not None
    taps = {"A": NO_TAP, "B": comparison.b.tap}
    model, tokens, name = comparison.a.model, comparison.a.tokens[None], "blocks.1.attn.hook_z"
    kept: dict[str, torch.Tensor] = {}

    def difference(side: str, hook: object) -> float:
        with torch.inference_mode():
            logits = model(tokens, tap=Chain(taps[side], Hooks([((name,), hook)])))[0, -1]  # type: ignore[list-item]
        return float(logits[question.measured.target] - logits[question.measured.distractor])

    def put(z: torch.Tensor, hook: object) -> None:
        z[:, :, 2] = kept["z"][:, :, 2]

    other = "B" if into == "A" else "A"
    ends = {other: difference(other, lambda z, hook: kept.update(z=z)), into: difference(into, lambda z, hook: None)}
    share = (difference(into, put) - ends["A"]) / (ends["B"] - ends["A"])
    rounding = 2e-5 / abs(ends["B"] - ends["A"])  # of float32 logits of size 1
    assert exact.values[1, 2] == pytest.approx(share, abs=rounding)
    assert set(maps_of(comparison, "A")) - set(maps_of(comparison, "B")) == set(PATHS)
    assert "B is A with edits" in said_of_b(comparison, selection)[-1]


def test_another_model_of_the_same_shape_is_patched(folder: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    other = load(folder)
    W_O = other.get_parameter("blocks.1.attn.W_O")
    W_O.data += 0.1 * torch.randn_like(W_O)
    save_gpt2(other, tmp_path / "other")
    for file in Path(folder).glob("tokenizer*.json"):
        shutil.copy(file, tmp_path / "other")
    comparison, selection = runs_for(
        folder, prompt_b=A, model_b=str(tmp_path / "other"), patch_map="attn_out", patch_into="A"
    )
    exact = finished(comparison, selection).exact.values
    assert np.abs(exact[0]).max() < 1e-3  # the first layer is the same in both
    assert np.abs(exact[1]).max() > 1e-2
    assert "B runs on" in said_of_b(comparison, selection)[-1]


def test_what_says_how_far_the_work_is_stands_below_the_map(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above it, the map moved down when it came and up when it went."""
    drawn: list[str] = []
    bar, cells = view.progress.bar, view.cell_map

    def noted_bar(work: Jobs, *names: str) -> None:
        drawn.append("bar" if work.waiting else "")
        bar(work, *names)

    def noted_cells(*args: Any, **named: Any) -> Any:
        drawn.append("map")
        return cells(*args, **named)

    monkeypatch.setattr(view.progress, "bar", noted_bar)
    monkeypatch.setattr(view, "cell_map", noted_cells)
    monkeypatch.setattr(jobs_module, "SLICE_SECONDS", 0)  # a piece at a time
    monkeypatch.setattr(patching, "PIECE_SECONDS", 0)
    page("patching", comparisons.for_selection(chosen(folder)), model=folder, prompt=A, prompt_b=B, align="position")
    assert ["map", "bar"] in [drawn[start : start + 2] for start in range(0, len(drawn), 2)]
