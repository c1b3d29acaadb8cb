"""Whether an edit fits a model and a prompt."""

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.edits.interventions import check_cell, check_head, check_neuron
from headlight.model.runs.edits.kinds import (
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditDirection,
    EditFeature,
    FreezePatterns,
    Neuron,
    Patch,
    Steer,
)

MAX_FACTOR = 1000.0
MAX_CLAMP = 1e6


def check(edit: Edit, cfg: TransformerConfig, n_tokens: int) -> None:
    """Refuse an edit that refers to something that this model or this prompt lacks.

    Raises:
        InputError: it says what was named, and what there is.
    """
    match edit:
        case AblateHeads(heads=heads):
            if not heads:
                raise InputError("No head is named that is to be ablated. Choose at least one.")
            for head in heads:
                check_head(cfg, *head)
        case CutEdge(head=head, query=query, key=key):
            check_head(cfg, *head)
            check_cell(cfg, n_tokens, query, key)
        case FreezePatterns(layers=layers):
            _check_indices("layer", layers, cfg.n_layers, "model")
        case Patch(positions=positions, one_head=patched):
            _check_indices("position", positions, n_tokens, "prompt")
            _check_indices("head", () if patched is None else (patched,), cfg.n_heads, "layer")
        case Steer(layer=layer, positions=positions, factor=factor):
            _check_indices("layer", (layer,), cfg.n_layers, "model")
            _check_indices("position", positions, n_tokens, "prompt")
            _check_factor(factor)
        case EditDirection(layers=layers, factor=factor, positions=positions):
            _check_indices("layer", layers, cfg.n_layers + 1, "stream")
            _check_indices("position", positions, n_tokens, "prompt")
            _check_factor(factor)
        case Drop(layer=layer, part=part):
            _check_indices("layer", (layer,), cfg.n_layers, "model")
            if part == "MLP" and cfg.attn_only:
                raise InputError("This model has no MLPs to drop, only attention. Drop a layer instead.")
        case EditFeature(positions=positions, factor=factor):
            _check_indices("position", positions, n_tokens, "prompt")
            _check_factor(factor)
        case AblateNeurons(neurons=neurons, positions=positions):
            _check_neurons(neurons, positions, cfg, n_tokens)
        case ClampNeurons(neurons=neurons, positions=positions, value=value):
            _check_neurons(neurons, positions, cfg, n_tokens)
            if not abs(value) <= MAX_CLAMP:
                raise InputError(f"The value is {value}; it can be from {-MAX_CLAMP:,.0f} to {MAX_CLAMP:,.0f}.")


def _check_neurons(
    neurons: tuple[Neuron, ...], positions: tuple[int, ...], cfg: TransformerConfig, n_tokens: int
) -> None:
    if not neurons:
        raise InputError("No neuron is named that is to be changed. Name at least one, as L2N17.")
    for neuron in neurons:
        check_neuron(cfg, *neuron)
    _check_indices("position", positions, n_tokens, "prompt")


def _check_factor(factor: float) -> None:
    if not abs(factor) <= MAX_FACTOR:
        raise InputError(f"The factor is {factor}; it can be from -{MAX_FACTOR:g} to {MAX_FACTOR:g}.")


def _check_indices(called: str, indices: tuple[int, ...], count: int, owner: str) -> None:
    for index in indices:
        if not 0 <= index < count:
            raise InputError(
                f"There is no {called} {index}: this {owner} has {called}s 0 to {count - 1}. Choose one of these."
            )
