"""An edge's write: the tokens that it promotes and suppresses, and its direct effect on a logit difference."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.logits import Question, final_norm, read_of, unembedding, writes_of
from headlight.model.attribution.parts import parts_at
from headlight.model.attribution.score import Cell
from headlight.model.measure import Measure
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
    write = writes_of(run, (cell.layer, cell.head), cell.query)[cell.key]
    read, stream = read_of(run, question), parts_at(run, cell.query).stream
    effect = direct_effects.direct_effects(write[None], stream, read.norm, read.direction)
    return Written(
        norm=Measure("L2 norm of the write", "L2 norm", (), write.norm()),
        tokens=direct_effects.promoted(write, stream, read.norm, unembedding(run), MAX_PROMOTED),
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
    write = writes_of(run, (cell.layer, cell.head), cell.query)[cell.key]
    return direct_effects.token_effects(write, parts_at(run, cell.query).stream, final_norm(run), unembedding(run))
