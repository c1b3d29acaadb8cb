"""Reach of an edit: the states of the residual stream that may differ because information flows there."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.edits import (
    SHARED,
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditDirection,
    EditFeature,
    FreezePatterns,
    Patch,
    Steer,
    follows_stream,
    layer_of,
)

Cone = Bool[Tensor, "state pos"]
Positions = Bool[Tensor, " pos"]
_EVERY_QUERY_READS = (
    *SHARED,
    *(f"{norm}.hook_{what}" for norm in ("ln1", "k_norm") for what in ("scale", "normalized")),
)


def cone(edits: Sequence[Edit], cfg: TransformerConfig, n_tokens: int) -> Cone:
    """States that may differ from the run without these edits: after the embedding and after each layer.

    A token is changed by what is done to it, and by attention to tokens that it can see and that are changed in the
    layer below. Freezing patterns changes nothing by itself.
    """
    begun = torch.zeros(cfg.n_layers + 1, n_tokens, dtype=torch.bool)
    for edit in edits:
        for state, positions in _begins(edit, cfg, n_tokens):
            begun[state] |= positions
    reached = [begun[0]]
    for here in begun[1:]:
        reached.append(here | _seen_from(reached[-1], cfg))
    return torch.stack(reached)


def _seen_from(changed: Positions, cfg: TransformerConfig) -> Positions:
    """The positions from which at least one changed position is seen."""
    return changed.cummax(0).values if cfg.attention_dir == "causal" else changed.any().expand_as(changed)


def _begins(edit: Edit, cfg: TransformerConfig, n_tokens: int) -> Iterator[tuple[int, Positions]]:
    """The first states that an edit may change, and at which positions."""
    match edit:
        case AblateHeads(heads=heads):
            for layer, _ in heads:
                yield layer + 1, _at((), n_tokens)
        case Drop(layer=layer):
            yield layer + 1, _at((), n_tokens)
        case AblateNeurons(neurons=neurons, positions=positions) | ClampNeurons(neurons=neurons, positions=positions):
            for layer, _ in neurons:
                yield layer + 1, _at(positions, n_tokens)
        case CutEdge(head=(layer, _), query=query):
            yield layer + 1, _at((query,), n_tokens)
        case Steer(layer=layer, positions=positions):
            yield layer, _at(positions, n_tokens)
        case EditDirection(layers=layers, positions=positions):
            for layer in layers or (0,):  # which layers the direction has is not known here
                yield layer, _at(positions, n_tokens)
        case Patch(name=name, positions=positions) | EditFeature(hook=name, positions=positions):
            yield from _patched(name, _at(positions, n_tokens), cfg)
        case FreezePatterns():
            return


def _patched(name: str, positions: Positions, cfg: TransformerConfig) -> Iterator[tuple[int, Positions]]:
    layer = layer_of(name)
    if name.endswith(_EVERY_QUERY_READS) and layer is not None:
        yield layer + 1, _seen_from(positions, cfg)
    elif layer is not None:
        yield layer + (not name.endswith("hook_resid_pre")), positions
    elif not follows_stream(name):
        yield 0, positions


def _at(positions: tuple[int, ...], n_tokens: int) -> Positions:
    """True at these positions, or at all where none is named."""
    chosen = torch.zeros(n_tokens, dtype=torch.bool)
    chosen[list(positions) or slice(None)] = True
    return chosen
