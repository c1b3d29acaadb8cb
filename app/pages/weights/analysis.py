"""Circuits of heads by name, and the search for a circuit's highest and lowest pairs as jobs with progress."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headlight.app.runs import models, runs
from headlight.app.runs.cost import FLOPS
from headlight.model.runs.edits import Head
from headlight.model.runs.host import Steps
from headlight.model.weights.head_circuit import PIECE_BLOCKS, CircuitKind, HeadCircuit
from headlight.model.weights.pair_search import BLOCK_ROWS, LEADING, Ends, Extremes
from headlight.model.weights.qk_ov_circuits import Directions


@dataclass(frozen=True)
class CircuitKey:
    """One circuit of one head of a model; that of the model `less`, if one is named, is taken away from it.

    With rotary positions a QK circuit is that of a key `distance` tokens before its query.
    """

    model: str
    head: Head
    kind: CircuitKind
    less: str = ""
    distance: int = 0


@dataclass(frozen=True)
class Piece:
    """Some blocks of rows of a circuit, in which pairs are looked for after those of the pieces before."""

    circuit: CircuitKey
    number: int


def circuit_of(circuit: CircuitKey) -> HeadCircuit:
    """The circuit of a key; its results are cached."""
    less = models.open_model(circuit.less) if circuit.less else None
    return HeadCircuit(models.open_model(circuit.model), circuit.head, circuit.kind, less, runs.HOST, circuit.distance)


def directions_of(circuits: Mapping[str, CircuitKey]) -> dict[str, Directions]:
    """The singular directions of each circuit, by the names of their sides; with progress."""
    directions, steps = {}, Steps(runs.HOST, len(circuits))
    for side, each in circuits.items():
        directions[side] = circuit_of(each).directions()
        steps.add()
    return directions


def pieces_of(circuit: CircuitKey) -> tuple[Piece, ...]:
    """The search for the outermost pairs, in pieces that follow one another."""
    return tuple(Piece(circuit, number) for number in range(circuit_of(circuit).n_pieces))


def look(piece: Piece) -> Extremes:
    """The best pairs up to and including a piece, cached.

    Raises:
        BusyError: too many runs at once.
    """
    return circuit_of(piece.circuit).look(piece.number)


def is_done(piece: Piece) -> bool:
    """Whether a piece was looked at."""
    return runs.kept(circuit_of(piece.circuit).piece_key(piece.number)) is not None


def known_pairs(circuit: CircuitKey) -> Ends | None:
    """The highest and the lowest entries, where every piece was looked at."""
    return circuit_of(circuit).pairs() if is_done(pieces_of(circuit)[-1]) else None


def seconds(pieces: Sequence[Piece]) -> float:
    """Upper estimate of the time: as if every entry had to be bounded and then computed."""
    if not pieces:
        return 0.0
    circuit = pieces[0].circuit
    cfgs = [models.open_model(name).cfg for name in (circuit.model, circuit.less) if name]
    rank = sum((cfg.d_head if circuit.kind == "qk" else cfg.d_value) or cfg.d_head for cfg in cfgs)
    bounds = 2 * (LEADING + 2)
    n_entries = PIECE_BLOCKS * BLOCK_ROWS * len(pieces) * max(cfg.d_vocab for cfg in cfgs)
    return 2 * n_entries * (rank + bounds) / FLOPS
