"""A sink in mid-prompt is hidden with the first token, and what is left of a row sums to 1."""

import pytest
import torch

from headlight.model import Comparison, Run, Transformer, run_prompt
from headlight.model.attention import fields
from headlight.model.attention.axis import axis_of
from headlight.model.attention.fields import How, on_axis
from headlight.model.attention.sinks import sinks_of
from headlight.model.measure.attention import sinks
from headlight.model.runs.head import attend

HEAD, SINK = (1, 2), 4


@pytest.fixture
def run(small: Transformer, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(fields, "sinks_of", lambda run: (SINK,))
    return run_prompt(small, "One two three. Three one! Two, two. One.")


def test_hidden_columns_have_no_value_and_the_others_their_own(run: Run) -> None:
    comparison = Comparison(run)
    cells = on_axis(comparison, "a", HEAD, How(sink="hide"), axis_of(comparison, "token", "tokens"))
    assert cells[:, [0, SINK]].isnan().all()
    seen = ~cells.isnan()
    torch.testing.assert_close(cells[seen], attend(run, *HEAD).pattern[seen])
    assert seen.sum() == sum(range(1, len(run.tokens) + 1)) - (2 * len(run.tokens) - SINK)


def test_renormalised_rows_are_the_softmax_over_the_other_keys(run: Run) -> None:
    comparison = Comparison(run)
    cells = on_axis(comparison, "a", HEAD, How(sink="renormalise"), axis_of(comparison, "token", "tokens"))
    scores = attend(run, *HEAD).scores.index_fill(-1, torch.tensor([0, SINK]), -torch.inf)
    torch.testing.assert_close(cells[1:].nan_to_num(0), scores[1:].softmax(-1))


def test_a_token_on_which_heads_rest_is_found(small: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_prompt(small, "One two three. Three one! Two, two. One. Four one two? Three, one two.")
    resting = torch.zeros(small.cfg.n_layers, small.cfg.n_heads, len(run.tokens), len(run.tokens))
    resting[..., SINK] = 1.0
    of_layers = "headlight.model.attention.sinks.patterns_of_layers"
    monkeypatch.setattr(of_layers, lambda run, layers, queries: resting[:, :, queries])
    assert sinks_of(run) == (SINK,)


@pytest.mark.parametrize(("n_resting", "expected"), [(15, [SINK]), (14, [])])
def test_of_many_heads_a_share_has_to_rest(n_resting: int, expected: list[int]) -> None:
    rows = torch.zeros(100, 12, 12)
    rows[:n_resting, :, SINK] = 1.0
    assert sinks(rows, torch.arange(12)).tolist() == expected
