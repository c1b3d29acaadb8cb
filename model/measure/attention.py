"""Statistics of attention patterns: entropy, distance, writes, and kinds of tokens. Row = query, column = key."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.nn import functional

from headlight.model.measure import Measure

Pattern = Float[Tensor, "head query key"]
CACHED = 2**19  # cells of which what is computed from them stays in the processor's cache: 2 MB


def entropy(pattern: Pattern) -> Measure:
    """Entropy of each row: 0 nats for one attended token, log n for n equal weights. 0 log 0 counts as 0."""
    least = torch.finfo(pattern.dtype).tiny  # torch.special.entr does without, and takes twice as long
    blocks = pattern.flatten(0, 1).split(max(1, CACHED // pattern.shape[-1]))
    sums = [rows.clamp(min=least).log_().mul_(rows).sum(dim=-1).neg_() for rows in blocks]
    return Measure("attention entropy", "nats", ("head", "query"), torch.cat(sums).view(pattern.shape[:2]))


def mean_distance(pattern: Pattern, apart: Float[Tensor, "query key"] | None = None) -> Measure:
    """Mean attention distance of each row: the mean of |query - key| under its weights, in tokens.

    Absolute, so that in bidirectional attention left and right do not cancel; in causal attention it is query - key.
    `apart` is what `distances` gives, which patterns of one size can share.
    """
    apart = distances(*pattern.shape[-2:]).to(pattern) if apart is None else apart
    mean = torch.cat([torch.linalg.vecdot(heads, apart) for heads in _few_heads(pattern)])
    return Measure("mean attended distance", "tokens", ("head", "query"), mean)


def distances(n_queries: int, n_keys: int, first_query: int = 0) -> Float[Tensor, "query key"]:
    """The distance in tokens between each query, from the first of them on, and each key: |query - key|."""
    return (torch.arange(first_query, float(first_query + n_queries))[:, None] - torch.arange(float(n_keys))).abs_()


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


def without_keys(
    pattern: Float[Tensor, "*lead query key"], keys: Sequence[int], renormalise: bool
) -> Float[Tensor, "*lead query key"]:
    """The pattern with weight 0 on these keys, such as those on which many heads rest when they have nothing to do.

    With `renormalise` the weights that remain are rescaled to sum to 1; a row in which none remains becomes NaN.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks".
    """
    rest = pattern.clone()
    rest[..., list(keys)] = 0
    return rest / rest.sum(dim=-1, keepdim=True) if renormalise else rest


def max_pool(pattern: Shaped[Tensor, "*lead query key"], size: int) -> Shaped[Tensor, "*lead rows columns"]:
    """A thumbnail of at most size x size in the pattern's own unit, each pixel the exact maximum of its bin.

    The maximum keeps a diagonal one token wide as bright as it is. Every cell is in one bin; bins are those of
    `torch.tensor_split`: as equal as can be, the longer ones first. Short axes are not enlarged.
    """
    return _pool(_pool(pattern, -2, pattern.shape[-2], size), -1, pattern.shape[-1], size)


def max_pool_keys(
    rows: Float[Tensor, "*head query key"], n_keys: int, size: int
) -> Float[Tensor, "*head query columns"]:
    """Columns of a thumbnail, from some rows of a pattern with `n_keys` keys; the last, if zero, may be left out."""
    pooled = pool_keys(rows, n_keys, size)
    return functional.pad(pooled, (0, min(size, n_keys) - pooled.shape[-1]))


def pool_keys(rows: Float[Tensor, "*head query key"], n_keys: int, size: int) -> Float[Tensor, "*head query columns"]:
    """The same without the columns of which all keys are left out."""
    return _pool(rows, -1, n_keys, size)


def _pool(
    pattern: Shaped[Tensor, "*lead query key"], axis: int, n: int, size: int
) -> Shaped[Tensor, "*lead rows columns"]:
    """The maxima of an axis' bins, those of n tokens of which the last may be left out."""
    short, n_long = divmod(n, min(size, n))
    begin = min(n_long * (short + 1), pattern.shape[axis])  # of the bins that are shorter by one
    long, rest = pattern.split([begin, pattern.shape[axis] - begin], axis)
    return torch.cat([*_maxima(long, axis, short + 1), *_maxima(rest, axis, short)], axis)


def _maxima(
    pattern: Shaped[Tensor, "*lead query key"], axis: int, width: int
) -> Iterator[Shaped[Tensor, "*lead rows columns"]]:
    """The maxima of an axis' bins of one width, and of what is left at the end."""
    whole, left = pattern.split([n_whole := pattern.shape[axis] // width * width, pattern.shape[axis] - n_whole], axis)
    yield whole.unflatten(axis, (n_whole // width, width)).amax(axis if axis == -1 else -2)
    if left.shape[axis]:
        yield left.amax(axis, keepdim=True)


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
    # Relative entropies: of rows that are nearly equal, entropies would differ by less than they are rounded by.
    middle = ((a + b) / 2).clamp(min=torch.finfo(a.dtype).tiny)
    apart = torch.xlogy(a, a / middle).sum(-1) + torch.xlogy(b, b / middle).sum(-1)
    return (apart / 2).clamp(0, math.log(2))  # rounding alone can leave the bounds


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


Cells = dict[str, Int[Tensor, " cell"]]
SINK_WEIGHT, SINK_HEADS, SINK_QUERIES = 0.3, 0.15, 4
FEW_HEADS, SHARE_OF_FEW = 4, 0.25  # of a small model, in which a share of all heads is one or two


def head_scores(pattern: Float[Tensor, "head pos pos"], tokens: Int[Tensor, " pos"]) -> HeadScores:
    """Scores of each head on this prompt: mean weight (probability) over the queries that have such a key.

    - previous_token: the key just before the query.
    - first_token: the prompt's first key.
    - current_token: the query's own position.
    - duplicate_token: all earlier keys that hold the query's token.
    - induction: all keys just after such an earlier copy, the query itself excepted.

    The first query is left out everywhere, since a causal head has no choice there.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022, "In-context
    Learning and Induction Heads".
    """
    sums, n_queries = sum_cells(pattern, scored_cells(tokens)), n_scored(tokens)
    return HeadScores(
        **{
            name: Measure(name.replace("_", " "), "probability", ("head",), sums[name] / n_queries[name])
            for name in sums
        }
    )


def sum_cells(rows: Float[Tensor, "head query key"], cells: Cells) -> dict[str, Float[Tensor, " head"]]:
    """Each head's sum over the cells of each of the `HeadScores`."""
    few = [heads.flatten(1) for heads in _few_heads(rows)]  # where tokens repeat, the cells are half of the pattern
    return {name: torch.cat([heads[:, chosen].sum(1) for heads in few]) for name, chosen in cells.items()}


def _few_heads(rows: Pattern) -> Sequence[Pattern]:
    """Some heads at a time, of a long prompt one: what is computed from them stays in the processor's cache."""
    return rows.split(max(1, CACHED // rows[0].numel()))


def scores_at(
    rows: Float[Tensor, "*head query key"], tokens: Int[Tensor, " pos"], queries: Int[Tensor, " query"]
) -> dict[str, Float[Tensor, "*head"]]:
    """Each head's previous_token and induction of `head_scores` over some queries, the first token excepted.

    NaN where none of them has such a key.
    """
    queries, chosen = queries[queries > 0], rows[..., queries > 0, :]
    key = torch.arange(len(tokens))
    copies = (tokens[queries][:, None] == tokens) & (key < queries[:, None])
    after = copies.roll(1, 1) & (key < queries[:, None])  # the last key, rolled to the first, is before no query
    repeats = after.any(1)
    return {
        "previous_token": chosen[..., torch.arange(len(queries)), queries - 1].mean(-1),
        "induction": (chosen * after).sum(-1)[..., repeats].mean(-1),
    }


def sinks(rows: Float[Tensor, "head query key"], queries: Int[Tensor, " query"]) -> Int[Tensor, " sink"]:
    """Keys other than the first on which heads rest: attention sinks in mid-prompt.

    A head rests on a key that gets, on average, at least `SINK_WEIGHT` of the weight of the later queries. A key is a
    sink if at least `SINK_HEADS` of all heads rest on it (of a small model four, or a quarter of them), and
    `SINK_QUERIES` of the queries come after it.

    Source: Xiao et al. 2023, "Efficient Streaming Language Models with Attention Sinks", for the first token.

    Args:
        rows: some queries' rows of the patterns of all heads.
        queries: the positions of these queries.
    """
    later = queries[:, None] > torch.arange(rows.shape[-1])
    count = later.sum(0)
    received = (rows * later).sum(1) / count.clamp(min=1)
    n_heads = len(rows)
    enough = max(SINK_HEADS * n_heads, min(FEW_HEADS, SHARE_OF_FEW * n_heads))
    resting = (received >= SINK_WEIGHT).sum(0) >= enough
    resting[0] = False
    return (resting & (count >= SINK_QUERIES)).nonzero()[:, 0]


def sink_weights(
    rows: Float[Tensor, "head query key"], queries: Int[Tensor, " query"], at: Int[Tensor, " sink"]
) -> Measure:
    """Weight of each query on the sinks before it, added up; NaN where none is. Its mean is a head's score of sinks.

    Args:
        rows: some queries' rows of the patterns of some heads.
        queries: the positions of these queries.
        at: positions of the sinks, such as `sinks` finds.
    """
    before = queries[:, None] > at
    weights = (rows[..., at] * before).sum(-1).masked_fill(~before.any(1), torch.nan)
    return Measure("weight on other sinks", "probability", ("head", "query"), weights)


def scored_cells(
    tokens: Int[Tensor, " pos"], first_query: int = 0, n_queries: int | None = None, n_keys: int | None = None
) -> Cells:
    """Cells of a prompt's pattern that each of the `HeadScores` sums, row by row; by default those of all queries.

    They are numbered within the rows of these queries and the first `n_keys` keys, all that these queries see.
    """
    n_queries, n_keys = n_queries or len(tokens), n_keys or len(tokens)
    place = torch.arange(max(1, first_query), first_query + n_queries, device=tokens.device)
    equal = tokens[place][:, None] == tokens[:n_keys]
    repeats, copies = (equal & (place[:, None] > torch.arange(n_keys, device=tokens.device))).nonzero(as_tuple=True)
    repeats, after = place[repeats], copies + 1
    pairs = {
        "previous_token": (place, place - 1),
        "first_token": (place, torch.zeros_like(place)),
        "current_token": (place, place),
        "duplicate_token": (repeats, copies),
        "induction": (repeats[after < repeats], after[after < repeats]),
    }
    return {name: (query - first_query) * n_keys + key for name, (query, key) in pairs.items()}


def n_scored(tokens: Int[Tensor, " pos"]) -> dict[str, int]:
    """The number of a prompt's queries that have a key of the kind that each of the `HeadScores` is about."""
    n_pos = len(tokens)
    place = torch.arange(n_pos, device=tokens.device)
    distinct, kind = tokens.unique(return_inverse=True)
    first = place.new_full((len(distinct),), n_pos).scatter_reduce_(0, kind, place, "amin")
    since = place - first[kind]  # its first copy
    others = dict.fromkeys(("previous_token", "first_token", "current_token"), n_pos - 1)
    return others | {"duplicate_token": int((since > 0).sum()), "induction": int((since > 1).sum())}
