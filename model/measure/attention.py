"""Statistics of attention patterns: entropy, distance, writes, and kinds of tokens. Row = query, column = key."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from headlight.model.measure import Measure

Pattern = Float[Tensor, "head query key"]


def entropy(pattern: Pattern) -> Measure:
    """Entropy of each row: 0 nats for one attended token, log n for n equal weights. 0 log 0 counts as 0."""
    least = torch.finfo(pattern.dtype).tiny  # torch.special.entr does without, and takes twice as long
    # Some rows at a time: their logarithms stay in the processor's cache, those of a head do not.
    blocks = (rows for head in pattern for rows in head.split(128))
    sums = [rows.clamp(min=least).log_().mul_(rows).sum(dim=-1).neg_() for rows in blocks]
    return Measure("attention entropy", "nats", ("head", "query"), torch.cat(sums).view(pattern.shape[:2]))


def mean_distance(pattern: Pattern, apart: Float[Tensor, "query key"] | None = None) -> Measure:
    """Mean attention distance of each row: the mean of |query - key| under its weights, in tokens.

    Absolute, so that in bidirectional attention left and right do not cancel; in causal attention it is query - key.
    `apart` is what `distances` gives, which patterns of one size can share.
    """
    apart = distances(*pattern.shape[-2:]).to(pattern) if apart is None else apart
    mean = torch.stack([torch.linalg.vecdot(head, apart) for head in pattern])
    return Measure("mean attended distance", "tokens", ("head", "query"), mean)


def distances(n_queries: int, n_keys: int) -> Float[Tensor, "query key"]:
    """The distance in tokens between each query and each key: |query - key|."""
    return (torch.arange(float(n_queries))[:, None] - torch.arange(float(n_keys))).abs_()


def write_norms(v: Float[Tensor, "key head d_head"], W_O: Float[Tensor, "head d_head d_model"]) -> Measure:
    """The L2 norm of v W_O per key: the size of its write at a weight of 1.

    Source: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms".
    """
    # One head at a time: all heads' v W_O at once would be n_heads times the residual stream.
    norms = torch.stack([(v_head @ W_O_head).norm(dim=-1) for v_head, W_O_head in zip(v.unbind(1), W_O, strict=True)])
    return Measure("write norm", "L2 norm", ("head", "key"), norms)


def disagreement(pattern: Float[Tensor, "*head query key"], norms: Float[Tensor, "*head key"]) -> Measure:
    """Weight minus share of the written norm: positive where a key has a large weight with a small effect.

    With `norms` as in `write_norms`, for one head or several: a_ij - a_ij n_j / sum_k a_ik n_k, -1 to 1. Rows sum to 0;
    where weights sum to less than 1, the written shares are scaled to their sum. NaN where a row writes nothing.
    """
    written = torch.einsum("...qk,...k->...qk", pattern, norms)
    shares = written * (pattern.sum(dim=-1) / written.sum(dim=-1))[..., None]
    axes = ("head", "query", "key")[-pattern.ndim :]
    return Measure("weight minus share of what is written", "share", axes, pattern - shares)


def without_first_key(pattern: Float[Tensor, "*lead query key"], renormalise: bool) -> Float[Tensor, "*lead query key"]:
    """The pattern with weight 0 on the first key, on which many heads rest when they have nothing to do.

    With `renormalise` the weights that remain are rescaled to sum to 1; a row in which none remains becomes NaN.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
    """
    rest = pattern.clone()
    rest[..., 0] = 0
    return rest / rest.sum(dim=-1, keepdim=True) if renormalise else rest


def max_pool(pattern: Shaped[Tensor, "*lead query key"], size: int) -> Shaped[Tensor, "*lead rows columns"]:
    """A thumbnail of at most size x size in the pattern's own unit, each pixel the exact maximum of its bin.

    The maximum keeps a diagonal one token wide as bright as it is. Every cell is in one bin; bins are those of
    `torch.tensor_split`: as equal as can be, the longer ones first. Short axes are not enlarged.
    """
    for axis in (-2, -1):
        n_bins = min(size, pattern.shape[axis])
        short, n_long = divmod(pattern.shape[axis], n_bins)
        begin = n_long * (short + 1)  # of the bins that are shorter by one
        long, rest = pattern.split([begin, pattern.shape[axis] - begin], axis)
        bins = long.unflatten(axis, (n_long, short + 1)), rest.unflatten(axis, (n_bins - n_long, short))
        pattern = torch.cat([cells.amax(axis if axis == -1 else -2) for cells in bins], axis)
    return pattern


def js_divergence(a: Float[Tensor, "*lead key"], b: Float[Tensor, "*lead key"]) -> Measure:
    """Jensen-Shannon divergence of two rows of weights, from 0 for equal rows to log 2 nats for disjoint ones.

    NaN where a row contains one.

    Source: Lin 1991, "Divergence Measures Based on the Shannon Entropy".
    """
    # A head's worth of rows at a time: the logarithms of a whole layer would be fresh memory of several times its size.
    pairs = zip(*(rows.reshape(-1, rows.shape[-1]).split(1024) for rows in (a, b)), strict=True)
    values = torch.cat([_js_divergence(*pair) for pair in pairs]).reshape(a.shape[:-1])
    return Measure("Jensen-Shannon divergence", "nats", ("layer", "head", "query")[3 - values.ndim :], values)


def _js_divergence(a: Float[Tensor, "row key"], b: Float[Tensor, "row key"]) -> Float[Tensor, " row"]:
    of_mean, of_a, of_b = (torch.special.entr(rows).sum(dim=-1) for rows in ((a + b) / 2, a, b))
    # Rounding alone can leave the bounds.
    return (of_mean - (of_a + of_b) / 2).clamp(0, math.log(2))


def most_alike(head: Float[Tensor, "query key"], patterns: Iterable[Pattern]) -> Measure:
    """Distance of every head from `head`: the mean Jensen-Shannon divergence of their rows (nats).

    The mean is over the queries for which both heads have a row.

    `patterns` is taken one layer at a time, so a generator that computes them on demand needs one layer's memory.
    """
    layers = [torch.stack([js_divergence(head, other).values.nanmean() for other in pattern]) for pattern in patterns]
    return Measure("Jensen-Shannon divergence", "nats", ("layer", "head"), torch.stack(layers))


def row_sum_error(pattern: Float[Tensor, "*lead query key"]) -> Measure:
    """Largest deviation of a row's weights from a sum of 1; rounding alone after a softmax."""
    return Measure("row sum error", "probability", (), (pattern.sum(dim=-1) - 1).abs().max())


@dataclass(frozen=True, eq=False)
class HeadScores:
    """Per head, the mean weight that this prompt's queries put on one kind of key; NaN where none has such a key."""

    previous_token: Measure
    first_token: Measure
    current_token: Measure
    duplicate_token: Measure
    induction: Measure


Cells = dict[str, tuple[Int[Tensor, " cell"], int]]
SINK_WEIGHT, SINK_HEADS, SINK_QUERIES = 0.3, 0.25, 4


def head_scores(
    pattern: Float[Tensor, "head pos pos"], tokens: Int[Tensor, " pos"], cells: Cells | None = None
) -> HeadScores:
    """Scores of each head on this prompt: mean weight (probability) over the queries that have such a key.

    - previous_token: the key just before the query.
    - first_token: the prompt's first key.
    - current_token: the query's own position.
    - duplicate_token: all earlier keys that hold the query's token.
    - induction: all keys just after such an earlier copy, the query itself excepted.

    The first query is left out everywhere, since a causal head has no choice there. `cells` is what `scored_cells`
    gives, which all patterns of a prompt can share.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022, "In-context
    Learning and Induction Heads".
    """
    means = {}
    for name, (chosen, n_queries) in (cells or scored_cells(tokens)).items():
        # One head at a time: where tokens repeat, the cells are half of the pattern.
        sums = torch.stack([head.take(chosen).sum() for head in pattern])
        means[name] = Measure(name.replace("_", " "), "probability", ("head",), sums / n_queries)
    return HeadScores(**means)


def sinks(rows: Float[Tensor, "head query key"], queries: Int[Tensor, " query"]) -> Int[Tensor, " sink"]:
    """Keys other than the first on which heads rest: attention sinks in mid-prompt.

    A head rests on a key that gets, on average, at least `SINK_WEIGHT` of the weight of the later queries. A key is a
    sink if at least `SINK_HEADS` of all heads rest on it, and `SINK_QUERIES` of the queries come after it.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks", for the first token.

    Args:
        rows: some queries' rows of the patterns of all heads.
        queries: the positions of these queries.
    """
    later = queries[:, None] > torch.arange(rows.shape[-1])
    count = later.sum(0)
    received = (rows * later).sum(1) / count.clamp(min=1)
    resting = (received >= SINK_WEIGHT).float().mean(0) >= SINK_HEADS
    resting[0] = False
    return (resting & (count >= SINK_QUERIES)).nonzero()[:, 0]


def scored_cells(tokens: Int[Tensor, " pos"]) -> Cells:
    """Cells of a prompt's pattern that each of the `HeadScores` averages, row by row, and the number of queries."""
    queries = torch.arange(1, len(tokens), device=tokens.device)
    repeats, copies = (tokens[:, None] == tokens).tril(diagonal=-1).nonzero(as_tuple=True)
    after = copies + 1
    pairs = {
        "previous_token": (queries, queries - 1),
        "first_token": (queries, torch.zeros_like(queries)),
        "current_token": (queries, queries),
        "duplicate_token": (repeats, copies),
        "induction": (repeats[after < repeats], after[after < repeats]),
    }
    return {name: (query * len(tokens) + key, torch.unique(query).numel()) for name, (query, key) in pairs.items()}
