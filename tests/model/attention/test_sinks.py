"""A sink in mid-prompt is found, scored, and hidden with the first token, and what is left of a row sums to 1."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from headlight.model import Comparison, CutEdge, Run, Transformer, load, run_prompt
from headlight.model.attention import fields
from headlight.model.attention.axis import axis_of
from headlight.model.attention.fields import How, on_axis
from headlight.model.attention.sinks import sink_scores, sinks_of
from headlight.model.measure.attention import sink_weights, sinks
from headlight.model.runs import head
from headlight.model.runs.head import attend
from headlight.model.runs.run import make_run

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


def resting_gpt2(token: int) -> transformers.GPT2LMHeadModel:
    """A random one, all of whose heads put most of their weight on a token wherever it stands."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 40, "n_positions": 32, "n_embd": 16, "n_layer": 2, "n_head": 4}
    config = transformers.GPT2Config(**sizes, initializer_range=0.3, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        model.transformer.wte.weight[token, 0] = 20.0
        for block in model.transformer.h:
            queries, keys = block.attn.c_attn.bias[:16], block.attn.c_attn.weight[0, 16:32]
            queries += 1.0
            keys += 1.0
    return model


def mean_weight(pattern: Tensor, places: tuple[int, ...]) -> Tensor:
    """Each head's mean weight on these places before the query, over the queries after the first of them."""
    queries = range(min(places) + 1, pattern.shape[1])
    rows = [pattern[:, query, [at for at in places if at < query]].sum(-1) for query in queries]
    return torch.stack(rows).mean(0)


@pytest.mark.parametrize("n_block", [256, 5])
def test_scores_of_sinks_are_those_of_transformers_patterns(
    n_block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sinks are where the token stands that the model was made to rest on; rows may come in blocks."""
    monkeypatch.setattr(head, "QUERIES", n_block)
    token, places = 39, (6, 13)
    ids = torch.randint(0, token, (24,), generator=torch.Generator().manual_seed(0))
    ids[list(places)] = token
    theirs = resting_gpt2(token)
    theirs.save_pretrained(tmp_path)
    with torch.inference_mode():
        run, cut = (make_run(load(tmp_path), "", False, ids, edits) for edits in ((), (CutEdge(HEAD, 20, places[0]),)))
        patterns = [pattern[0] for pattern in theirs.double()(ids[None], output_attentions=True).attentions]
    at = sinks(torch.cat(patterns), torch.arange(24))
    assert sinks_of(run) == tuple(at.tolist()) == places
    expected = torch.stack([mean_weight(pattern, places) for pattern in patterns])
    assert (expected > 0.3).all()
    rows = torch.stack([sink_weights(pattern, torch.arange(24), at).values for pattern in patterns])
    torch.testing.assert_close(rows.nanmean(-1), expected, rtol=0, atol=1e-9)
    # Two layers in float32.
    torch.testing.assert_close(sink_scores(run).values.double(), expected, rtol=0, atol=1e-5)
    expected[HEAD] -= patterns[HEAD[0]][HEAD[1], 20, places[0]] / 17  # queries after the first of the sinks
    torch.testing.assert_close(sink_scores(cut).values.double(), expected, rtol=0, atol=1e-5)


def test_a_run_without_such_sinks_has_no_score_of_them(small: Transformer) -> None:
    run = run_prompt(small, "One two")  # fewer than four tokens come after any
    assert sinks_of(run) == ()
    assert sink_scores(run).values.isnan().all()
