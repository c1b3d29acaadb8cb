"""Faster ways through attention's einsums: a head at a time for a long prompt, in one step for a single token.

The scores of all heads go through memory that the system has to clear first, and at 1024 tokens that takes longer than
the arithmetic. One head's scores stay in the processor's cache.
"""

from collections.abc import Iterator

import torch
from einops import einsum
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from model.backend import backend
from model.hooks import Tap

LONG = 256  # queries from which it was measured to be faster, on an AMD EPYC with torch 2.13

Queries = Float[Tensor, "batch query head d_head"]
Keys = Float[Tensor, "batch key head d_head"]
Values = Float[Tensor, "batch key head d_value"]
Mixture = Float[Tensor, "_ query head d_value"]  # an edit may make a larger batch of one
Pattern = Float[Tensor, "_ head query key"]
Visible = Bool[Tensor, "#batch 1 query key"]


def is_long(q: Queries, k: Float[Tensor, "_ key head d_head"], v: Values, visible: Visible) -> bool:
    """Whether a prompt is long, in float32 on the CPU, nothing that derivatives go to, and has a key for each query."""
    if q.shape[1] < LONG or not torch.is_inference_mode_enabled() or q.device.type != "cpu":
        return False
    alike = all(each.dtype == torch.float32 and len(each) == len(q) for each in (q, k, v))
    return alike and bool(visible.any(-1).all())


def attend_by_head(q: Queries, k: Keys, v: Values, visible: Visible, attn_scale: float, tap: Tap) -> Mixture:
    """Every head's mixture of values; the tap is shown scores and pattern if it looks at them.

    scores = einsum(q / attn_scale, k, "batch query head d_head, batch key head d_head -> batch head query key")
    pattern = scores.masked_fill(~visible, -inf).softmax(-1)
    return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")
    """
    watch = tap.watcher("hook_pattern") if len(q) == 1 else None
    if tap.ignores("hook_attn_scores") and (watch or tap.ignores("hook_pattern")):
        z, hidden = q.new_empty(*q.shape[:3], v.shape[-1]), _hidden(visible)
        for row, head in _heads(q):
            scores = _scores_of_one(q, k, hidden, attn_scale, row, head)
            pattern = torch.softmax(scores, -1, out=scores)
            if watch:
                watch(pattern)
            z[row, :, head] = _mix(pattern, v, row, head)
        return z
    scores = tap("hook_attn_scores", scores_by_head(q, k, visible, attn_scale))
    unseen = tap.ignores("hook_attn_scores")
    pattern = torch.softmax(scores, -1, out=scores) if unseen else scores.softmax(-1)
    del scores  # as large as the pattern, and not needed while the tap looks at that
    return _mixture(tap("hook_pattern", pattern), v)


def scores_by_head(q: Queries, k: Keys, visible: Visible, attn_scale: float) -> Float[Tensor, "batch head query key"]:
    """Every head's scores as `attend_by_head` has them."""
    hidden = _hidden(visible)
    scores = q.new_empty(q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    for row, head in _heads(q):
        scores[row, head] = _scores_of_one(q, k, hidden, attn_scale, row, head)
    return scores


def is_one_token(q: Queries, tap: Tap) -> bool:
    """Whether there is one query, as where a token is written, and nobody looks at its scores and pattern."""
    one = q.shape[1] == 1 and torch.is_inference_mode_enabled() and q.device.type == "cpu"
    return one and tap.ignores("hook_attn_scores") and tap.ignores("hook_pattern")


def attend_with_one_token(q: Queries, k: Keys, v: Values, visible: Visible, attn_scale: float) -> Mixture:
    """The same of one query, in torch's one step: there the time goes into calling steps, not into arithmetic."""
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    return F.scaled_dot_product_attention(q, k, v, visible, scale=1 / attn_scale).transpose(1, 2)


def _hidden(visible: Visible) -> Float[Tensor, "#batch 1 query key"]:
    """What is added to scores: -inf where the key is not visible to the query."""
    return torch.zeros(visible.shape).masked_fill_(~visible, -torch.inf)


def _heads(q: Queries) -> Iterator[tuple[int, int]]:
    """Each head of each row of the batch."""
    return ((row, head) for row in range(q.shape[0]) for head in range(q.shape[2]))


def _scores_of_one(
    q: Queries, k: Keys, hidden: Float[Tensor, "#batch 1 query key"], attn_scale: float, row: int, head: int
) -> Float[Tensor, "query key"]:
    scores = backend().multiply(q[row, :, head] / attn_scale, k[row, :, head].contiguous().T, None)
    return scores.add_(hidden[min(row, len(hidden) - 1), 0])  # several times faster than filling by a mask


def _mix(pattern: Float[Tensor, "query key"], v: Values, row: int, head: int) -> Float[Tensor, "query d_value"]:
    return backend().multiply(pattern, v[row, :, head].contiguous(), None)


def _mixture(pattern: Pattern, v: Values) -> Mixture:
    if len(pattern) != len(v):  # an edit at the pattern may make a larger batch of one
        return einsum(pattern, v, "batch head query key, batch key head d_head -> batch query head d_head")
    z = pattern.new_empty(len(v), pattern.shape[2], *v.shape[2:])
    for row, head in _heads(z):
        z[row, :, head] = _mix(pattern[row, head], v, row, head)
    return z
