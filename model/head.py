"""One head of a run, on demand: its attention, its weights, what it writes, and every step between them."""

from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.analysis import attention, head_steps
from headlight.model.layers import attention_scale
from headlight.model.run import Run


@dataclass(frozen=True)
class HeadAttention:
    """One head's attention on demand, row = query and column = key: scores (-inf where masked) and their softmax.

    Where an edit has changed the pattern it need not be that any more.
    """

    scores: Float[Tensor, "query key"]
    pattern: Float[Tensor, "query key"]
    edited: bool = False


def attend(made: Run, layer: int, head: int) -> HeadAttention:
    """One head's scores and pattern, computed anew from the run's queries and keys, and edited as in the run."""
    edited = [f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern")]
    whole = any(map(made.tap.look, edited))  # an edit finds its head by its place among all
    q, k, rule, at = made.queries(layer)[None], made.keys(layer)[None], made.rule(layer), head
    if not whole:
        one, group = slice(head, head + 1), made.cfg.group_of(head)
        q, k, rule, at = q[:, :, one], k[:, :, group : group + 1], rule.of_heads(one), 0
    with torch.inference_mode():
        scores = made.tap(edited[0], rule.scores(q, k))
        pattern = made.tap(edited[1], rule.pattern(scores))
        return HeadAttention(scores[0, at], pattern[0, at], bool(made.tap.look(edited[1])))


def write_norms(made: Run, layer: int, head: int) -> Float[Tensor, " key"]:
    """How long what each key writes through one head would be at weight 1: ‖v W_O‖ (L2 norm)."""
    v = made.values_of(layer, head)[:, None]
    W_O = made.model.block(layer).attn.W_O[head : head + 1]
    with torch.inference_mode():
        return attention.write_norms(v, W_O).values[0]


@dataclass(frozen=True, eq=False)
class HeadWeights:
    """One head's parameters, and its layer's LayerNorm (None where there is none), output bias and scale."""

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
    block = f"blocks.{layer}"
    parameters = {name: each.detach() for name, each in made.model.named_parameters() if name.startswith(f"{block}.")}
    own = {name: parameters[f"{block}.attn.{name}"][head] for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")}
    norm = None
    if made.cfg.normalization_type is not None:
        gain, bias = (parameters.get(f"{block}.ln1.{name}") for name in "wb")
        norm = head_steps.Norm(made.cfg.eps, gain, bias)
    return HeadWeights(norm, **own, b_O=parameters[f"{block}.attn.b_O"], attn_scale=attention_scale(made.cfg, layer))


def inside(made: Run, layer: int, head: int, query: int) -> head_steps.HeadSteps:
    """Every step of one head at one query, from the run's own queries, keys and values."""
    weights = head_weights(made, layer, head)
    q, k = made.queries(layer)[:, head], made.keys(layer)[:, made.cfg.group_of(head)]
    v, mask = made.values_of(layer, head), made.rule(layer).mask[0, 0, query]
    stream = next(islice(made.streams(), layer, None))
    with torch.inference_mode():
        return head_steps.head_steps(stream, weights.norm, q[query], k, v, weights.W_O, mask, weights.attn_scale)
