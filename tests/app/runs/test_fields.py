"""The cells of the attention page, against numpy and sums that must agree."""

from typing import get_args

import numpy as np
import pytest
import torch

from headlight.app.runs import comparisons, thumbnails
from headlight.app.selection import Selection
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, Unit, axis_of
from headlight.model.attention.fields import How, Show
from headlight.model.runs.run import Run

HEAD = (1, 2)
A, B = "one two three unbelievably one two three.", "one two four unbelievably one two three five."
# Float32 sums of at most a hundred weights.
ROUNDING = 1e-5


@pytest.fixture(scope="module")
def pair(folder: str) -> comparisons.Comparison:
    return comparisons.for_selection(Selection(model=folder, prompt=A, prompt_b=B))


def _axis(pair: comparisons.Comparison, unit: Unit = "token") -> Axis:
    return axis_of(pair, unit, "tokens")


def _cells(
    pair: comparisons.Comparison, side: str, show: Show = "weight", sink: str = "keep", unit: Unit = "token"
) -> np.ndarray:
    how = How(show, sink)  # type: ignore[arg-type]
    return fields.on_axis(pair, side, HEAD, how, _axis(pair, unit)).numpy()  # type: ignore[arg-type]


def _of_the_model(run: Run) -> dict[str, np.ndarray]:
    """The head's activations from a run of the library's own."""
    _, cache = run.model.run_with_cache(run.tokens[None])
    layer, head = HEAD
    names = ("pattern", "attn_scores", "result")
    activations = {name: cache[name, layer][0].numpy() for name in names if name != "result"}
    v, W_O = cache["v", layer][0, :, head], run.model.get_parameter(f"blocks.{layer}.attn.W_O")[head]
    return {name: values[head] for name, values in activations.items()} | {
        "writes": (v @ W_O).norm(dim=-1).detach().numpy()
    }


def test_cells_of_a_run_are_those_of_the_model(pair: comparisons.Comparison) -> None:
    own = [place for place in pair.positions(pair.a) if place is not None]
    places = [place for place, position in enumerate(pair.positions(pair.a)) if position is not None]
    expected = _of_the_model(pair.a)
    visible = np.tril(np.ones((len(own), len(own)), dtype=bool))
    by_name: dict[Show, np.ndarray] = {
        "weight": expected["pattern"],
        "score": expected["attn_scores"],
        "write": expected["pattern"] * expected["writes"],
    }
    for show, values in by_name.items():
        cells = _cells(pair, "a", show)[np.ix_(places, places)]
        np.testing.assert_allclose(cells[visible], values[visible], rtol=ROUNDING, atol=ROUNDING)
        assert np.isnan(cells[~visible]).all()


def test_tokens_that_a_run_lacks_have_no_value_there(pair: comparisons.Comparison) -> None:
    only_b = [place for place, kind in enumerate(pair.presence) if kind == "b"]
    assert only_b
    cells = _cells(pair, "a")
    assert np.isnan(cells[only_b]).all()
    assert np.isnan(cells[:, only_b]).all()


@pytest.mark.parametrize("show", ["weight", "disagreement"])
def test_rows_of_a_difference_sum_to_zero(pair: comparisons.Comparison, show: Show) -> None:
    both = [place for place, kind in enumerate(pair.presence) if kind == "both"]
    difference = _cells(pair, "difference", show)
    np.testing.assert_allclose(np.nansum(difference[both], axis=1), 0, atol=ROUNDING)
    alone = [place for place in range(len(difference)) if place not in both]
    assert np.isnan(difference[alone]).all()


def test_a_key_of_one_run_alone_counts_as_no_weight_in_the_other(pair: comparisons.Comparison) -> None:
    last = len(pair.presence) - 1
    for place, kind in enumerate(pair.presence):
        difference = _cells(pair, "difference")[last, place]
        if kind == "b":
            assert difference == _cells(pair, "b")[last, place]
        elif kind == "a":
            assert difference == -_cells(pair, "a")[last, place]


def test_scores_differ_only_where_both_have_one(pair: comparisons.Comparison) -> None:
    difference = _cells(pair, "difference", "score")
    for place, kind in enumerate(pair.presence):
        assert np.isnan(difference[-1, place]) == (kind != "both")


def test_a_renormalised_row_sums_to_one_without_its_first_token(pair: comparisons.Comparison) -> None:
    hidden, renormalised = (_cells(pair, "a", sink=sink) for sink in ("hide", "renormalise"))
    assert np.isnan(hidden[:, 0]).all()
    assert np.isnan(renormalised[:, 0]).all()
    rows = [place for place, kind in enumerate(pair.presence) if kind != "b"][1:]
    np.testing.assert_allclose(np.nansum(renormalised[rows], axis=1), 1, atol=ROUNDING)
    np.testing.assert_allclose(hidden, _cells(pair, "a") + np.where(np.isnan(hidden), np.nan, 0))


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_rows_of_words_and_sentences_still_sum_to_one(pair: comparisons.Comparison, unit: Unit) -> None:
    cells = _cells(pair, "a", unit=unit)
    rows = ~np.isnan(cells).all(axis=1)
    assert len(cells) == len(_axis(pair, unit).labels) < len(pair.labels)
    np.testing.assert_allclose(np.nansum(cells[rows], axis=1), 1, atol=ROUNDING)


@pytest.mark.parametrize("unit", ["word", "sentence"])
def test_of_words_and_sentences_those_to_come_are_masked_and_no_others(
    pair: comparisons.Comparison, unit: Unit
) -> None:
    """A word of three tokens has as many masked cells in itself as it has queries."""
    axis = axis_of(comparisons.Comparison(pair.a), unit, "tokens")
    assert axis.groups[0] is not None
    assert unit == "sentence" or axis.groups[0].bincount().max() >= 3
    cells = fields.on_axis(comparisons.Comparison(pair.a), "a", HEAD, How(), axis).numpy()
    np.testing.assert_array_equal(np.isnan(cells), np.triu(np.ones_like(cells, dtype=bool), k=1))


def test_a_words_label_is_that_of_its_tokens(pair: comparisons.Comparison) -> None:
    alone = comparisons.Comparison(pair.a)
    assert "".join(_axis(alone, "word").labels) == "".join(pair.a.labels)
    assert "".join(_axis(alone, "sentence").labels) == "".join(pair.a.labels).replace("␣", " ")


@pytest.mark.parametrize("show", ["weight", "score", "write", "disagreement"])
def test_thumbnails_keep_the_cell_farthest_from_zero(pair: comparisons.Comparison, show: Show) -> None:
    for side in ("a", "difference"):
        made = thumbnails.thumbnails(pair, side, How(show), _axis(pair))
        cells = _cells(pair, side, show)  # fewer than a thumbnail's pixels: each has its own
        np.testing.assert_array_equal(made.values[HEAD], cells)
        assert made.signed == (side == "difference" or show in ("score", "disagreement"))
        assert made.limit >= np.nanmax(np.abs(made.values)) * (1 - 1e-6)


def test_two_runs_without_a_difference_have_no_scale_of_rounding_errors(folder: str) -> None:
    same = comparisons.for_selection(Selection(model=folder, prompt=A, prompt_b=A))
    for show in get_args(Show):
        made = thumbnails.thumbnails(same, "difference", How(show), _axis(same))
        assert np.nanmax(np.abs(made.values)) <= thumbnails.NOISE
        assert made.limit == 1


def test_a_scale_ends_at_two_digits_that_hold_its_largest_value() -> None:
    ends = {0.2649: 0.27, 0.26: 0.26, 19.2: 20, 0.0123: 0.013, 3.71: 3.8, 100.1: 110, 1e-5: 1, 0.0: 1}
    assert {largest: thumbnails.scale_end(largest) for largest in ends} == ends


def test_divergence_is_zero_for_the_same_prompt_and_not_for_another(folder: str, pair: comparisons.Comparison) -> None:
    same = comparisons.for_selection(Selection(model=folder, prompt=A, prompt_b=A))
    assert fields.divergence(same, _axis(same)).values.abs().max() == 0
    apart = fields.divergence(pair, _axis(pair)).values
    assert apart.shape == (pair.n_layers, pair.n_heads)
    assert (apart > 0).all()
    assert (apart < np.log(2)).all()


def test_divergence_against_kullback_leibler_of_torch(pair: comparisons.Comparison) -> None:
    a, b = (np.nan_to_num(_cells(pair, side)) for side in ("a", "b"))
    rows = [place for place, kind in enumerate(pair.presence) if kind == "both"]
    p, q = (torch.from_numpy(cells[rows]).double() for cells in (a, b))
    middle = (p + q) / 2
    halves = [torch.special.xlogy(each, each / middle).nan_to_num().sum(-1) for each in (p, q)]
    expected = (sum(halves) / 2).mean().item()
    # Differences of float32 entropies of about 2 nats.
    assert fields.divergence(pair, _axis(pair)).values[HEAD].item() == pytest.approx(expected, abs=1e-5)


def test_a_head_is_most_like_itself(pair: comparisons.Comparison) -> None:
    apart = fields.alike(pair.a, HEAD).values
    assert divmod(int(apart.argmin()), pair.n_heads) == HEAD
    chosen = [(0, 0), HEAD, (2, 1)]
    among = fields.apart(pair.a, chosen).values
    np.testing.assert_allclose(among[1], [apart[head] for head in chosen], atol=1e-6)
    np.testing.assert_allclose(among, among.T, atol=1e-6)


def test_largest_write_is_that_of_the_cells(pair: comparisons.Comparison) -> None:
    assert fields.largest_write(pair.a, HEAD) == pytest.approx(np.nanmax(_cells(pair, "a", "write")), rel=1e-6)


def test_a_word_whose_characters_are_split_between_tokens_is_shown_whole(folder: str) -> None:
    comparison = comparisons.for_selection(Selection(model=folder, prompt="one שלום", bos=False))
    assert any("<0x" in label for label in comparison.labels)
    assert _axis(comparison, "word").labels[-1].endswith("שלום")
