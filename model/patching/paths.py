"""Path patching: one head's change reaches one other head's query, key or value, and nothing else until then."""

from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import NO_TAP, Edit, HookPoint
from headlight.model.patching.runs import AT_ONCE, Patching, Streams
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.edits.interventions import check_head

ReadAs = Literal["q", "k", "v"]


def path_map(patching: Patching, receiver: Head, read: ReadAs, through_mlps: bool = False) -> Measure:
    """`path_differences` of every head before the receiver, as a share [layer, head]: 0 = A, 1 = B, not clipped.

    Raises:
        InputError: there is no such head, or none before it.
    """
    cfg, (layer, _) = patching.model.cfg, receiver
    senders = [(at, head) for at in range(layer) for head in range(cfg.n_heads)]
    shares = patching.share(path_differences(patching, senders, receiver, read, through_mlps))
    return Measure(f"patched on the way to {read}", "share", ("layer", "head"), shares.reshape(layer, -1).cpu())


@torch.inference_mode()
def path_differences(
    patching: Patching,
    senders: Sequence[Head],
    receiver: Head,
    read: ReadAs,
    through_mlps: bool = False,
    at_once: int = AT_ONCE,
) -> Float[Tensor, " sender"]:
    """The logit difference if the receiver's query, key or value, at all positions, is that which each sender changes.

    Where a group of heads shares keys and values, the receiver's key or value is that of its whole group.

    A sender's z is the other run's; on the way to the receiver all other heads give what they give in the run that is
    patched. So do the MLPs, or with `through_mlps` they are computed anew. What comes after the receiver is run.

    Source: Goldowsky-Dill et al. 2023 (the direct path); Wang et al. 2022, section 3.1 (with MLPs computed anew).

    Raises:
        InputError: a head that there is not, a sender that does not come before the receiver, or a run with edits.
    """
    _check(patching, senders, receiver)
    pieces = [
        _differences(patching, senders[start : start + step], receiver, read, through_mlps)
        for step in [patching.most_at_once(at_once)]
        for start in range(0, len(senders), step)
    ]
    return torch.cat(pieces)


def _differences(
    patching: Patching, senders: Sequence[Head], receiver: Head, read: ReadAs, through_mlps: bool
) -> Float[Tensor, " sender"]:
    layer, head = receiver
    block = patching.model.block(layer)
    reaching = _reaching(patching, senders, layer, through_mlps)
    read_by_heads = block.attn.read(block.attn_in(reaching), NO_TAP)
    slot = head if read == "q" else patching.model.cfg.group_of(head)
    changed = getattr(read_by_heads, read)[:, :, slot]

    def replace(activation: Float[Tensor, "row pos head d_head"], hook: HookPoint) -> None:
        activation[1:, :, slot] = changed

    at_start = {f"blocks.{layer}.hook_resid_pre": torch.zeros_like(reaching)}
    return patching.resume_from(layer, at_start, Edit([((f"blocks.{layer}.attn.hook_{read}",), replace)]))


def _reaching(patching: Patching, senders: Sequence[Head], layer: int, through_mlps: bool) -> Streams:
    """The stream before a layer when each of the senders alone has changed."""
    if not through_mlps and not patching.model.cfg.post_norm:
        changes = [patching.heads_change(layer, [head]) for layer, head in senders]
        return patching.base["resid_pre", layer] + torch.stack(changes)
    rows = patching.base["resid_pre", 0].expand(len(senders), -1, -1)
    for index in range(layer):
        block, before = patching.model.block(index), rows
        rows = rows + patching.base["attn_out", index]
        for row, (at, head) in enumerate(senders):
            if at == index:
                rows[row] += patching.heads_change(at, [head])
        rows = block.after("attn_out", rows)
        if isinstance(block, Block):
            anew = block.mlp_out(block.mlp_in(before, rows), NO_TAP) if through_mlps else None
            rows = block.after("mlp_out", rows + (patching.base["mlp_out", index] if anew is None else anew))
        rows = block.end(before, rows)
    return rows


def _check(patching: Patching, senders: Sequence[Head], receiver: Head) -> None:
    if patching.tap is not NO_TAP:
        raise InputError("Paths are followed in a run without edits. Patch into the other run, or choose another map.")
    for layer, head in (receiver, *senders):
        check_head(patching.model.cfg, layer, head)
    late = next((sender for sender in senders if sender[0] >= receiver[0]), None)
    if late is not None or not senders:
        name = head_name(receiver)
        raise InputError(
            f"Nothing goes to {name} from {'L{}H{}'.format(*late) if late else 'any head'}: a head can be reached only "
            "from the layers before its own. Choose a later receiver or an earlier sender."
        )
