"""What the residual and the lens page show of A, B and B - A, as tables, against the models' own activations."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from headlight.app.pages.inside.choices import query_of
from headlight.app.pages.lens.choices import cell_of as lens_cell_of
from headlight.app.parts import tables
from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import placed, with_difference
from headlight.app.runs import comparisons, runs
from headlight.app.selection import Selection
from headlight.model import Transformer, save_gpt2
from headlight.model.lens import run_lens
from headlight.model.measure.alignment import align_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.conftest import Options
from tests.small_model import CFG

SECONDS = 60  # for one script run on a busy machine


def page(view: str, comparison: Comparison, **chosen: object) -> AppTest:
    """One of the views alone, drawn for these runs and this selection."""

    def script(view: str, runs: object, chosen: dict[str, object]) -> None:  # its text alone is run: no global names
        from importlib import import_module

        from headlight.app import selection
        from tests.app.choosing import selection_of

        if selection.active() is None:
            selection.accept(selection_of(**chosen))
        import_module(f"headlight.app.pages.{view}.view").render(runs)

    at = AppTest.from_function(script, default_timeout=SECONDS, args=(view, comparison, chosen)).run()
    assert not at.exception
    return at


def on_axis(comparison: Comparison, values: torch.Tensor, side: str) -> np.ndarray:
    """[row, pos] on the common axis, place by place."""
    columns = [
        torch.full((len(values),), torch.nan) if position is None else values[:, position]
        for position in comparison.positions(comparison.sides[side])
    ]
    return torch.stack(columns, 1).numpy()


def test_values_are_laid_on_places_and_missing_ones_filled() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(placed(values, (0, None, 1), np.nan), [[1, np.nan, 2], [3, np.nan, 4]])
    np.testing.assert_array_equal(placed(values.astype(int), (None, 1), -1), [[-1, 2], [-1, 4]])
    np.testing.assert_array_equal(values, [[1, 2], [3, 4]])


def test_the_difference_is_of_what_both_have() -> None:
    sides = with_difference({"A": np.ones((3, 2)), "B": np.full((2, 2), 1.5)})
    np.testing.assert_array_equal(sides["B − A"], np.full((2, 2), 0.5))
    assert list(with_difference({"B": np.ones(2)})) == ["B"]


def test_a_map_as_a_table_has_a_row_a_cell_and_nothing_in_layers_that_a_run_lacks() -> None:
    sides = {"A": np.array([[1.0, 2.0], [3.0, 4.0]]), "B": np.array([["x", "y"]], dtype=object)}
    table = tables.of_cells(sides, ["embed", "L0"], ["·a", "·b"])
    assert [list(table[name]) for name in ("Place", "Token", "After layer", "A", "B")] == [
        [0, 0, 1, 1],
        ["·a", "·a", "·b", "·b"],
        ["embed", "L0", "embed", "L0"],
        [1.0, 3.0, 2.0, 4.0],
        ["x", None, "y", None],
    ]


def test_norms_of_two_runs_stand_side_by_side_with_their_difference(both: Comparison) -> None:
    norms = page("residual", both, table=True).dataframe[0].value
    expected = {}
    for side, run in both.sides.items():
        with torch.inference_mode():
            _, cache = run.model.run_with_cache(run.tokens[None], names_filter=lambda name: "hook_resid" in name)
        streams = [cache["resid_pre", 0], *(cache["resid_post", layer] for layer in range(run.cfg.n_layers))]
        expected[side] = on_axis(both, torch.stack([stream[0].norm(dim=-1) for stream in streams]), side)
    for side, values in {**expected, "B − A": expected["B"] - expected["A"]}.items():
        # Sums of a few dozen float32 squares in another order.
        np.testing.assert_allclose(norms[side].to_numpy(), values.T.ravel(), rtol=1e-5, atol=1e-4)
    assert norms["A"].isna().any()
    assert norms["B"].isna().any()
    assert norms["Token"].tolist() == [label for label in both.labels for _ in range(CFG.n_layers + 1)]


def test_shares_of_each_run_sum_to_one(both: Comparison) -> None:
    shares = page("residual", both, table=True, position=1).dataframe[3].value
    assert list(shares.columns) == ["Component", "A", "B", "B − A"]
    np.testing.assert_allclose(shares[["A", "B"]].sum(), 1, rtol=1e-5)  # float32 sums of 8 shares
    np.testing.assert_allclose(shares["B − A"].sum(), 0, atol=1e-5)


def test_a_token_that_only_one_run_has_is_said_and_shown_for_that_run(both: Comparison) -> None:
    place = both.presence.index("b")
    for view in ("residual", "lens"):
        at = page(view, both, table=True, position=place, layer=1)
        assert f"A has no token at place {place}" in "".join(caption.value for caption in at.caption)
        of_place = at.dataframe[-2] if view == "residual" else at.dataframe[1]  # of the lens, the cell's best tokens
        assert all(not re.search(r"\bA\b", column) for column in of_place.value.columns)


def test_pages_begin_at_the_last_place_that_both_runs_have(
    run: Run, folder: str, options: Options, headings: list[str]
) -> None:
    chosen = Selection(model=folder, prompt="one two three one two", prompt_b="two one four one")
    comparison = comparisons.for_selection(chosen)
    expected = max(place for place, label in enumerate(comparison.labels) if label[0] not in "−+")
    assert expected < len(comparison.labels) - 1
    assert lens_cell_of(comparison, chosen)[1] == place_of(comparison, chosen) == expected
    assert query_of(comparison, chosen) == place_of(comparison, chosen) == expected
    page("residual", comparison)
    assert options.drawn["position"].value == expected
    page("lens", comparison)
    assert f"Position {expected}: {comparison.labels[expected]}" in headings
    missing = [
        caption.value for caption in page("lens", comparison, layer=0, position=len(comparison.labels) - 1).caption
    ]
    has = "A" if comparison.labels[-1][0] == "−" else "B"
    assert any(line.endswith(f"so only {has} is shown for it.") for line in missing)


def test_the_lens_of_two_runs_is_that_of_their_models(both: Comparison) -> None:
    table = page("lens", both, table=True).dataframe[0].value
    final = table[table["After layer"] == f"L{CFG.n_layers - 1}"]
    expected = {}
    for side, run in both.sides.items():
        with torch.inference_mode():
            probabilities = run.model(run.tokens[None])[0].softmax(-1)
        best = probabilities.max(-1)
        expected[side] = on_axis(both, best.values[None], side)[0]
        words = [run.tokenizer.labels([token])[0] for token in best.indices.tolist()]
        top_tokens = [word for word in final[f"Top token {side}"] if isinstance(word, str)]
        assert top_tokens == words
        # A softmax over 4096 tokens in tiles instead of at once.
        np.testing.assert_allclose(final[side].to_numpy(), expected[side], rtol=1e-4)
    np.testing.assert_allclose(final["B − A"].to_numpy(), expected["B"] - expected["A"], rtol=1e-3, atol=1e-6)


def test_the_followed_token_is_followed_in_both_runs(both: Comparison) -> None:
    at = page("lens", both, table=True, target=" two")
    (way,) = (each.value for each in at.dataframe if "Rank A" in each.value)
    token = both.a.tokenizer.to_single_token(" two")
    for side, run in both.sides.items():
        with torch.inference_mode():
            probabilities = run.model(run.tokens[None])[0, -1].softmax(-1)
        # As above.
        assert way[f"Probability {side}"].iloc[-1] == pytest.approx(float(probabilities[token]), rel=1e-4)
        assert way[f"Rank {side}"].iloc[-1] == 1 + int((probabilities > probabilities[token]).sum())


def test_another_followed_token_does_not_read_the_layers_again(
    both: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    page("lens", both)

    def again(run: Run) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(run_lens, "_logit_lens", again)
    page("lens", both, target=" three", measure="target")
    page("lens", both, target=" one", measure="rank")


@pytest.mark.parametrize("measure", ["top", "final", "target", "rank", "entropy", "kl"])
def test_every_measure_is_drawn_for_one_run_and_for_two(both: Comparison, measure: str) -> None:
    for comparison in (Comparison(both.a), both):
        for table in (False, True):
            page("lens", comparison, measure=measure, table=table)


def test_models_with_other_numbers_of_layers_are_shown_with_what_is_common(run: Run, tmp_path: Path) -> None:
    torch.manual_seed(1)
    save_gpt2(Transformer(replace(CFG, n_layers=2)), tmp_path / "fewer")
    for file in run.source.path.glob("tokenizer*.json"):
        shutil.copy(file, tmp_path / "fewer")
    b = runs.run(str(tmp_path / "fewer"), run.prompt, True)
    comparison = Comparison(run, b, align_tokens(run.tokens.tolist(), b.tokens.tolist()))
    for view in ("residual", "lens"):
        page(view, comparison)
        at = page(view, comparison, table=True)
        assert "A has 3 layers and B has 2" in "".join(caption.value for caption in at.caption)
        table = at.dataframe[0].value
        last = table[table["After layer"] == "L2"]
        assert last["A"].notna().all()
        assert last[["B", "B − A"]].isna().all(axis=None)
