"""The page's switch between lenses, what stands beside, and the patchscope, against the library's own numbers."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from headlight.app.exports.data import archive
from headlight.app.exports.style import LIGHT
from headlight.app.pages.lens import EXPORT, VIEW
from headlight.app.runs import comparisons, models
from headlight.model.base.errors import HeadlightError
from headlight.model.lens.opening import lens_of
from headlight.model.lens.patchscope import Scope, patchscopes
from headlight.model.lens.run_lens import logit_lens
from headlight.model.runs.comparison import Comparison
from tests.app.choosing import selection_of
from tests.app.pages.test_sides import page

PROMPT = "When Mary and John went to the store, John gave a drink to"
MODEL = {"model": "mini", "prompt": PROMPT}


@pytest.fixture
def mini(settings: dict[str, object]) -> Comparison:
    settings["model"] = "mini"
    return comparisons.for_selection(selection_of(**MODEL))


@pytest.mark.parametrize("kind", ["tuned", "jacobian"])
def test_the_table_is_the_chosen_lens(mini: Comparison, kind: str) -> None:
    at = page("lens", mini, **MODEL, lens=kind, measure="kl", table=True)
    cells = at.dataframe[0].value
    read = logit_lens(mini.a, lens_of(mini.a, kind)).kl_from_final.values
    for layer, name in enumerate(mini.layer_labels):
        own = cells[cells["After layer"] == name]["KL(final ‖ layer) (nats)"].to_numpy(dtype=float)
        np.testing.assert_allclose(own, read[layer].numpy(), rtol=1e-6)  # the same numbers, NaN where none is
    lines = next(each.value for each in at.dataframe if "tuned lens" in each.value)
    assert list(lines.columns) == ["After layer", "logit lens", "tuned lens", "Jacobian lens"]
    expected = read.mean(1).numpy()
    np.testing.assert_allclose(lines[lens_of(mini.a, kind).title].to_numpy(dtype=float), expected, rtol=1e-6)


def test_a_lens_that_is_not_there_or_does_not_fit_is_refused_in_a_sentence(mini: Comparison, tmp_path: Path) -> None:
    at = page("lens", mini, **MODEL, lens="tuned", lens_from=str(tmp_path / "none"))
    assert any("There is no folder" in each.value for each in at.text)
    own = Path(__file__).parents[4] / "assets" / "lenses" / "mini-llama" / "tuned"
    at = page("lens", mini, **MODEL, lens="tuned", lens_from=str(own))
    assert any("was made for another unembedding than that of mini" in each.value for each in at.text)


def test_a_server_that_opens_its_own_models_alone_opens_no_other_lens(
    mini: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "any_model_allowed", lambda: False)
    at = page("lens", mini, **MODEL, lens="tuned", lens_from="/etc")
    assert any("is not offered here" in each.value for each in at.text)


def test_the_patchscope_says_what_the_library_says(mini: Comparison) -> None:
    at = page("lens", mini, **MODEL, layer=2, position=2, table=True, scope_tokens=3, scope_layer=1)
    table = at.dataframe[-1].value
    expected = patchscopes(mini.a, 2, Scope(layer=1, n_tokens=3))
    assert list(table["State after"]) == ["embed", "L0", "L1", "L2", "L3", "untouched"]
    assert list(table["Next token"]) == mini.a.tokenizer.labels(expected.logits.argmax(-1))
    np.testing.assert_allclose(table["Probability"], expected.logits.softmax(-1).amax(-1), rtol=1e-6)
    assert list(table["Written"]) == [mini.a.tokenizer.label_together(each) for each in expected.written]


def test_a_scope_that_cannot_be_asked_is_said(mini: Comparison) -> None:
    at = page("lens", mini, **MODEL, scope_prompt="one " * 300)
    assert any("Shorten it" in each.value for each in at.text)


@pytest.mark.parametrize("kind", ["tuned", "jacobian"])
def test_all_that_is_taken_along_is_of_the_chosen_lens(mini: Comparison, kind: str) -> None:
    chosen = selection_of(**MODEL, lens=kind, layer=2, position=3)
    title = lens_of(mini.a, kind).title
    with zipfile.ZipFile(io.BytesIO(archive(mini, EXPORT.data(mini, chosen)))) as packed:
        assert f"{title}.csv" in packed.namelist()
        assert {"divergence.csv", "patchscope.csv"} <= set(packed.namelist())
        assert f'"lens": "{title[0].upper()}{title[1:]}"' in packed.read("about.json").decode()
    assert any(title[1:] in axes.get_xlabel() for axes in EXPORT.picture(mini, chosen, LIGHT).axes)
    assert title[1:].encode() in EXPORT.page(mini, chosen)
    assert EXPORT.plots is not None
    assert any(title in plot.title for row in EXPORT.plots(mini, chosen) for plot in row)
    assert VIEW.export() is EXPORT  # of the selection that is shown, which is of the logit lens
    script = EXPORT.script(mini, chosen)
    assert f"lens={kind!r}" in script
    assert title in script


@pytest.mark.thorough
def test_the_script_prints_the_lens(mini: Comparison) -> None:
    script = EXPORT.script(mini, selection_of(**MODEL, lens="jacobian", layer=2, position=3))
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    read = logit_lens(mini.a, lens_of(mini.a, "jacobian"))
    assert f"{read.top_probs.values[2, 3, 0]:.5f}"[:6] in printed


@pytest.mark.thorough
def test_two_models_are_each_read_by_their_own_lens(settings: dict[str, object]) -> None:
    settings["model"] = "mini"
    chosen = {**MODEL, "prompt_b": PROMPT, "model_b": "mini-llama", "lens": "tuned", "measure": "kl"}
    both = comparisons.for_selection(selection_of(**chosen))
    at = page("lens", both, **chosen, table=True)
    cells = at.dataframe[0].value
    for side, run in both.sides.items():
        read = logit_lens(run, lens_of(run, "tuned")).kl_from_final.values
        name = next(each for each in cells.columns if each == side)
        values = torch.tensor(cells[cells["After layer"] == "L1"][name].to_numpy(dtype=float))
        torch.testing.assert_close(values[values.isfinite()].float(), read[2])
    with pytest.raises(HeadlightError, match="another unembedding"):  # that of A is not B's
        lens_of(both.b, "tuned", str(Path(__file__).parents[4] / "assets" / "lenses" / "mini" / "tuned"))  # type: ignore[arg-type]
