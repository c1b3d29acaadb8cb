"""Where the heads of a run look from some of its queries: on which tokens they rest, such as sinks in mid-prompt."""

from contextlib import nullcontext
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.attention import scores_at, sink_weights, sinks
from headlight.model.runs.head import pattern_blocks, patterns_of_layers
from headlight.model.runs.host import HERE, Steps
from headlight.model.runs.run import LONG, Run

MAX_QUERIES = 32  # tokens from which sinks are looked for: rows of a long prompt's patterns are long


def sinks_of(run: Run) -> tuple[int, ...]:
    """Positions other than the first on which many heads rest, seen from some of the prompt's tokens."""
    return looks_of(run).sinks


def sink_scores(run: Run) -> Measure:
    """Score each head by its mean weight on the sinks that are not the first token, with progress on a long prompt.

    In each row the weights on the sinks before the query are added up; the mean is over the queries after the first
    sink. NaN where the run has none.

    Returns:
        The scores [layer, head], as probability.

    Raises:
        HeadlightError: the run's host lets no more work in.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks", for the first token.
    """
    at = sinks_of(run)
    if at:
        return run.keep("scores of other sinks", lambda: _score(run, torch.tensor(at)))
    values = torch.full((run.cfg.n_layers, run.cfg.n_heads), torch.nan)
    return Measure("other sinks", "probability", ("layer", "head"), values)


def _score(run: Run, at: Int[Tensor, " sink"]) -> Measure:
    """The scores layer by layer: who breaks off goes on from there."""
    is_long = len(run.tokens) >= LONG
    steps, layers = Steps(run.host if is_long else HERE, run.cfg.n_layers), list[Tensor]()
    with run.host.turn() if is_long else nullcontext():
        for layer in range(run.cfg.n_layers):
            layers.append(run.keep(("scores of other sinks", layer), partial(_score_layer, run, layer, at)))
            steps.add()
    return Measure("other sinks", "probability", ("layer", "head"), torch.stack(layers))


def _score_layer(run: Run, layer: int, at: Int[Tensor, " sink"]) -> Float[Tensor, " head"]:
    """One layer's, from some queries' rows at a time."""
    place, blocks = torch.arange(len(run.tokens)), pattern_blocks(run, layer)
    return torch.cat([sink_weights(rows, place[queries], at).values for queries, rows in blocks], 1).nanmean(1)


class Looks(NamedTuple):
    """Where heads look from some of a prompt's queries: what they rest on, and scores over these queries.

    `resting` is whether a head's largest weight from the last token is on itself or on a token where heads rest, and
    `largest` is that weight.
    """

    resting: Bool[Tensor, "layer head"]
    largest: Float[Tensor, "layer head"]
    sinks: tuple[int, ...]
    scores: dict[str, Float[Tensor, "layer head"]]


def looks_of(run: Run) -> Looks:
    """Where heads look from some of a run's queries, kept with it."""
    return run.keep("looks of some queries", lambda: _find_looks(run))


def _find_looks(run: Run) -> Looks:
    """Resting heads, sinks and scores from the same rows of the patterns, of which the last token's is the last."""
    n_tokens = len(run.tokens)
    queries = torch.linspace(0, n_tokens - 1, min(n_tokens, MAX_QUERIES)).round().int().unique()
    rows = patterns_of_layers(run, range(run.cfg.n_layers), queries.tolist())
    rested = tuple(sinks(rows.flatten(0, 1), queries).tolist())
    largest, keys = rows[:, :, -1].max(-1)
    resting = torch.isin(keys, torch.tensor([0, n_tokens - 1, *rested]))
    return Looks(resting, largest, rested, scores_at(rows, run.tokens, queries.long()))
