"""The section "Over a corpus" of *MLP* and *Features*: what it shows of a scan, and what where there is none."""

import numpy as np
import pytest

from headlight.app.components import SampledText
from headlight.app.parts import unit_windows
from headlight.app.selection.chosen import Selection
from headlight.model import load
from headlight.model.corpus.reading import SHIPPED, read_tree
from headlight.model.corpus.unit_files import read_unit
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run, run_prompt
from tests.app.choosing import selection_of
from tests.app.pages.test_sides import page

NEURON = 3, 475


@pytest.fixture(scope="module")
def run_of_mini() -> Run:
    return run_prompt(load("mini"), "Daniel and Nancy ran to the")


def record_texts(monkeypatch: pytest.MonkeyPatch) -> list[SampledText]:
    texts: list[SampledText] = []
    monkeypatch.setattr(unit_windows, "sampled_texts", lambda drawn, **_: texts.extend(drawn.texts))
    return texts


def test_the_texts_are_coloured_by_the_neurons_activation(run_of_mini: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = record_texts(monkeypatch)
    at = page("mlp", Comparison(run_of_mini), neuron=NEURON)
    assert not at.exception
    assert any("of tokens over held-out.jsonl" in each.value for each in at.text)
    unit = read_unit(read_tree(SHIPPED / "mini"), "neurons", *NEURON)
    assert unit is not None
    assert [text.title for text in texts][:2] == [f"{window.strength:.4g}" for window in unit.windows[:2]]
    for text, window in zip(texts, unit.windows, strict=True):
        assert int(np.argmax(text.weights)) == window.peak
        assert text.scale == unit.largest
        assert text.weights.max() * unit.largest == pytest.approx(window.strength)


def test_the_shipped_scans_activations_are_the_models(run_of_mini: Run) -> None:
    """Of a window from the beginning of a document, which the model reads as the scan did; to half a step of 255."""
    unit = read_unit(read_tree(SHIPPED / "mini"), "neurons", *NEURON)
    assert unit is not None
    window = next(each for each in unit.windows if each.start == 0)
    text = run_of_mini.tokenizer.to_string(window.token_ids[1:])
    again = run_prompt(run_of_mini.model, text)
    assert again.tokens.tolist() == list(window.token_ids)
    name = f"blocks.{NEURON[0]}.mlp.hook_post"
    values = run_of_mini.model.run_with_cache(again.tokens[None], [name])[1][name][0, :, NEURON[1]].clamp(min=0)
    np.testing.assert_allclose(window.activations[1:], values[1:].numpy(), atol=window.strength / 500 + 1e-4)


def test_a_window_opens_as_the_prompt_with_its_peak_chosen(run_of_mini: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[Selection, str]] = []
    monkeypatch.setattr(unit_windows.selection, "current", lambda: selection_of(neuron=NEURON, position=1))
    monkeypatch.setattr(unit_windows.selection, "ask", lambda *args: requests.append(args))
    unit = read_unit(read_tree(SHIPPED / "mini"), "neurons", *NEURON)
    assert unit is not None
    for window in unit.windows:
        unit_windows.open_window(run_of_mini, "mlp", window)
        new, slug = requests[-1]
        again = run_prompt(run_of_mini.model, new.prompt)
        assert (new.neuron, slug) == (NEURON, "mlp")
        assert new.position is not None
        assert int(again.tokens[new.position]) == window.token_ids[window.peak]


def test_without_a_scan_the_command_is_said(run: Run) -> None:
    at = page("mlp", Comparison(run), neuron=(1, 7))
    assert not at.exception
    assert any("ARGS=--neurons" in each.value for each in at.code)
