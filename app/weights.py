"""What a head's weights do with tokens, prompt or no prompt: its two circuits, and which earlier heads it reads."""

from dataclasses import dataclass

import torch
from torch import Tensor

from app import models, runs
from app.run import FLOPS
from app.selection.chosen import CircuitKind, Head
from model import Transformer, TransformerConfig
from model.analysis import Measure, circuits, composition, ov
from model.analysis.circuits import Circuit, Directions, Pairs
from model.analysis.composition import Baseline, Product, Through
from model.layers import attention_scale

N_PAIRS, N_DIRECTIONS, N_TOKENS = 20, 8, 6
THROUGH: tuple[Through, ...] = ("query", "key", "value")


@dataclass(frozen=True, eq=False)
class Ends:
    """The entries at both ends of what was looked at."""

    highest: Pairs
    lowest: Pairs


def circuit(model_name: str, head: Head, kind: CircuitKind) -> Circuit:
    """A head's circuit, the LayerNorms' centring and gain counted, where the model has them.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(("circuit", model_name, head, kind), lambda: _circuit(model_name, head, kind))


def _circuit(model_name: str, head: Head, kind: CircuitKind) -> Circuit:
    model, (layer, index) = models.open_model(model_name), head
    W_E, W_U = model.embed.W_E, model.unembed.W_U
    with runs.turn(), torch.inference_mode():
        W_Q, W_K, W_V, W_O = (each[index] for each in _matrices(model, layer))
        gain = _gain(model, f"blocks.{layer}.ln1.w")
        if kind == "qk":
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


def pairs(model_name: str, head: Head, kind: CircuitKind) -> Ends:
    """The highest and the lowest entries of a whole circuit, from the cache where they were found before.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(_pairs_key(model_name, head, kind), lambda: _pairs(model_name, head, kind))


def known_pairs(model_name: str, head: Head, kind: CircuitKind) -> Ends | None:
    """The same without looking for them: None where they are not in the cache."""
    found: Ends | None = runs.recalled(_pairs_key(model_name, head, kind))
    return found


def _pairs_key(model_name: str, head: Head, kind: CircuitKind) -> tuple[str, str, Head, CircuitKind]:
    return "circuit's pairs", model_name, head, kind


def _pairs(model_name: str, head: Head, kind: CircuitKind) -> Ends:
    whole = circuit(model_name, head, kind)
    with runs.turn(), torch.inference_mode():
        return Ends(*(circuits.top_pairs(whole, N_PAIRS, lowest) for lowest in (False, True)))


def searching_seconds(cfg: TransformerConfig) -> float:
    """How long finding the pairs is estimated to take at most: as if every entry had to be made, for each end."""
    return 2 * 2 * cfg.d_vocab**2 * cfg.d_head / FLOPS


def partners(model_name: str, head: Head, kind: CircuitKind, token: int) -> tuple[Ends, Ends]:
    """One token's highest and lowest entries, as the row of a circuit and as its column.

    Raises:
        BusyError: too many runs at once.
    """
    whole = circuit(model_name, head, kind)
    with torch.inference_mode():
        row, column = (
            Ends(*(circuits.partners(each, token, N_PAIRS // 2, lowest) for lowest in (False, True)))
            for each in (whole, whole.T)
        )
    return row, column


def directions(model_name: str, head: Head, kind: CircuitKind) -> Directions:
    """A circuit's strongest singular directions, from the cache where they were computed before.

    Raises:
        BusyError: too many runs at once.
    """
    return runs.remembered(
        ("circuit's directions", model_name, head, kind), lambda: _directions(model_name, head, kind)
    )


def _directions(model_name: str, head: Head, kind: CircuitKind) -> Directions:
    whole = circuit(model_name, head, kind)
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
