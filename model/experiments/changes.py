"""By how much the residual stream changes where a part of a layer is replaced, cell by cell."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.experiments.runs import Prompts, Site
from headlight.model.experiments.settings import HEAD_PARTS, Part
from headlight.model.nn.blocks import AttnOnlyBlock
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.linear import norm_of

Changes = Float[Tensor, "row cell pos d_model"]


@dataclass(frozen=True)
class Cell:
    """What is replaced in one cell of a layer: a head (or its group) or all of them, at one place or at all."""

    head: int | None = None
    place: int | None = None


def cells_of(part: Part, cfg: TransformerConfig, n_places: int | None) -> list[Cell]:
    """The cells of one layer, place by place."""
    places = [None] if n_places is None else list(range(n_places))
    heads = list(range(n_heads(part, cfg))) if part in HEAD_PARTS else [None]
    return [Cell(head, at) for at in places for head in heads]


def n_heads(part: str, cfg: TransformerConfig) -> int:
    """How many heads a part has: keys and values are one for each group of heads that shares them."""
    return cfg.n_shared if part in ("k", "v") else cfg.n_heads


def site_of(part: Part) -> Site:
    """Where in a layer the stream changes if a part is replaced."""
    return "resid_pre" if part == "resid_pre" else "after_mlp" if part == "mlp_out" else "after_attention"


def parts_needed(part: Part, cfg: TransformerConfig) -> list[str]:
    """The activations of the unchanged run that its changed runs need."""
    written = ["attn_out"] if cfg.attn_only else ["attn_out", "mlp_out"]
    return list(dict.fromkeys(["resid_pre", *written, *(["z"] if part in HEAD_PARTS else []), part]))


def readers(part: str, head: int, cfg: TransformerConfig) -> list[int]:
    """The heads whose z a head's part changes: of keys and values, all that share them."""
    if normed_together(part, cfg):
        return list(range(cfg.n_heads))
    return [each for each in range(cfg.n_heads) if cfg.group_of(each) == head] if part in ("k", "v") else [head]


def normed_together(part: str, cfg: TransformerConfig) -> bool:
    """Whether a norm across all heads stands behind a part, so that one head's changes the others' too."""
    return part in ("q", "k") and cfg.qk_norm_across_heads


@dataclass(frozen=True, eq=False)
class Replaced:
    """A part of a run, in every layer, and what it is replaced by.

    Attributes:
        prompts: the rows that are run.
        part: the part.
        base: the unchanged run, [row, ...].
        other: what the part is replaced by, [row, ...], at the positions of the unchanged run.
        where: the token index of each place in each row.
        is_by_place: whether `other` is [place, ...] instead, the same for all rows.
    """

    prompts: Prompts
    part: Part
    base: ActivationCache
    other: ActivationCache
    where: Int[Tensor, "row place"]
    is_by_place: bool = False

    def changes(self, layer: int, rows: slice, cells: Sequence[Cell]) -> Changes:
        """By how much the stream differs at the part's site, for some rows and cells of a layer."""
        places = dict.fromkeys(cell.place for cell in cells)
        if self.part not in HEAD_PARTS:
            base = self.base[self.part, layer][rows]
            return torch.stack([self._replaced(layer, rows, at) - base for at in places], 1)
        z, model = self.base["z", layer][rows], self.prompts.model
        if normed_together(self.part, model.cfg):
            alone = [self._z(layer, rows, cell.place, cell.head) for cell in cells]
            return torch.cat(
                [heads_change(model.block(layer), z, each, [range(model.cfg.n_heads)]) for each in alone], 1
            )
        heads = {
            at: [readers(self.part, cell.head or 0, model.cfg) for cell in cells if cell.place == at] for at in places
        }
        by_place = [heads_change(model.block(layer), z, self._z(layer, rows, at), heads[at]) for at in places]
        return torch.cat(by_place, 1)

    def _replaced(self, layer: int, rows: slice, at: int | None) -> Tensor:
        """The part replaced at a place, or everywhere; a pattern's places are its queries'."""
        base, axis = self.base[self.part, layer][rows], 2 if self.part == "pattern" else 1
        if at is None:
            return self.other[self.part, layer][rows]
        of_part = self.other[self.part, layer]
        other = of_part[at].unsqueeze(axis - 1) if self.is_by_place else of_part[rows]
        is_there = torch.arange(base.shape[axis], device=base.device) == self.where[rows, at, None].to(base.device)
        shape = [len(base), *(1 for _ in base.shape[1:])]
        shape[axis] = base.shape[axis]
        return torch.where(is_there.reshape(shape), other, base)

    def _z(
        self, layer: int, rows: slice, at: int | None, head: int | None = None
    ) -> Float[Tensor, "row pos head d_value"]:
        """Every head's z where its own part is replaced, or that of one head alone."""
        replaced = self._replaced(layer, rows, at)
        if self.part == "z":
            return replaced
        if head is not None:
            of_head, replaced = replaced[:, :, head], self.base[self.part, layer][rows].clone()
            replaced[:, :, head] = of_head
        return z_with(self.prompts, layer, self.base["resid_pre", layer][rows], self.part, replaced)


def z_with(
    prompts: Prompts, layer: int, resid_pre: Float[Tensor, "run pos d_model"], part: str, replaced: Tensor
) -> Float[Tensor, "run pos head d_value"]:
    """A layer's z, of the stream before it, with its queries, keys, values or patterns replaced."""
    block, tap = prompts.model.block(layer), _Replace(f"hook_{part}", replaced)
    positions = place(prompts.model.cfg.attention_dir, None, prompts.n_pos, resid_pre.device)
    block.attn(block.attn_in(resid_pre), positions, tap)
    return tap.z


class _Replace(Tap):
    """Puts an activation in the place of an attention's own, and keeps the z that comes of it."""

    def __init__(self, name: str, value: Tensor) -> None:
        self._name, self._value, self.z = name, value, value

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name == "hook_z":
            self.z = activation
        return self._value if name == self._name else activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in (self._name, "hook_z") else Look.NEVER


def heads_change(
    block: AttnOnlyBlock,
    z: Float[Tensor, "row pos head d_value"],
    changed: Float[Tensor, "row pos head d_value"],
    cells: Sequence[Sequence[int]],
) -> Changes:
    """By how much the stream differs where these heads' z is changed; a norm behind the heads is run anew.

    Every cell has as many heads as the others.
    """
    W_O, heads = widened(block.attn.W_O).to(z.dtype), [head for cell in cells for head in cell]
    every = heads == list(range(len(W_O)))
    delta, weights = (changed - z, W_O) if every else ((changed - z)[:, :, heads], W_O[heads])
    change = torch.einsum("rphd,hdm->rhpm", delta, weights)
    if len(heads) > len(cells):
        change = change.unflatten(1, (len(cells), -1)).sum(2)
    if norm_of(block.ln1_post) is not None:
        own = torch.einsum("rphd,hdm->rpm", z, W_O) + block.attn.b_O.to(z.dtype)
        change = block.ln1_post(own[:, None] + change, NO_TAP) - block.ln1_post(own, NO_TAP)[:, None]
    return change if block.residual_scale == 1.0 else change * block.residual_scale
