"""The taps that move the residual stream along a vector: add it, scale the stream's part along it, or cap that part."""

from collections.abc import Callable
from functools import partial

from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Chain, HookPoint, Tap
from headlight.model.nn.hooks import Edit as Hooks
from headlight.model.runs.direction import Direction, state_hook
from headlight.model.runs.edits.edited import Opened
from headlight.model.runs.edits.kinds import EditDirection

Resid = Float[Tensor, "batch pos d_model"]
Vector = Float[Tensor, " d_model"]


def direction_tap(edit: EditDirection, opened: Opened, cfg: TransformerConfig, passed: Callable[[str], str]) -> Tap:
    """Return the tap of an edit along one of these directions, which has to fit the model.

    `passed` says under which name a pass is edited where an activation is.

    Raises:
        InputError: the direction is missing, is of a model of another size, or has no vector for one of the layers.
    """
    if not isinstance(direction := opened.get(edit.direction), Direction):
        raise InputError(
            f"The direction {edit.direction!r} is not open. Open its file on the page Directions, or give it to the "
            "run by that name, as one of its directions."
        )
    direction.check_fits(cfg.d_model, cfg.n_layers)
    layers = edit.layers or direction.layers
    for layer in layers:
        if layer not in direction.vectors:
            there = ", ".join(map(str, direction.layers))
            raise InputError(f"The direction {direction.name!r} has no vector for layer {layer}, only for {there}.")
        if cfg.post_norm and layer == cfg.n_layers:
            raise InputError(
                "This model normalises its stream after the last layer, where nothing can be edited. Choose a layer."
            )
    places = {layer: passed(state_hook(layer, cfg.n_layers)) for layer in layers}
    return Chain(
        *(Hooks([((places[layer],), partial(_move, edit=edit, vector=direction.vectors[layer]))]) for layer in layers)
    )


def _move(resid: Resid, hook: HookPoint, edit: EditDirection, vector: Vector) -> None:
    length = vector.norm()
    match edit.action:
        case "add":
            add(resid, edit.factor * vector, edit.positions)
        case "project_out" if bool(length):
            scale(resid, vector / length, 0.0, edit.positions)
        case "cap" if bool(length):
            cap(resid, vector / length, edit.factor * float(length), edit.positions)


def add(resid: Resid, vector: Vector, positions: tuple[int, ...] = ()) -> None:
    """Add a vector to the stream, in place, at these positions or at all."""
    resid[:, list(positions) or slice(None)] += vector.to(resid)


def scale(resid: Resid, unit: Vector, factor: float, positions: tuple[int, ...] = ()) -> None:
    """Multiply the stream's part along a unit vector, in place; 0 projects it out."""
    rows, unit = list(positions) or slice(None), unit.to(resid)
    resid[:, rows] += (factor - 1) * (resid[:, rows] @ unit)[..., None] * unit


def cap(resid: Resid, unit: Vector, most: float, positions: tuple[int, ...] = ()) -> None:
    """Let the stream's part along a unit vector be `most` at most, in place."""
    rows, unit = list(positions) or slice(None), unit.to(resid)
    resid[:, rows] -= (resid[:, rows] @ unit - most).clamp(min=0.0)[..., None] * unit
