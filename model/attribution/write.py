"""An edge's write: the tokens that it promotes and suppresses, and its direct effect on a logit difference."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.logits import (
    Question,
    final_norm,
    read_of,
    unembedding,
    writes_at_the_end,
    writes_of,
)
from headlight.model.attribution.output_layers import output_layers
from headlight.model.attribution.parts import stream_at
from headlight.model.attribution.score import Cell
from headlight.model.measure import Measure
from headlight.model.measure.score_parts import normalized
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run

MAX_PROMOTED = 10


@dataclass(frozen=True, eq=False)
class Written:
    """An edge's write: its norm, the tokens that it promotes, and its direct effect at the query's position.

    The effect (logits) is on target minus distractor as they are read off that position's own final stream.
    """

    norm: Measure
    tokens: Promoted
    effect: Measure


@kept
@torch.inference_mode()
def explain_write(run: Run, cell: Cell, question: Question) -> Written:
    """The cell's write: weight times value, through W_O."""
    head = cell.layer, cell.head
    read, stream = read_of(run, replace(question, position=cell.query)), stream_at(run, cell.query)
    write = writes_at_the_end(run, head, cell.query)[[cell.key]]
    effect = direct_effects.direct_effects(write, stream, read.norm, read.direction)
    return Written(
        norm=Measure("L2 norm of the write", "L2 norm", (), writes_of(run, head, cell.query)[cell.key].norm()),
        tokens=direct_effects.most_moved(_token_effects(run, cell), MAX_PROMOTED),
        effect=Measure(effect.name, effect.unit, (), effect.values[0]),
    )


def written_apart(a: tuple[Run, Cell], b: tuple[Run, Cell]) -> Promoted:
    """The tokens with the largest and lowest difference of B's and A's effects.

    Each is read at the scale of its own run.
    """
    (run, of_run), (other, of_other) = a, b
    return run.keep(("written apart", of_run, other.key, of_other), lambda: _written_apart(a, b))


@torch.inference_mode()
def _written_apart(a: tuple[Run, Cell], b: tuple[Run, Cell]) -> Promoted:
    of_a, of_b = _token_effects(*a), _token_effects(*b)
    n_ids = min(len(of_a), len(of_b))  # that both have: a fine-tuning may have added some behind them
    apart = of_b[:n_ids] - of_a[:n_ids]
    return direct_effects.most_moved(apart, MAX_PROMOTED)


def _token_effects(run: Run, cell: Cell) -> Float[Tensor, " d_vocab"]:
    """The cell's direct effect on every output, read at its own query."""
    write = writes_at_the_end(run, (cell.layer, cell.head), cell.query)[cell.key]
    return effects_on_outputs(run, write, cell.query)


def effects_on_outputs(run: Run, write: Float[Tensor, " d_model"], position: int) -> Float[Tensor, " d_vocab"]:
    """The direct effect on every output of a part of a position's final stream."""
    rows = normalized(write[None], stream_at(run, position), final_norm(run))
    for layer in output_layers(run, position):
        rows = layer.forward(rows)
    W_U = unembedding(run)
    return (rows[0] / len(run.tokens) if run.cfg.pools_mean else rows[0]).to(W_U) @ W_U
