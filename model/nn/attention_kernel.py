"""A faster way through attention for a long prompt: some queries of a head at a time, or torch's fused kernel.

The scores of all heads go through memory that the system has to clear first, and at 1024 tokens that takes longer than
the arithmetic. Those of some queries stay in the processor's cache, and keys that none of them sees are left out: half
of all where attention is causal.
"""

from collections.abc import Callable, Iterator
from itertools import product

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from headlight.model.compute.backend import backend
from headlight.model.nn.hooks import Look, Tap

LONG = 256  # queries from which it was measured to be faster, on an AMD EPYC with torch 2.13
ROWS = 128  # queries at a time: 2 MB of scores at 4096 keys; of 64 to 256 the fastest there

Queries = Float[Tensor, "batch query head d_head"]
Keys = Float[Tensor, "_ key kv_head d_head"]  # an edit may make a larger batch of one, here as below
Values = Float[Tensor, "_ key kv_head d_value"]
Mixture = Float[Tensor, "_ query head d_value"]
Pattern = Float[Tensor, "_ head query key"]
Mask = Bool[Tensor, "#batch 1 query key"]


def attend(
    q: Queries, k: Keys, v: Values, build_mask: Callable[[], Mask], attn_scale: float, tap: Tap, causal: bool = False
) -> Mixture | None:
    """Fused attention; None where `Attention`'s own steps are as fast.

    It computes

    scores = einsum(q / attn_scale, k, "batch query head d_head, batch key head d_head -> batch head query key")
    pattern = scores.masked_fill(~mask, -inf).softmax(-1)
    return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")

    with the keys and values of each head, or of its group. `causal` says that `is_causal` holds of the mask, which then
    is not built for the fused kernel.
    """
    of_scores, of_pattern = tap.look("hook_attn_scores"), tap.look("hook_pattern")
    if len(v) != len(q) or v.dtype != q.dtype or not _is_long(q, k):
        return None
    is_unseen = of_scores <= Look.LATER and of_pattern <= Look.LATER
    if is_unseen and causal and q.shape[3] == v.shape[3]:
        return _fused(q, k, v, attn_scale)
    mask = build_mask()
    if not causal and not _has_keys(mask):
        return None
    if is_unseen:
        return _attend_by_rows(q, k, v, mask, attn_scale)
    scores = tap("hook_attn_scores", _scores_by_head(q, k, mask, attn_scale))
    pattern = torch.softmax(scores, -1, out=scores if of_scores <= Look.LATER else None)
    del scores  # as large as the pattern, and not needed while the tap looks at that
    return _mixture(tap("hook_pattern", pattern), v)


def attention_scores(q: Queries, k: Keys, mask: Mask, attn_scale: float) -> Pattern | None:
    """Every head's scores as `attend` has them, or None where it has none."""
    return _scores_by_head(q, k, mask, attn_scale) if _is_long(q, k) and _has_keys(mask) else None


def _is_long(q: Queries, k: Keys) -> bool:
    """Whether a prompt is long, in float32 on the CPU, and nothing that derivatives go to."""
    if q.shape[1] < LONG or not torch.is_inference_mode_enabled() or q.device.type != "cpu":
        return False
    return q.dtype == k.dtype == torch.float32 and len(q) == len(k)


def _has_keys(mask: Mask) -> bool:
    """Whether each query sees a key."""
    return bool(mask.any(-1).all())


def is_causal(mask: Mask) -> bool:
    """Whether each query sees itself and all before it, in every row of the batch."""
    n_queries, n_keys = mask.shape[2:]
    if n_queries != n_keys:
        return False
    query, key = torch.arange(n_queries, device=mask.device)[:, None], torch.arange(n_keys, device=mask.device)
    blocks = zip(mask.split(ROWS, 2), query.split(ROWS), strict=True)  # a copy of the mask would be as large as it is
    return all(bool((rows == (key <= queries)).all()) for rows, queries in blocks)


def _fused(q: Queries, k: Keys, v: Values, attn_scale: float) -> Mixture:
    """The mixtures of causal attention by torch's own kernel, which forms no pattern."""
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    is_grouped = q.shape[1] != k.shape[1]
    z = functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1 / attn_scale, enable_gqa=is_grouped)
    return z.transpose(1, 2)


def _attend_by_rows(q: Queries, k: Keys, v: Values, mask: Mask, attn_scale: float) -> Mixture:
    """The mixtures, of some queries' patterns at a time."""
    z = q.new_empty(*q.shape[:3], v.shape[3])
    q, k, v = (each.transpose(1, 2).contiguous() for each in (q / attn_scale, k, v))
    scores = q.new_empty(ROWS * k.shape[2])  # the memory of all of them, one after the other
    for row, first in product(range(len(q)), range(0, q.shape[2], ROWS)):
        queries, may_see = slice(first, first + ROWS), mask[min(row, len(mask) - 1), 0, first : first + ROWS]
        n_seen_by_all, n_keys = _seen(may_see)
        hidden = ~may_see[:, n_seen_by_all:n_keys]
        for head in range(q.shape[1]):
            group = _group(head, q.shape[1], k.shape[1])
            pattern = scores[: hidden.shape[0] * n_keys].view(-1, n_keys)
            torch.mm(q[row, head, queries], k[row, group, :n_keys].T, out=pattern)
            pattern[:, n_seen_by_all:].masked_fill_(hidden, -torch.inf)
            torch.softmax(pattern, -1, out=pattern)
            z[row, queries, head] = pattern @ v[row, group, :n_keys]
    return z


def _seen(may_see: Bool[Tensor, "query key"]) -> tuple[int, int]:
    """How many of the first keys all of some queries see, and up to which key any of them sees one."""
    hidden, visible = (~may_see.all(0)).nonzero(), may_see.any(0).nonzero()
    return int(hidden[0]) if len(hidden) else may_see.shape[1], int(visible[-1]) + 1


def _scores_by_head(q: Queries, k: Keys, mask: Mask, attn_scale: float) -> Pattern:
    scores, hidden = q.new_empty(q.shape[0], q.shape[2], q.shape[1], k.shape[1]), _hidden(mask)
    for row, head in _heads(q):
        scores[row, head] = _scores_of_one(q, k, hidden, attn_scale, row, head)
    return scores


def _hidden(mask: Mask) -> Float[Tensor, "#batch 1 query key"]:
    """Additive mask of the scores: -inf where the query does not see the key."""
    return torch.zeros(mask.shape).masked_fill_(~mask, -torch.inf)


def _heads(q: Queries) -> Iterator[tuple[int, int]]:
    """Each head of each row of the batch."""
    return product(range(q.shape[0]), range(q.shape[2]))


def _scores_of_one(
    q: Queries, k: Keys, hidden: Float[Tensor, "#batch 1 query key"], attn_scale: float, row: int, head: int
) -> Float[Tensor, "query key"]:
    keys = k[row, :, _group(head, q.shape[2], k.shape[2])].contiguous()
    scores = backend().multiply(q[row, :, head] / attn_scale, keys.T, None)
    return scores.add_(hidden[min(row, len(hidden) - 1), 0])  # several times faster than filling by a mask


def _group(head: int, n_heads: int, n_groups: int) -> int:
    """Index of a head's keys or values, which a group of heads may share."""
    return head * n_groups // n_heads


def _mixture(pattern: Pattern, v: Values) -> Mixture:
    if len(pattern) != len(v):  # an edit at the pattern may make a larger batch of one
        v = v.repeat_interleave(pattern.shape[1] // v.shape[2], 2)
        return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")
    z = pattern.new_empty(len(v), pattern.shape[2], pattern.shape[1], v.shape[3])
    for row, head in _heads(z):
        z[row, :, head] = _mix(pattern[row, head], v, row, _group(head, z.shape[2], v.shape[2]))
    return z


def _mix(pattern: Float[Tensor, "query key"], v: Values, row: int, group: int) -> Float[Tensor, "query d_value"]:
    return backend().multiply(pattern, v[row, :, group].contiguous(), None)
