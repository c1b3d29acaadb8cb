"""A click while all heads are read is answered at once; the reading goes on after it from where it was."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from headlight.app.pages.attention import view
from headlight.app.parts import first_heads, grid
from headlight.app.runs import passes, runs
from headlight.model.attention import fields, folding, receiver_heads
from headlight.model.runs import head, summaries
from headlight.model.runs import run as runs_module
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.pages.attention.test_receivers import TEN
from tests.app.pages.test_sides import page


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is computed and drawn of a prompt that counts as a long one, in this order."""
    for module, name in ((runs_module, "LONG"), (first_heads, "LONG"), (summaries, "LONG"), (view, "LONG_RUN")):
        monkeypatch.setattr(module, name, 5)
    steps: list[str] = []
    for name, module in (("heads", view), ("draw", grid)):
        monkeypatch.setattr(module, name, _noting(steps, name, getattr(module, name)))
    return steps


def _noting(steps: list[str], name: str, do: Callable[..., Any], clicked_in: int | None = None) -> Callable[..., Any]:
    """The function, which notes that it is called, and in a layer's call the layer, and is clicked in one of these."""

    def noted(made: Any, *args: Any, **named: Any) -> Any:
        layer = (args[0][0] if isinstance(args[0], range) else args[0]) if isinstance(made, Run) else None
        steps.append(name if layer is None else f"{name} {layer}")
        if layer is not None and layer == clicked_in and steps.count(steps[-1]) == 1:
            _click()
        return do(made, *args, **named)

    return noted


def _click() -> None:
    """As a component in the page's fragment reports one, or says that its data was lost."""
    context = get_script_run_ctx()
    assert context is not None
    assert context.script_requests is not None
    context.script_requests.request_rerun(RerunData(fragment_id="view"))


def _new(run: Run, name: str) -> Run:
    """The same run for which nothing has been computed."""
    return replace(run, prompt=f"{run.prompt} {name}")


@pytest.mark.parametrize("unit", ["token", "sentence"])
def test_a_click_is_heard_within_a_layer(
    run: Run, steps: list[str], monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """Which takes seconds at 8,192 tokens."""

    def check() -> None:
        steps.append("check")
        if steps.count("check") == 4:
            _click()
        look()

    look = passes.check
    monkeypatch.setattr(passes, "check", check)
    monkeypatch.setattr(summaries, "MAX_ROWS", 3)
    monkeypatch.setattr(head, "QUERIES", 3)
    page("attention", Comparison(_new(run, f"within {unit}")), unit=unit, heads=((0, 0),))
    fourth = [place for place, step in enumerate(steps) if step == "check"][3]
    assert steps[fourth + 1] == "heads"
    assert [step for step in steps if step != "check"] == ["heads", "heads", "draw"]


@pytest.mark.parametrize(
    ("unit", "module", "name", "before"),
    [("token", summaries, "_of_layers", ["heads", "layer 0"]), ("sentence", folding, "folded", ["layer 0", "heads"])],
)
def test_a_click_ends_the_reading_of_all_heads(
    run: Run, steps: list[str], monkeypatch: pytest.MonkeyPatch, unit: str, module: Any, name: str, before: list[str]
) -> None:
    """Between sentences the chosen head's layer is there already."""
    monkeypatch.setattr(module, name, _noting(steps, "layer", getattr(module, name), clicked_in=1))
    page("attention", Comparison(_new(run, unit)), unit=unit, heads=((0, 0),))
    assert steps == [*before, "layer 1", "heads", "layer 1", "layer 2", "draw"]


def test_heads_that_are_too_large_to_keep_are_folded_with_progress(
    run: Run, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between 500 sentences and more: each head by itself, and a click is answered between them."""
    monkeypatch.setattr(folding, "MAX_KEPT", 0)
    monkeypatch.setattr(folding, "folded", _noting(steps, "layer", folding.folded, clicked_in=1))
    monkeypatch.setattr(fields, "folded", folding.folded)
    page("attention", Comparison(_new(run, "many")), unit="sentence", heads=((0, 0),))
    of_all = [[f"layer {layer}"] * run.cfg.n_heads for layer in range(3)]
    assert steps == ["layer 0", "heads", *of_all[0], "layer 1", "heads", *of_all[1], *of_all[2], "draw"]


def test_a_grid_whose_data_was_lost_is_drawn_again_before_receivers_are_averaged(
    folder: str, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noting = _noting(steps, "receivers", receiver_heads.mean_weights, clicked_in=1)
    monkeypatch.setattr(receiver_heads, "mean_weights", noting)
    page("attention", Comparison(_new(runs.run(folder, TEN, True), "lost")), unit="sentence")
    assert steps == ["heads", "draw", "receivers 0", "receivers 1", "heads", "draw", "receivers 1", "receivers 2"]
