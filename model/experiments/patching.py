"""The metric of every row with one part replaced, cell by cell: measured, or estimated from gradients."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.experiments.changes import Cell, Changes, Replaced, heads_change, readers, site_of, z_with
from headlight.model.experiments.runs import Prompts, after_block
from headlight.model.experiments.settings import ReadAs
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import NO_TAP
from headlight.model.patching.grids import row_bytes
from headlight.model.runs.edits import Head

Cells = Float[Tensor, "row layer cell"]


@torch.inference_mode()
def patched(replaced: Replaced, cells: Sequence[Cell], at_once: int) -> Cells:
    """The metric of every row with each cell of each layer replaced; runs in flight take `at_once` bytes.

    Raises:
        InputError: not even one run would fit.
    """
    prompts, layers = replaced.prompts, []
    for layer in range(prompts.model.cfg.n_layers):
        values = torch.empty(len(prompts.rows), len(cells))
        for rows, some in flights(prompts, len(cells), at_once):
            change = replaced.changes(layer, rows, cells[some])
            metric = prompts.resume(layer, site_of(replaced.part), replaced.base, *_runs(change, rows))
            values[rows, some] = metric.reshape(change.shape[:2]).cpu()
        layers.append(values)
    return torch.stack(layers, 1)


@torch.inference_mode()
def estimated(
    replaced: Replaced, cells: Sequence[Cell], unchanged: Float[Tensor, " row"], gradients: ActivationCache
) -> Cells:
    """An estimate of `patched`: the unchanged metric, and each change times the gradient there.

    Source: Nanda 2023, "Attribution Patching: Activation Patching At Industrial Scale".
    """
    part, layers = replaced.part, []
    for layer in range(replaced.prompts.model.cfg.n_layers):
        product = gradients[part, layer] * (replaced.other[part, layer] - replaced.base[part, layer])
        by_head = product.sum(-1)  # [row, pos], [row, pos, head], or of patterns [row, head, query]
        by_head = by_head.transpose(1, 2) if part == "pattern" else by_head
        by_head = by_head[..., None] if by_head.ndim == 2 else by_head
        values = []
        for cell in cells:
            of_head = by_head[..., cell.head or 0]
            values.append(of_head.sum(1) if cell.place is None else _taken(of_head, replaced.where[:, cell.place]))
        layers.append(unchanged[:, None] + torch.stack(values, 1))
    return torch.stack(layers, 1).cpu()


def _taken(of_positions: Float[Tensor, "row pos"], where: Tensor) -> Float[Tensor, " row"]:
    at = where.clamp(min=0).to(of_positions.device)
    return of_positions[torch.arange(len(at), device=at.device), at]


@torch.inference_mode()
def paths(
    replaced: Replaced, cells: Sequence[Cell], receiver: Head, read: ReadAs, through_mlps: bool, at_once: int
) -> Cells:
    """The metric of every row where each sender's z is replaced on the way to one receiver's query, key or value.

    On that way all other heads give what they give in the unchanged run, and so do the MLPs, unless paths go
    `through_mlps`. What comes after the receiver is run. Heads that share keys and values read them together.

    Source: Goldowsky-Dill et al. 2023 (the direct path); Wang et al. 2022, section 3.1 (with MLPs computed anew).

    Raises:
        InputError: no head comes before the receiver, or not even one run would fit.
    """
    prompts, layers = replaced.prompts, []
    if receiver[0] == 0:
        raise InputError("No head comes before the first layer. Choose a receiver in a later one.")
    for layer in range(receiver[0]):
        values = torch.empty(len(prompts.rows), len(cells))
        for rows, some in flights(prompts, len(cells), at_once):
            change, of_row = _runs(replaced.changes(layer, rows, cells[some]), rows)
            stream = _reaching(replaced, layer, receiver[0], change, of_row, through_mlps)
            metric = _received(replaced, receiver, read, stream, of_row)
            values[rows, some] = metric.reshape(-1, len(cells[some])).cpu()
        layers.append(values)
    return torch.stack(layers, 1)


def _reaching(
    replaced: Replaced, sender: int, receiver: int, change: Tensor, of_row: Sequence[int], through_mlps: bool
) -> Float[Tensor, "run pos d_model"]:
    """The stream before the receiver's layer if the heads of a sender's layer write by so much more."""
    base, model, rows = replaced.base, replaced.prompts.model, torch.tensor(of_row, device=change.device)
    if not through_mlps and not model.cfg.post_norm:
        return base["resid_pre", receiver][rows] + change
    stream = base["resid_pre", sender][rows]
    for layer in range(sender, receiver):
        attn_out = base["attn_out", layer][rows]
        attn_out = attn_out + change if layer == sender else attn_out
        fixed = None if through_mlps or model.cfg.attn_only else base["mlp_out", layer][rows]
        stream = after_block(model.block(layer), stream, attn_out, fixed)
    return stream


def _received(
    replaced: Replaced, receiver: Head, read: ReadAs, stream: Float[Tensor, "run pos d_model"], of_row: Sequence[int]
) -> Float[Tensor, " run"]:
    """The metric if the receiver alone reads this stream as its query, key or value."""
    layer, head = receiver
    prompts, base = replaced.prompts, replaced.base
    block, cfg = prompts.model.block(layer), prompts.model.cfg
    rows = torch.tensor(of_row, device=stream.device)
    slot = head if read == "q" else cfg.group_of(head)
    value = base[read, layer][rows].clone()
    value[:, :, slot] = getattr(block.attn.read(block.attn_in(stream), NO_TAP), read)[:, :, slot]
    z = z_with(prompts, layer, base["resid_pre", layer][rows], read, value)
    change = heads_change(block, base["z", layer][rows], z, [readers(read, slot, cfg)])[:, 0]
    return prompts.resume(layer, "after_attention", base, change, of_row)


def flights(prompts: Prompts, n_cells: int, at_once: int) -> Iterator[tuple[slice, slice]]:
    """Rows and cells that are run side by side, as many as take no more than so many bytes."""
    most = at_once // row_bytes(prompts.model.cfg, prompts.n_pos)
    if most < 1:
        need = row_bytes(prompts.model.cfg, prompts.n_pos) / 2**20
        raise InputError(
            f"One run of {prompts.n_pos} tokens takes about {need:,.1f} MiB, and {at_once / 2**20:,.1f} MiB are "
            "allowed. Allow more by --memory, or shorten the prompts."
        )
    n_rows, n_side_by_side = max(1, most // n_cells), min(n_cells, most)
    for row in range(0, len(prompts.rows), n_rows):
        for cell in range(0, n_cells, n_side_by_side):
            yield slice(row, min(row + n_rows, len(prompts.rows))), slice(cell, min(cell + n_side_by_side, n_cells))


def _runs(change: Changes, rows: slice) -> tuple[Float[Tensor, "run pos d_model"], list[int]]:
    """The changes of all rows and cells one after the other, and the row of each."""
    n_cells = change.shape[1]
    return change.flatten(0, 1), [row for row in range(rows.start, rows.stop) for _ in range(n_cells)]
