"""Variants of a run to patch, their cost, and the maps that they make up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.edits.interventions import check_head

Part = Literal["resid_pre", "attn_out", "mlp_out", "z"]
Kind = Literal["resid_pre", "attn_out", "mlp_out", "z", "z_by_position"]
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Variant:
    """A run in which one part of a layer is another run's: at one position or at all, of one head (of z) or of all."""

    part: Part
    layer: int
    head: int | None = None
    position: int | None = None


@dataclass(frozen=True)
class Grid:
    """The variants of a map, row by row: `axes[i]` says what dimension i of the map runs over."""

    axes: tuple[str, str]
    shape: tuple[int, int]
    variants: tuple[Variant, ...]


def grid(kind: Kind, cfg: TransformerConfig, n_pos: int, layer: int | None = None) -> Grid:
    """The variants of a kind of map: layer x position, layer x head, or head x position of one layer.

    Raises:
        InputError: the model has no such part or layer, or the layer is missing.
    """
    if kind == "mlp_out" and cfg.attn_only:
        raise InputError("This model has no MLPs, so their outputs cannot be patched. Choose another map.")
    if kind == "z":
        heads = [Variant("z", at, head) for at in range(cfg.n_layers) for head in range(cfg.n_heads)]
        return Grid(("layer", "head"), (cfg.n_layers, cfg.n_heads), tuple(heads))
    if kind == "z_by_position":
        if layer is None:
            raise InputError("A map of heads and positions is one of a single layer: give the layer.")
        check_head(cfg, layer, 0)
        cells = [Variant("z", layer, head, pos) for head in range(cfg.n_heads) for pos in range(n_pos)]
        return Grid(("head", "pos"), (cfg.n_heads, n_pos), tuple(cells))
    states = [Variant(kind, at, None, pos) for at in range(cfg.n_layers) for pos in range(n_pos)]
    return Grid(("layer", "pos"), (cfg.n_layers, n_pos), tuple(states))


def check_variant(variant: Variant, cfg: TransformerConfig, n_pos: int) -> None:
    """Refuse a variant that the runs do not have.

    Raises:
        InputError: it says what there is.
    """
    check_head(cfg, variant.layer, variant.head or 0)
    if variant.head is not None and variant.part != "z":
        raise InputError(f"{variant.part} is no head's own. Patch z to patch one head, or leave the head out.")
    if variant.part == "mlp_out" and cfg.attn_only:
        raise InputError("This model has no MLPs, so their outputs cannot be patched.")
    if variant.position is not None and not 0 <= variant.position < n_pos:
        raise InputError(
            f"Position {variant.position} has no say in what is measured; those from 0 to {n_pos - 1} have."
        )


def operations(cfg: TransformerConfig, variants: Sequence[Variant], n_pos: int) -> int:
    """The multiplications and additions of matrix products that the variants need, each from its own layer on.

    In the last layer the MLP is needed at one position alone.
    """
    heads, d_mlp = cfg.n_heads * cfg.d_head, cfg.d_mlp or 0
    attention = n_pos * (8 * cfg.d_model * heads + 4 * heads * n_pos)
    mlp = 4 * cfg.d_model * d_mlp

    def after(layer: int) -> int:
        later = cfg.n_layers - 1 - layer
        return later * attention + (max(later - 1, 0) * n_pos + 1) * mlp if later else 0

    def within(variant: Variant) -> int:
        positions = n_pos if variant.layer < cfg.n_layers - 1 else 1
        own = attention if variant.part == "resid_pre" else 0
        return own + (0 if variant.part == "mlp_out" else positions * mlp)

    return sum(after(variant.layer) + within(variant) for variant in variants)


def row_bytes(cfg: TransformerConfig, n_pos: int) -> int:
    """Approximate peak memory of one variant: streams, a layer's heads, their patterns and its MLP."""
    heads, d_mlp = cfg.n_heads * cfg.d_head, cfg.d_mlp or 0
    attending = 4 * heads + 2 * cfg.n_heads * n_pos
    return FLOAT * n_pos * (4 * cfg.d_model + max(attending, 2 * d_mlp))
