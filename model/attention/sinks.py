"""Where the heads of a run look from some of its queries: on which tokens they rest, such as sinks in mid-prompt."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.measure.attention import scores_at, sinks
from headlight.model.runs.head import patterns_of_layers
from headlight.model.runs.run import Run

MAX_QUERIES = 32  # tokens from which sinks are looked for: rows of a long prompt's patterns are long


def sinks_of(run: Run) -> tuple[int, ...]:
    """Positions other than the first on which many heads rest, seen from some of the prompt's tokens."""
    return looks_of(run).sinks


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
