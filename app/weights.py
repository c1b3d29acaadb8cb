"""What a head's weights do with tokens, prompt or no prompt: its two circuits, and which earlier heads it reads.

The search for the outermost pairs of a whole vocabulary is made in pieces, so that it can be shown and stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from app import models, runs
from app.run import FLOPS
from app.selection.chosen import CircuitKind, Head
from model import Transformer
from model.analysis import Measure, circuits, composition, ov, pair_search
from model.analysis.circuits import Circuit, Directions, Pairs
from model.analysis.composition import Baseline, Product, Through
from model.analysis.pair_search import BLOCK_ROWS, LEADING, Ends, Found, PairSearch
from model.layers import attention_scale

N_PAIRS, N_DIRECTIONS, N_TOKENS = 20, 8, 6
THROUGH: tuple[Through, ...] = ("query", "key", "value")
PIECE_BLOCKS = 8  # blocks of rows that are searched at once: about a third of a second for GPT-2's vocabulary


@dataclass(frozen=True)
class Asked:
    """One circuit of one head of a model; that of the model `less`, if one is named, is taken away from it."""

    model: str
    head: Head
    kind: CircuitKind
    less: str = ""


def circuit(asked: Asked) -> Circuit:
    """A head's circuit, the LayerNorms' centring and gain counted, where the model has them.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(("circuit", asked), lambda: _difference(asked) if asked.less else _circuit(asked))


def _difference(asked: Asked) -> Circuit:
    a, b = circuit(replace(asked, model=asked.less, less="")), circuit(replace(asked, less=""))
    with runs.turn(), torch.inference_mode():
        return circuits.balanced(circuits.difference(a, b))


def _circuit(asked: Asked) -> Circuit:
    model, (layer, index) = models.open_model(asked.model), asked.head
    W_E, W_U = model.embed.W_E, model.unembed.W_U
    with runs.turn(), torch.inference_mode():
        W_Q, W_K, W_V, W_O = (each[index] for each in _matrices(model, layer))
        gain = _gain(model, f"blocks.{layer}.ln1.w")
        if asked.kind == "qk":
            made = circuits.qk_circuit(W_E, W_Q, W_K, attention_scale(model.cfg, layer), gain)
        else:
            made = circuits.ov_circuit(W_E, W_V, W_O, W_U, gain, _gain(model, "ln_final.w"))
        return circuits.balanced(made)


def _matrices(model: Transformer, layer: int) -> tuple[Tensor, ...]:
    return tuple(model.get_parameter(f"blocks.{layer}.attn.{name}") for name in ("W_Q", "W_K", "W_V", "W_O"))


def _gain(model: Transformer, name: str) -> Tensor | None:
    """A LayerNorm's gain: ones where it has none of its own, None where there is no LayerNorm."""
    if model.cfg.normalization_type is None:
        return None
    return dict(model.named_parameters()).get(name, torch.ones(model.cfg.d_model))


@dataclass(frozen=True)
class Piece:
    """Some blocks of rows of a circuit, in which pairs are looked for after those of the pieces before."""

    asked: Asked
    number: int


def pieces_of(asked: Asked) -> tuple[Piece, ...]:
    """The search for the outermost pairs, in pieces that follow one another."""
    n_rows = min(models.open_model(name).cfg.d_vocab for name in (asked.model, asked.less) if name)
    return tuple(Piece(asked, number) for number in range(-(-n_rows // (PIECE_BLOCKS * BLOCK_ROWS))))


def look(piece: Piece) -> Found:
    """What has been found after a piece, from the cache where it was looked at before.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(("pairs so far", piece), lambda: _look(piece))


def _look(piece: Piece) -> Found:
    search = _search(piece.asked)
    found = look(replace(piece, number=piece.number - 1)) if piece.number else search.nothing
    start = piece.number * PIECE_BLOCKS
    with runs.turn(), torch.inference_mode():
        for block in range(start, min(start + PIECE_BLOCKS, search.n_blocks)):
            found = search.look(found, block)
    return found


def _search(asked: Asked) -> PairSearch:
    whole = circuit(asked)
    with torch.inference_mode():
        return runs.remembered(("pair search", asked), lambda: pair_search.pair_search(whole, N_PAIRS))


def is_done(piece: Piece) -> bool:
    """Whether a piece was looked at."""
    return runs.recalled(("pairs so far", piece)) is not None


def pairs(asked: Asked) -> Ends:
    """The highest and the lowest entries of a whole circuit; pieces that were not looked at are looked at.

    Raises:
        BusyError: too many runs at once.
    """
    found = look(pieces_of(asked)[-1])
    return _search(asked).ends(found)


def known_pairs(asked: Asked) -> Ends | None:
    """The same without looking for them: None where not every piece was looked at."""
    return pairs(asked) if is_done(pieces_of(asked)[-1]) else None


def seconds(pieces: Sequence[Piece]) -> float:
    """How long these are estimated to take at most: as if every entry had to be bounded, and then made."""
    if not pieces:
        return 0.0
    asked = pieces[0].asked
    cfgs = [models.open_model(name).cfg for name in (asked.model, asked.less) if name]
    rank = sum((cfg.d_head if asked.kind == "qk" else cfg.d_value) or cfg.d_head for cfg in cfgs)
    bounds = 2 * (LEADING + 2)
    n_entries = PIECE_BLOCKS * BLOCK_ROWS * len(pieces) * max(cfg.d_vocab for cfg in cfgs)
    return 2 * n_entries * (rank + bounds) / FLOPS


def values_of(asked: Asked, found: Pairs) -> Measure:
    """A circuit's own entries at pairs of tokens, wherever these were found."""
    whole = circuit(asked)
    with torch.inference_mode():
        return circuits.entries(whole, found.rows.values, found.columns.values)


def partners(asked: Asked, token: int) -> tuple[Ends, Ends]:
    """One token's highest and lowest entries, as the row of a circuit and as its column.

    Raises:
        BusyError: too many runs at once.
    """
    whole = circuit(asked)
    with torch.inference_mode():
        row, column = (
            Ends(*(circuits.partners(each, token, N_PAIRS // 2, lowest) for lowest in (False, True)))
            for each in (whole, whole.T)
        )
    return row, column


def directions(asked: Asked) -> Directions:
    """A circuit's strongest singular directions, from the cache where they were computed before.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(("circuit's directions", asked), lambda: _directions(asked))


def _directions(asked: Asked) -> Directions:
    whole = circuit(asked)
    with runs.turn(), torch.inference_mode():
        return circuits.directions(whole, N_DIRECTIONS, N_TOKENS)


@dataclass(frozen=True, eq=False)
class Composed:
    """How much a head reads of what each earlier head writes [layer, head], and what random heads would score."""

    scores: dict[Through, Measure]
    random: dict[Through, Baseline]


def compositions(model_name: str, head: Head) -> Composed:
    """A head's composition with every head of the layers before its own; no layer where it is in the first.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(("compositions", model_name, head), lambda: _compositions(model_name, head))


def _compositions(model_name: str, head: Head) -> Composed:
    model, (layer, index) = models.open_model(model_name), head
    cfg, gain = model.cfg, _gain(model, f"blocks.{layer}.ln1.w")
    d_value = cfg.d_value or cfg.d_head
    W_Q, W_K, W_V, W_O = (each[index] for each in _matrices(model, layer))
    scores, random = {}, {}
    with runs.turn(), torch.inference_mode():
        for through in THROUGH:
            later = composition.reader(through, W_Q, W_K, W_V, W_O, gain)
            rows = [composition.composition(_written(model, earlier), later) for earlier in range(layer)]
            values = torch.stack(rows) if rows else torch.empty(0, cfg.n_heads)
            scores[through] = Measure(f"{through} composition", "share", ("layer", "head"), values)
            random[through] = composition.random_composition(through, cfg.d_model, cfg.d_head, d_value, gain)
    return Composed(scores, random)


def _written(model: Transformer, layer: int) -> Product:
    _, _, W_V, W_O = _matrices(model, layer)
    gain = _gain(model, f"blocks.{layer}.ln1.w")
    return Product(W_V if gain is None else ov.reading(W_V, gain), W_O)
