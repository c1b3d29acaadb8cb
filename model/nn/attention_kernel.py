"""A faster way through attention's einsums for a long prompt: a head at a time.

The scores of all heads go through memory that the system has to clear first, and at 1024 tokens that takes longer than
the arithmetic. One head's scores stay in the processor's cache.
"""

from collections.abc import Iterator

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.compute.backend import backend
from headlight.model.nn.hooks import Look, Tap

LONG = 256  # queries from which it was measured to be faster, on an AMD EPYC with torch 2.13

Queries = Float[Tensor, "batch query head d_head"]
Keys = Float[Tensor, "_ key kv_head d_head"]  # an edit may make a larger batch of one, here as below
Values = Float[Tensor, "_ key kv_head d_value"]
Mixture = Float[Tensor, "_ query head d_value"]
Pattern = Float[Tensor, "_ head query key"]
Mask = Bool[Tensor, "#batch 1 query key"]


def attend(q: Queries, k: Keys, v: Values, mask: Mask, attn_scale: float, tap: Tap) -> Mixture | None:
    """Fused attention; None where `Attention`'s own steps are as fast.

    It computes

    scores = einsum(q / attn_scale, k, "batch query head d_head, batch key head d_head -> batch head query key")
    pattern = scores.masked_fill(~mask, -inf).softmax(-1)
    return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")

    with the keys and values of each head, or of its group.
    """
    of_scores, of_pattern = tap.look("hook_attn_scores"), tap.look("hook_pattern")
    if len(v) != len(q) or v.dtype != q.dtype or not _is_long(q, k, mask):
        return None
    if of_scores <= Look.LATER and of_pattern <= (Look.BY_HEAD if len(q) == 1 else Look.LATER):
        return _attend_by_head(q, k, v, mask, attn_scale, tap)
    scores = tap("hook_attn_scores", _scores_by_head(q, k, mask, attn_scale))
    pattern = torch.softmax(scores, -1, out=scores if of_scores <= Look.LATER else None)
    del scores  # as large as the pattern, and not needed while the tap looks at that
    return _mixture(tap("hook_pattern", pattern), v)


def attention_scores(q: Queries, k: Keys, mask: Mask, attn_scale: float) -> Pattern | None:
    """Every head's scores as `attend` has them, or None where it has none."""
    return _scores_by_head(q, k, mask, attn_scale) if _is_long(q, k, mask) else None


def _is_long(q: Queries, k: Keys, mask: Mask) -> bool:
    """Whether a prompt is long, in float32 on the CPU, nothing that derivatives go to, and has a key for each query."""
    if q.shape[1] < LONG or not torch.is_inference_mode_enabled() or q.device.type != "cpu":
        return False
    return q.dtype == k.dtype == torch.float32 and len(q) == len(k) and bool(mask.any(-1).all())


def _attend_by_head(q: Queries, k: Keys, v: Values, mask: Mask, attn_scale: float, tap: Tap) -> Mixture:
    """The mixtures, of patterns that are computed, passed to the tap if it reads them, and freed one by one."""
    seen, z, hidden = tap.look("hook_pattern") is Look.BY_HEAD, q.new_empty(*q.shape[:3], v.shape[-1]), _hidden(mask)
    for row, head in _heads(q):
        scores = _scores_of_one(q, k, hidden, attn_scale, row, head)
        pattern = torch.softmax(scores, -1, out=scores)
        if seen:
            tap("hook_pattern", pattern)
        z[row, :, head] = _mix(pattern, v, row, _group(head, q, v))
    return z


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
    return ((row, head) for row in range(q.shape[0]) for head in range(q.shape[2]))


def _scores_of_one(
    q: Queries, k: Keys, hidden: Float[Tensor, "#batch 1 query key"], attn_scale: float, row: int, head: int
) -> Float[Tensor, "query key"]:
    keys = k[row, :, _group(head, q, k)].contiguous()
    scores = backend().multiply(q[row, :, head] / attn_scale, keys.T, None)
    return scores.add_(hidden[min(row, len(hidden) - 1), 0])  # several times faster than filling by a mask


def _group(head: int, per_head: Queries, shared: Keys | Values) -> int:
    """Index of a head's keys or values, which a group of heads may share."""
    return head * shared.shape[2] // per_head.shape[2]


def _mixture(pattern: Pattern, v: Values) -> Mixture:
    if len(pattern) != len(v):  # an edit at the pattern may make a larger batch of one
        v = v.repeat_interleave(pattern.shape[1] // v.shape[2], 2)
        return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")
    z = pattern.new_empty(len(v), pattern.shape[2], pattern.shape[1], v.shape[3])
    for row, head in _heads(z):
        z[row, :, head] = _mix(pattern[row, head], v, row, _group(head, z, v))
    return z


def _mix(pattern: Float[Tensor, "query key"], v: Values, row: int, group: int) -> Float[Tensor, "query d_value"]:
    return backend().multiply(pattern, v[row, :, group].contiguous(), None)
