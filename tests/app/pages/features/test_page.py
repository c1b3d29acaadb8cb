"""The page *Features* without a browser: what it opens, what is chosen in it, and what it refuses."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from headlight.app.pages.features import maps, one
from headlight.app.pages.features.feature_view import FeatureView, find
from headlight.app.pages.features.view import worth
from headlight.app.parts import options
from headlight.app.runs import comparisons, dictionaries, models
from headlight.app.selection.links import from_query, to_query
from headlight.model.base.errors import CheckpointError
from headlight.model.runs.comparison import Comparison, compare
from headlight.model.runs.edits import EditFeature
from headlight.model.runs.run import Run
from tests.app.choosing import selection_of
from tests.app.conftest import Options
from tests.app.pages.features.conftest import HOOK
from tests.app.pages.test_sides import page

pytestmark = pytest.mark.usefixtures("saved")


def feature_view(run: Run, **chosen: object) -> FeatureView:
    there = find(Comparison(run), selection_of(**{"dictionary": "sae", **chosen}))
    assert there is not None
    return there


def test_the_map_has_the_strongest_features_of_the_prompt(run: Run) -> None:
    its = feature_view(run, position=3)
    with torch.inference_mode():
        _, cache = run.model.run_with_cache(run.tokens[None], HOOK)
        acts = its.dictionary.encode(cache[HOOK][0])
    assert its.feature == int(acts[3].argmax())
    assert its.listed[:5] == acts[1:].amax(0).topk(5).indices.tolist()
    (values,) = maps.active(its).values()
    # Sums of 40 products of float32 in another order.
    np.testing.assert_allclose(values, acts[:, its.listed].T.numpy(), rtol=1e-4, atol=1e-5)


def test_what_the_dictionary_is_worth_is_always_said(run: Run) -> None:
    for chosen in ({}, {"table": True}):
        at = page("features", Comparison(run), dictionary="sae", **chosen)
        said = " ".join(each.value for each in at.text)
        assert "explained variance" in said
        assert "nats with the dictionary spliced in" in said
    assert "explained variance" in worth(feature_view(run))[0]


def test_a_layer_of_several_is_chosen(run: Run, options: Options) -> None:
    at = page("features", Comparison(run), dictionary="transcoders")
    options.change(at, "features_layer", "blocks.2.ln2.hook_normalized")
    layer, feature = at.session_state["headlight"].active.feature
    assert layer == 2
    assert feature < 60


def test_what_an_mlp_reads_is_read_by_the_gain_of_the_models_norm(run: Run) -> None:
    its = feature_view(run, dictionary="behind", feature=(2, 3))
    block = run.model.block(2)
    with torch.inference_mode():
        hook = "blocks.2.ln2.hook_normalized"
        _, cache = run.model.run_with_cache(run.tokens[None], hook)
        raw = dictionaries.dictionaries("behind")[2]
        acts = raw.encode(cache[hook][0] * block.ln2.w + block.ln2.b)
    (values,) = maps.active(its).values()
    np.testing.assert_allclose(values, acts[:, its.listed].T.numpy(), rtol=1e-4, atol=1e-5)  # sums of 40 products
    other = copy.copy(run.model)
    other.source = replace(run.source, name="another")
    with pytest.raises(CheckpointError, match="Choose a B of the same model"):
        find(compare(run, replace(run, model=other)), selection_of(dictionary="behind"))


def test_what_does_not_fit_is_refused_and_another_can_be_chosen(run: Run, options: Options) -> None:
    at = page("features", Comparison(run), dictionary="wider")
    assert any("80 wide" in each.value and "40 wide" in each.value for each in at.text)
    options.change(at, "dictionary", "sae")
    assert at.session_state["headlight"].active.dictionary == "sae"
    assert not any("wide" in each.value for each in at.text)


def test_without_a_dictionary_the_page_says_how_one_is_had(run: Run) -> None:
    at = page("features", Comparison(run))
    assert "make train-dictionary" in at.code[0].value
    assert "What you will get" in [caption.value for caption in at.caption]


def test_only_what_is_offered_opens_where_no_path_may_be_typed(saved: Path, settings: dict[str, object]) -> None:
    settings["any_model"] = False
    assert {"sae", "transcoders", "wider"} <= set(dictionaries.offered())
    assert not {"sae", "transcoders", "wider"} & set(models.offered_models())
    for name in (str(saved / "sae"), "../models/sae"):
        with pytest.raises(CheckpointError, match="is not offered here"):
            dictionaries.dictionaries(name)
    assert dictionaries.told_by("sae") == "sae"


def test_the_button_ablates_the_feature_on_every_page(run: Run, folder: str, options: Options) -> None:
    at = page("features", Comparison(run), model=folder, prompt=run.prompt, dictionary="sae", position=3)
    options.change(at, "ablate_feature", None)
    pending = at.session_state["headlight"].pending
    edit = EditFeature("sae", HOOK, feature_view(run, position=3).feature)
    assert pending.edits == (edit,)
    assert from_query(to_query(pending))[0].edits == (edit,)
    both = comparisons.for_selection(pending)
    assert both.b is not None
    assert both.b.edits == (edit,)
    its = find(both, pending)
    assert its is not None
    sides: Mapping[str, np.ndarray] = maps.active(its)
    row = its.listed.index(edit.feature)
    # The encoder is not the decoder's inverse: what is left is what the changed activation reads as.
    assert np.abs(sides["B"][row]).max() < np.abs(sides["A"][row]).max()


def test_who_made_a_feature_is_told_at_the_tokens_place(run: Run, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B puts three tokens before what both have: A's last token, its fifth, stands at place 7."""
    both = comparisons.for_selection(
        selection_of(model=folder, prompt="one two three two", prompt_b="four one two three two")
    )
    its = find(both, selection_of(dictionary="sae", position=7, feature=(1, 3)))
    assert its is not None
    titles: list[str] = []
    for drawn in ("heading", "_links"):
        monkeypatch.setattr(one, drawn, lambda *_, **__: None)
    monkeypatch.setattr(one, "row_table", lambda table, **_: titles.append(table.title))
    one._made(its, "", both.a, 4)
    assert titles == ["Sources of feature 3 at 7"]


def test_a_head_that_made_a_feature_is_opened_at_the_token(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[object, str]] = []
    monkeypatch.setattr(options.selection, "ask", lambda chosen, slug: requests.append((chosen, slug)))
    monkeypatch.setattr(options.selection, "current", lambda: selection_of(heads=((0, 1), (1, 2)), keys=(1,)))
    options.show_head("why", (0, 3), 5)
    ((chosen, slug),) = requests
    assert slug == "why"
    assert (chosen.heads, chosen.queries, chosen.keys) == (((0, 3), (0, 1), (1, 2)), (5,), ())  # type: ignore[attr-defined]


def test_colours_tell_the_tokens_after_the_first_apart(run: Run) -> None:
    """What the first token activates may be a hundred times as large as any other activation."""
    its = feature_view(run)
    (values,) = maps.active(its).values()
    values[:, 0] *= 1000
    values[0, 0] = 1000 * values.max()
    drawn = maps.feature_map(its, {"A": values}, "A")
    assert drawn.limits == (0.0, values[:, 1:].max())
    assert "after the first token" in drawn.title
    values[:, 0] = 0
    assert maps.feature_map(its, {"A": values}, "A").title == "activation"
    values[0, 0] = 2.0
    values[:, 1:] = 0
    assert maps.feature_map(its, {"A": values}, "A").limits == (0.0, 2.0)
