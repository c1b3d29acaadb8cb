"""One head of a run, on demand: its attention, its weights, its write, and every step between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure import attention, head_steps
from headlight.model.nn.layers import ScoreRule
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.layers.scores import Keys
from headlight.model.runs.linear import norm_before, write_scales, writes_at_unit_scale
from headlight.model.runs.run import Run

QUERIES = 256  # of which a layer's patterns are computed at a time: 38 MB at 4,096 tokens and nine heads


@dataclass(frozen=True)
class HeadAttention:
    """One head's attention on demand, row = query and column = key: scores (-inf where masked) and their softmax.

    Where an edit has changed the pattern it need not be that any more. A `sink` is a score that takes part in every
    row's softmax and stands for no key, so that rows sum to less than 1.
    """

    scores: Float[Tensor, "query key"]
    pattern: Float[Tensor, "query key"]
    edited: bool = False
    sink: float | None = None

    @property
    def to_sink(self) -> Float[Tensor, " query"]:
        """Weight of each row on the sink; empty without one."""
        if self.sink is None:
            return torch.zeros(len(self.pattern))
        return (self.sink - normalizers(self.scores, self.sink)).exp()


def normalizers(scores: Float[Tensor, "query key"], sink: float | None) -> Float[Tensor, " query"]:
    """Log-normalizer of each row's scores, with the sink's: subtracted, their exponentials sum to 1 (nats)."""
    of_keys = scores.logsumexp(-1)
    return of_keys if sink is None else of_keys.logaddexp(torch.tensor(sink))


def attend(made: Run, layer: int, head: int, queries: range | None = None) -> HeadAttention:
    """One head's scores and pattern, computed anew from the run's queries and keys, and edited as in the run.

    With `queries` they are these rows alone.
    """
    edited = _edited_names(layer)
    whole = any(map(made.tap.look, edited))  # an edit finds its head by its place among all
    q, k, rule, at = made.queries(layer)[None], made.keys(layer)[None], made.rule(layer), head
    if not whole:
        one, group = slice(head, head + 1), made.cfg.group_of(head)
        q, k, rule, at = q[:, :, one], k[:, :, group : group + 1], rule.of_heads(one), 0
        if queries is not None:
            q, rule = q[:, queries.start : queries.stop], rule.of_queries(list(queries))
    rows = slice(None) if queries is None or not whole else slice(queries.start, queries.stop)
    with torch.inference_mode():
        scores = made.tap(edited[0], rule.scores(q, k))
        pattern = made.tap(edited[1], rule.pattern(scores))
        sink = None if rule.sinks is None else float(rule.sinks[at])
        return HeadAttention(scores[0, at, rows], pattern[0, at, rows], bool(made.tap.look(edited[1])), sink)


@torch.inference_mode()
def patterns(made: Run, layer: int, queries: list[int]) -> Float[Tensor, "head query key"]:
    """These queries' rows of all patterns of a layer, edited as in the run."""
    names = _edited_names(layer)
    if not edits_patterns(made, layer):
        return _rows(made.queries(layer)[None], made.keys(layer)[None], made.rule(layer), queries)
    rule = made.rule(layer)  # an edit finds a query by its place among all
    scores = rule.scores(made.queries(layer)[None], made.keys(layer)[None])
    return made.tap(names[1], rule.pattern(made.tap(names[0], scores)))[0][:, queries]


def pattern_blocks(
    made: Run, layer: int, head: int | None = None
) -> Iterator[tuple[slice, Float[Tensor, "head query key"]]]:
    """All patterns of a layer, or one head's alone, some queries' rows at a time; those of an edited layer at once."""
    n_pos, heads = len(made.tokens), slice(None) if head is None else slice(head, head + 1)
    if edits_patterns(made, layer):
        yield slice(0, n_pos), patterns(made, layer, list(range(n_pos)))[heads]
        return
    rule = made.rule(layer) if head is None else made.rule(layer).of_heads(heads)
    q, k = made.queries(layer)[None], made.keys(layer)[None]
    if head is not None:
        group = made.cfg.group_of(head)
        q, k = q[:, :, heads], k[:, :, group : group + 1]
    for block in query_blocks(n_pos):
        made.host.check()
        with torch.inference_mode():
            yield block, _rows(q, k, rule, block)


@torch.inference_mode()
def patterns_of_layers(
    made: Run, layers: Sequence[int], queries: list[int] | slice
) -> Float[Tensor, "layer head query key"]:
    """These queries' rows of all patterns of several layers; of a short prompt computed together where that can be.

    Its layers have the same rule in most models, and a layer's few numbers take as many operations as those of all.
    """
    rules = [made.rule(layer) for layer in layers]
    if not all(map(rules[0].is_like, rules)) or any(edits_patterns(made, layer) for layer in layers):
        rows = list(range(len(made.tokens)))[queries] if isinstance(queries, slice) else queries
        return torch.stack([patterns(made, layer, rows) for layer in layers])
    q, k = (torch.cat(list(map(of_layer, layers)), 1)[None] for of_layer in (made.queries, made.keys))
    return _rows(q, k, rules[0], queries).unflatten(0, (len(layers), -1))


def query_blocks(n_pos: int) -> Iterator[slice]:
    """The queries whose rows of a pattern are computed at a time."""
    return (slice(first, min(first + QUERIES, n_pos)) for first in range(0, n_pos, QUERIES))


def edits_patterns(made: Run, layer: int) -> bool:
    """Whether an edit changes a layer's patterns."""
    return any(map(made.tap.look, _edited_names(layer)))


def _edited_names(layer: int) -> list[str]:
    """Names of the activations at which an edit changes a layer's patterns."""
    return [f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern")]


def _rows(
    q: Float[Tensor, "batch pos head d_head"], k: Keys, rule: ScoreRule, queries: list[int] | slice
) -> Float[Tensor, "head query key"]:
    of_queries = rule.of_queries(queries)
    return of_queries.pattern(of_queries.scores(q[:, queries], k))[0]


def write_norms(made: Run, layer: int, head: int) -> Float[Tensor, " key"]:
    """L2 norm of each key's write through one head at weight 1: ‖v W_O‖.

    Where a norm stands behind the heads, its gain is counted; its scale, which is the query's, is left out.
    """
    v, W_O = made.values_of(layer, head)[:, None], widened(made.model.block(layer).attn.W_O[head : head + 1])
    with torch.inference_mode():
        return attention.write_norms(v, writes_at_unit_scale(made.model, layer, W_O)).values[0]


def write_lengths(made: Run, layer: int, head: int, pattern: Float[Tensor, "query key"]) -> Float[Tensor, "query key"]:
    """L2 norm of each query's read from each key at these weights: weight times ‖v W_O‖.

    Where a norm stands behind the heads it is divided by that norm's scale at the query.
    """
    lengths, scales = pattern * write_norms(made, layer, head), write_scales(made, layer)
    return lengths if scales is None else lengths / scales[:, None]


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """One head's parameters, and the norm before its layer (None where there is none), output bias and scale."""

    norm: head_steps.Norm | None
    W_Q: Float[Tensor, "d_model d_head"]
    W_K: Float[Tensor, "d_model d_head"]
    W_V: Float[Tensor, "d_model d_value"]
    W_O: Float[Tensor, "d_value d_model"]
    b_Q: Float[Tensor, " d_head"]
    b_K: Float[Tensor, " d_head"]
    b_V: Float[Tensor, " d_value"]
    b_O: Float[Tensor, " d_model"]
    attn_scale: float


def head_weights(made: Run, layer: int, head: int) -> HeadWeights:
    """The parameters that a head computes with."""
    attn, group = made.model.block(layer).attn, made.cfg.group_of(head)
    (W_K, W_V), (b_K, b_V) = ([widened(each[group].detach()) for each in pair] for pair in attn.keys_and_values())
    W_Q, W_O, b_Q = (widened(each[head].detach()) for each in (attn.W_Q, attn.W_O, attn.b_Q))
    norm = norm_before(made.model, layer)
    return HeadWeights(norm, W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, attn.b_O.detach(), attn.attn_scale)


def inside(made: Run, layer: int, head: int, query: int) -> head_steps.HeadSteps:
    """Every step of one head at one query, from the run's own queries, keys and values."""
    weights = head_weights(made, layer, head)
    q, k = made.queries(layer)[:, head], made.keys(layer)[:, made.cfg.group_of(head)]
    v, rule = made.values_of(layer, head), made.rule(layer).of_heads(slice(head, head + 1)).of_queries([query])
    bias = None if rule.bias is None else rule.bias[0, 0, 0]
    sink = None if rule.sinks is None else float(rule.sinks[0])
    stream, mask = made.stream(layer), rule.mask[0, 0, 0]
    with torch.inference_mode():
        arguments = stream, weights.norm, q[query], k, v, weights.W_O, mask, weights.attn_scale
        first = _first(made, layer, weights, stream, query)
        return head_steps.head_steps(*arguments, bias, rule.soft_cap, sink, first)


def _first(
    made: Run, layer: int, weights: HeadWeights, stream: Float[Tensor, "pos d_model"], query: int
) -> tuple[Float[Tensor, " d_head"], Float[Tensor, "pos d_head"]] | None:
    """The query and the keys as they are read, where the layer goes on to normalise, clip or turn them."""
    cfg = made.cfg
    if made.model.block(layer).attn.rotary is None and not cfg.use_qk_norm and cfg.clip_qkv is None:
        return None
    read = stream if weights.norm is None else head_steps.normalize(stream, weights.norm).values.values
    return read[query] @ weights.W_Q + weights.b_Q, read @ weights.W_K + weights.b_K
