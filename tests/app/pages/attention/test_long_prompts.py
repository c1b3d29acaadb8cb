"""Of a long prompt the chosen heads and the text are drawn first: the grid needs every head's pattern."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import torch

from headlight.app.pages.attention import view
from headlight.app.parts import first_heads
from headlight.model.attention import folding
from headlight.model.measure.attention import head_scores, scores_at
from headlight.model.runs import run as runs_module
from headlight.model.runs import summaries
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from tests.app.pages.test_sides import page


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is computed and drawn, in this order."""
    steps: list[str] = []

    def noting(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **named: Any) -> Any:
            steps.append(name)
            return do(*args, **named)

        return noted

    for module, name in ((view, "heads"), (view, "token_strip"), (view.grid, "draw"), (summaries, "summarize")):
        monkeypatch.setattr(module, name, noting(name, getattr(module, name)))
    return steps


def test_the_grid_of_a_long_prompt_comes_last(run: Run, order: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (runs_module, first_heads, summaries):
        monkeypatch.setattr(module, "LONG", 5)
    at = page("attention", Comparison(replace(run, prompt=f"{run.prompt} ")))  # which nobody has seen
    assert not at.exception
    assert order == ["heads", "token_strip", "summarize", "draw"]
    at.run()
    assert order[4:] == ["draw", "heads", "token_strip"]


def test_the_grid_of_a_short_prompt_comes_first(run: Run, order: list[str]) -> None:
    page("attention", Comparison(run))
    assert [step for step in order if step != "summarize"] == ["draw", "heads", "token_strip"]


def test_scores_over_all_queries_are_the_heads_scores() -> None:
    """Of some of them they are those rows' alone."""
    tokens = torch.tensor([1, 2, 1, 2, 3, 1])
    rows = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(0)).tril().softmax(-1)
    whole = [head_scores(layer, tokens) for layer in rows]
    of_all = scores_at(rows, tokens, torch.arange(6))
    for name, values in of_all.items():
        expected = torch.stack([getattr(scores, name).values for scores in whole])
        torch.testing.assert_close(values, expected)
    some = scores_at(rows[:, :, [3, 4]], tokens, torch.tensor([3, 4]))
    torch.testing.assert_close(some["previous_token"], (rows[:, :, 3, 2] + rows[:, :, 4, 3]) / 2)
    torch.testing.assert_close(some["induction"], rows[:, :, 3, 2])  # of 4, the first of its kind, there is none


def test_between_sentences_each_pattern_is_computed_once(
    run: Run, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the chosen heads, all thumbnails and what is beside a head's name."""
    layers: list[tuple[int, int | None]] = []
    blocks = folding.pattern_blocks

    def noted(made: Run, layer: int, head: int | None = None) -> Any:
        layers.append((layer, head))
        return blocks(made, layer, head)

    monkeypatch.setattr(folding, "pattern_blocks", noted)
    for module, name in ((runs_module, "LONG"), (first_heads, "LONG"), (summaries, "LONG"), (view, "LONG_RUN")):
        monkeypatch.setattr(module, name, 5)
    at = page("attention", Comparison(replace(run, prompt=f"{run.prompt}  ")), unit="sentence")
    assert not at.exception
    assert sorted(layers) == [(layer, None) for layer in range(run.cfg.n_layers)]
    assert order == ["heads", "token_strip", "draw"]


def test_while_the_chosen_heads_are_folded_it_is_said_above_the_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing of the page told for some seconds that it works on the sentences that were asked for."""
    now: list[str] = []
    seen: list[list[str]] = []
    spinner, fold = view.st.spinner, view.panel

    @contextmanager
    def noted(said: str, **look: Any) -> Iterator[None]:
        now.append(said)
        with spinner(said, **look):
            yield
        now.pop()

    def folded(*args: Any) -> Any:
        seen.append([*now])
        return fold(*args)

    monkeypatch.setattr(view.st, "spinner", noted)
    monkeypatch.setattr(view, "panel", folded)
    page("attention", Comparison(replace(run, prompt=f"{run.prompt}   ")), unit="sentence")
    assert seen[0] == ["Attention between sentences…"]
