"""*Why* by features: the sums that it draws are the score and the head's own effect; links and files."""

from pathlib import Path

import numpy as np
import pytest

from headlight.app.pages.features.feature_view import find
from headlight.app.pages.why import EXPORT, by_features
from headlight.app.pages.why.chosen import sides_of
from headlight.app.runs import comparisons
from headlight.model.attribution.tables import effect_by_name
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import PROMPT_B, Options
from tests.app.exports.hostile import OTHER, chosen
from tests.app.exports.test_code import compare, run_here
from tests.app.pages.test_sides import page
from tests.saved_dictionary import save_dictionary

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows where interventions run side by side
BY: dict[str, object] = {"heads": ((1, 2),), "why_by": "features", "dictionary": "sae"}


@pytest.fixture(autouse=True)
def saved(settings: dict[str, object], run: Run, tmp_path: Path) -> None:
    """A dictionary of the stream before layer 1."""
    save_dictionary(tmp_path / "models" / "sae", "blocks.1.hook_resid_pre", run.cfg.d_model, architecture="topk", k=6)
    settings["models_folder"] = str(tmp_path / "models")


@pytest.mark.parametrize("more", [{}, {"prompt_b": PROMPT_B}])
def test_the_pairs_of_features_add_up_to_the_score_and_the_moved_to_the_head(
    run: Run, folder: str, more: dict[str, object]
) -> None:
    selection = selection_of(model=folder, prompt=run.prompt, **BY, **more)
    comparison = comparisons.for_selection(selection)
    reader = by_features.wanted(comparison, selection, 1)
    assert reader is not None
    for at in sides_of(comparison, selection)[0].values():
        scores, moved = by_features.score_matrix(reader, at), by_features.moved_matrix(comparison, reader, at)
        # Sums of some hundred products in float64, of activations that were computed in float32.
        np.testing.assert_allclose(scores.values.sum(), float(at.why.parts.score.values), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(moved.values.sum(), effect_by_name(at)["L1H2"], rtol=1e-4, atol=1e-5)
        assert any(name.startswith("feature ") for name in scores.rows)
        assert {"the dictionary's error", "the decoder's bias"} <= set(scores.columns)


def test_a_change_counts_the_features_that_one_run_lacks(run: Run, folder: str) -> None:
    selection = selection_of(model=folder, prompt=run.prompt, prompt_b="four five one", **BY)
    comparison = comparisons.for_selection(selection)
    reader = by_features.wanted(comparison, selection, 1)
    assert reader is not None
    scores = by_features.score_matrices(reader, sides_of(comparison, selection)[0])
    assert set(scores["A"].columns) != set(scores["B"].columns)
    change = scores["B"].values.sum() - scores["A"].values.sum()
    assert scores["B − A"].values.sum() == pytest.approx(change, abs=1e-6)


def test_features_are_offered_where_a_dictionary_reads_the_heads_stream(run: Run, options: Options) -> None:
    page("why", Comparison(run), dictionary="sae", heads=((1, 2),))
    assert "why_by" in options.drawn
    options.drawn.clear()
    at = page("why", Comparison(run), dictionary="sae", heads=((2, 2),), why_by="features")
    assert "why_by" not in options.drawn
    assert not at.error


def test_tables_and_the_file_have_the_features_too(run: Run, folder: str) -> None:
    at = page("why", Comparison(run), table=True, **BY)
    table = next(each.value for each in at.dataframe if "feature" in str(each.value.iloc[:, 0].tolist()))
    assert table["score"].iloc[-1] == pytest.approx(table["score"].iloc[:-1].sum())  # the sum stands last
    for more in ({}, {"prompt_b": OTHER}):
        selection = chosen(folder, **BY, **more)
        assert len(EXPORT.page(comparisons.for_selection(selection), selection)) > len(
            EXPORT.page(comparisons.for_selection(selection), chosen(folder, **{**BY, **more, "why_by": "parts"}))
        )


def test_a_link_opens_the_feature_at_its_token(run: Run, options: Options) -> None:
    at = page("why", Comparison(run), **BY)
    name = next(name for name in options.drawn if name.startswith("feature ") and " of the " in name)
    options.change(at, name, None)
    session = at.session_state["headlight"]
    assert session.page == "features"
    assert session.pending.feature == (1, int(name.split()[1]))
    assert session.pending.dictionary == "sae"


def test_a_button_opens_the_features_that_carry_the_prediction(run: Run, folder: str, tmp_path: Path) -> None:
    save_dictionary(tmp_path / "models" / "last", "blocks.2.hook_resid_post", run.cfg.d_model)
    at = page("why", Comparison(run), model=folder, prompt=run.prompt, dictionary="last", position=4)
    next(button for button in at.button if button.label == "Features behind this prediction").click().run()
    pending = at.session_state["headlight"].pending
    assert (pending.dictionary, pending.features_by, pending.position) == ("last", "effect", 4)
    assert pending.feature[0] == 2
    view = find(comparisons.for_selection(pending), pending)
    assert view is not None
    assert view.listed[0] == view.feature == pending.feature[1]


@pytest.mark.parametrize("more", [{}, {"prompt_b": OTHER}])
def test_the_script_prints_the_pages_numbers(folder: str, more: dict[str, object]) -> None:
    fields = {**BY, **more}
    selection = chosen(folder, **fields)
    compare(run_here(EXPORT.script(comparisons.for_selection(selection), selection)), EXPORT, fields, folder)
