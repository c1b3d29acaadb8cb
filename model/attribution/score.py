"""Attention score of a cell as a sum over pairs of components: one in the query's stream, one in the key's."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.attribution.parts import EDITS, Parts, parts_at
from headlight.model.base.errors import InputError
from headlight.model.measure import score_parts
from headlight.model.measure.score_parts import Rows, ScoreParts
from headlight.model.runs.edits.interventions import check_cell, check_head
from headlight.model.runs.head import HeadWeights, attend, head_weights
from headlight.model.runs.host import kept
from headlight.model.runs.linear import BiasName, has_bias, head_norm
from headlight.model.runs.run import Run

NORM_BIAS = "LayerNorm's bias"
POSITION_BIAS = "position's bias (ALiBi)"


@dataclass(frozen=True)
class Cell:
    """One head's query and key, all of them indices."""

    layer: int
    head: int
    query: int
    key: int


def check(run: Run, cell: Cell) -> None:
    """Refuse a cell that the run does not have.

    Raises:
        InputError: it says why, and what there is.
    """
    check_head(run.cfg, cell.layer, cell.head)
    check_cell(run.cfg, len(run.tokens), cell.query, cell.key)
    if not run.rule(cell.layer).mask_of([cell.query])[0, 0, 0, cell.key]:
        raise InputError(
            f"In layer {cell.layer} query {cell.query} cannot look at key {cell.key}: it sees no farther than its "
            f"window of {run.cfg.window(cell.layer)} tokens. Choose a nearer key, or a head of another layer."
        )


@dataclass(frozen=True, eq=False)
class Why:
    """A cell's score in parts, with the names of the query's rows and the key's columns, and its weight.

    With a soft cap the parts are those of the score before it, and `capped` is what the cap makes of the score.
    """

    query_names: tuple[str, ...]
    key_names: tuple[str, ...]
    parts: ScoreParts
    weight: float
    capped: float | None = None


@kept
def explain_cell(run: Run, cell: Cell) -> Why:
    """The score of a cell, part by part."""
    return explain_parts(run, cell, parts_at(run, cell.query, cell.layer), parts_at(run, cell.key, cell.layer))


def explain_parts(run: Run, cell: Cell, of_query: Parts, of_key: Parts) -> Why:
    """A cell's score by any parts that the streams at its query and its key are the sums of.

    They are the rows of the query and the columns of the key; with the bias of the pair they add up to the score.
    """
    weights, attended = head_weights(run, cell.layer, cell.head), attend(run, cell.layer, cell.head)
    attn = run.model.block(cell.layer).attn
    q, k = run.queries(cell.layer)[:, cell.head], run.keys(cell.layer)[:, run.cfg.group_of(cell.head)]
    with torch.inference_mode():
        query = _side(run, cell, weights, attn.q_norm, "query", q[cell.query], of_query)
        key = _side(run, cell, weights, attn.k_norm, "key", k[cell.key], of_key)
        score, bias, capped = _score(run, cell, float(attended.scores[cell.query, cell.key]))
        parts = score_parts.score_parts(query.rows, key.rows, weights.attn_scale, score, bias)
    names = () if bias is None else (POSITION_BIAS,)
    weight = float(attended.pattern[cell.query, cell.key])
    return Why((*query.names, *names), (*key.names, *names), parts, weight, capped)


def _score(run: Run, cell: Cell, score: float) -> tuple[float, float | None, float | None]:
    """A cell's score before any soft cap, its bias term, and the score after the cap."""
    rule = run.rule(cell.layer).of_queries([cell.query]).of_heads(slice(cell.head, cell.head + 1))
    bias = None if rule.bias is None else float(rule.bias[0, 0, 0, cell.key])
    if rule.soft_cap is None:
        return score, bias, None
    group = run.cfg.group_of(cell.head)
    q = run.queries(cell.layer)[None, [cell.query], cell.head : cell.head + 1]
    k = run.keys(cell.layer)[None, :, group : group + 1]
    return float(replace(rule, soft_cap=None).scores(q, k)[0, 0, 0, cell.key]), bias, score


class _Side(NamedTuple):
    """The parts of a query or a key: rows that sum to it as it enters the score, and their names."""

    names: tuple[str, ...]
    rows: Rows


def _side(
    run: Run,
    cell: Cell,
    weights: HeadWeights,
    side_norm: nn.Module,
    what: Literal["query", "key"],
    compared: Float[Tensor, " d_head"],
    parts: Parts,
) -> _Side:
    layer, position = cell.layer, cell.query if what == "query" else cell.key
    W, b = (weights.W_Q, weights.b_Q) if what == "query" else (weights.W_K, weights.b_K)
    rows = score_parts.projected(parts.vectors, parts.stream, weights.norm, W, b)
    bias: BiasName = "b_Q" if what == "query" else "b_K"
    names = [part.name for part in parts.parts]
    is_listed = {  # what a model does not have is no part
        NORM_BIAS: weights.norm is not None and weights.norm.b is not None,
        f"{what}'s bias {bias}": has_bias(run.model, layer, bias),
    }
    rows = rows[[*[True] * len(names), *is_listed.values()]]
    names += [name for name, is_there in is_listed.items() if is_there]
    slot = cell.head if what == "query" else run.cfg.group_of(cell.head)
    if run.cfg.qk_norm_after_rotary:
        rows = _turned(run, layer, position, rows, what)
    if (norm := head_norm(side_norm, slot, run.cfg.d_head)) is not None:
        scale = run.cache[f"blocks.{layer}.attn.{what[0]}_norm.hook_scale"][position].flatten()
        rows = score_parts.rescaled(rows, norm, scale[slot if len(scale) > 1 else 0].double())
        if norm.b is not None:
            names, rows = [*names, f"bias of the {what}'s norm"], torch.cat([rows, norm.b.double()[None]])
    if run.cfg.clip_qkv is not None:
        names, rows = [*names, f"clipping of the {what}"], score_parts.clipped(rows, run.cfg.clip_qkv)
    if not run.cfg.qk_norm_after_rotary:
        rows = _turned(run, layer, position, rows, what)
    if run.edits:  # of the query or the key itself
        names, rows = [*names, f"{EDITS} of it"], torch.cat([rows, (compared.double() - rows.sum(0))[None]])
    return _Side(tuple(names), rows)


def _turned(run: Run, layer: int, position: int, rows: Rows, what: Literal["query", "key"]) -> Rows:
    """The rows as rotary positions turn the query or the key at a position; as they are where nothing is turned."""
    rotary = run.model.block(layer).attn.rotary
    if rotary is None:
        return rows
    at = torch.tensor([[position]])
    waves = rotary.waves(at, len(run.tokens))
    every = rows[None, None]
    return (rotary.turn(every, waves) if what == "key" else rotary.turn_queries(every, waves, at))[0, 0]
