"""Why a query looks at a key: the score of a cell in parts, one for each pair of those who wrote to query and key."""

from dataclasses import dataclass

import torch

from headlight.model.analysis import score_parts
from headlight.model.analysis.score_parts import ScoreParts
from headlight.model.edits.interventions import check_cell, check_head
from headlight.model.explain.parts import EDITS, parts_at
from headlight.model.head import attend, head_weights
from headlight.model.run import Run

NORM_BIAS = "LayerNorm's bias"


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


@dataclass(frozen=True, eq=False)
class Why:
    """A cell's score in parts, with the names of the query's rows and the key's columns, and its weight."""

    query_names: tuple[str, ...]
    key_names: tuple[str, ...]
    found: ScoreParts
    weight: float


def explain_cell(run: Run, cell: Cell) -> Why:
    """The score of a cell, part by part."""
    return run.keep(("why", cell), lambda: _explained(run, cell))


def _explained(run: Run, cell: Cell) -> Why:
    weights, attended = head_weights(run, cell.layer, cell.head), attend(run, cell.layer, cell.head)
    query, key = (parts_at(run, position, cell.layer) for position in (cell.query, cell.key))
    q, k = (run.cache[name, cell.layer][:, cell.head] for name in ("q", "k"))
    with torch.inference_mode():
        rows = score_parts.projected(query.vectors, query.stream, weights.norm, weights.W_Q, weights.b_Q)
        columns = score_parts.projected(key.vectors, key.stream, weights.norm, weights.W_K, weights.b_K)
        if run.edits:  # of the query or the key itself
            rows, columns = (
                torch.cat([parts, (whole.double() - parts.sum(0))[None]])
                for parts, whole in ((rows, q[cell.query]), (columns, k[cell.key]))
            )
        score = float(attended.scores[cell.query, cell.key])
        found = score_parts.score_parts(rows, columns, weights.attn_scale, score)
    names = (*(each.name for each in query.parts), NORM_BIAS)
    edits = (f"{EDITS} of it",) if run.edits else ()
    weight = float(attended.pattern[cell.query, cell.key])
    return Why((*names, "query's bias b_Q", *edits), (*names, "key's bias b_K", *edits), found, weight)
