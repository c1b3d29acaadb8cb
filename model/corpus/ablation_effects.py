"""Every head's contribution to the next token on a sequence: loss increase when ablated, and direct effect.

A head is ablated by its mean output in the calibration, at every position. It counts as active where more than half of
its weight lies beyond the first token, on which many heads rest when they have nothing to do.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from headlight.model.corpus.effects import AT, SUMS, Record
from headlight.model.nn.hooks import NO_TAP, Chain, Collect, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.patching.grids import row_bytes
from headlight.model.runs.edits.interventions import ablate_head, abreast
from headlight.model.runs.linear import no_reading, norm_of, writes_at_unit_scale

ACTIVE = 0.5  # of a query's weight, beyond the first token
AT_ONCE = 2**28  # bytes that variants side by side may take

KEPT = ("hook_resid_pre", "attn.hook_z", "ln1_post.hook_scale")

Means = Float[Tensor, "layer head d_value"]


def ablation_sums(
    model: Transformer, tokens: tuple[int, ...], means: Float[np.ndarray, "layer head d_value"]
) -> Record:
    """Return every head's sums over a sequence's predicted tokens, in the order of `SUMS`."""
    device = model.embed.W_E.device
    row, mean_z = torch.tensor([tokens], device=device), torch.from_numpy(means).float().to(device)
    with torch.inference_mode():
        run = _Own(model, row)
        sums = torch.zeros(model.cfg.n_layers, model.cfg.n_heads, len(SUMS), dtype=torch.float64)
        sums[..., AT["tokens"]], sums[..., AT["loss"]] = len(tokens) - 1, run.losses.double().sum()
        for layer in range(model.cfg.n_layers):
            active = run.active(layer)
            changes = torch.cat([rows - run.losses for rows in _ablated(run, layer, mean_z)]).double().cpu()
            for name, where in (("active", active), ("inactive", ~active)):
                sums[layer, :, AT[name]] = where.sum(-1).double()
                sums[layer, :, AT[f"change_{name}"]] = (changes * where).sum(-1)
            sums[layer, :, AT["change"]] = changes.sum(-1)
            sums[layer, :, AT["direct"]] = _direct(run, layer, mean_z[layer]).double().sum(0).cpu()
    return sums.numpy()


class _Own:
    """The unedited forward pass over a sequence, with the activations that are needed of it."""

    def __init__(self, model: Transformer, row: Int[Tensor, "1 pos"]) -> None:
        self.model, self.row = model, row
        layers = range(model.cfg.n_layers)
        kept = [f"blocks.{layer}.{part}" for layer in layers for part in KEPT]
        patterns = Collect([f"blocks.{layer}.attn.hook_pattern" for layer in layers], _is_active)
        keep = Collect([*kept, "ln_final.hook_scale"], lambda activation: activation[0])
        self._kept, self._active = keep.kept, patterns.kept
        resid = model(row, tap=Chain(patterns, keep), stop_at_layer=model.cfg.n_layers)
        self.losses = self.losses_of(resid, keep)

    def losses_of(self, resid: Float[Tensor, "1 pos d_model"], tap: Tap = NO_TAP) -> Float[Tensor, "1 predicted"]:
        """The loss of each next token (nats); NaN where the model predicts none."""
        if not self.model.cfg.predicts_tokens:
            return torch.full((1, len(self.row[0]) - 1), torch.nan, device=resid.device)
        logits = self.model.to_logits(resid[:, :-1], tap)[0]
        return F.cross_entropy(logits, self.row[0, 1:], reduction="none")[None]

    def kept(self, layer: int, part: str) -> Tensor | None:
        """An activation of a layer; None where there is none."""
        return self._kept.get(f"blocks.{layer}.{part}")

    @property
    def final_scale(self) -> Tensor | float:
        """The final norm's scale at each predicting position; 1 where there is no norm."""
        return self._kept.get("ln_final.hook_scale", 1.0)

    def active(self, layer: int) -> Bool[Tensor, "head predicted"]:
        """Tokens at which each head is active."""
        return self._active[f"blocks.{layer}.attn.hook_pattern"]


def _is_active(pattern: Float[Tensor, "1 head pos pos"]) -> Bool[Tensor, "head predicted"]:
    return (pattern[0, :, :-1, 1:].sum(-1) > ACTIVE).cpu()


def _ablated(run: _Own, layer: int, means: Means) -> Iterator[Float[Tensor, "1 predicted"]]:
    """The losses without each of a layer's heads in turn, some of them side by side from the layer on."""
    cfg, n_pos = run.model.cfg, run.row.shape[1]
    at_once = max(AT_ONCE // row_bytes(cfg, n_pos), 1)
    positions = place(cfg.attention_dir, None, n_pos, run.row.device)
    for first in range(0, cfg.n_heads, at_once):
        heads = range(first, min(first + at_once, cfg.n_heads))
        tap = abreast([ablate_head(layer, head, "mean", means[layer, head][None]) for head in heads])
        before = run.kept(layer, "hook_resid_pre")
        assert before is not None  # every layer has one
        resid = before.expand(len(heads), -1, -1)
        for index in range(layer, cfg.n_layers):
            resid = run.model.blocks[index](resid, positions, tap.within(f"blocks.{index}"))
        # A row at a time: all rows' logits are many times what else a pass takes.
        yield from (run.losses_of(row) for row in resid.split(1))


def _direct(run: _Own, layer: int, means: Float[Tensor, "head d_value"]) -> Float[Tensor, "predicted head"]:
    """Each head's direct effect on the right token's logit minus the mean logit, relative to its mean output's.

    At the scale that the last norm has in the run, and before a soft cap of logits; NaN where no logit is a sum.
    """
    model, z = run.model, run.kept(layer, "attn.hook_z")
    assert z is not None  # every layer has one
    if no_reading(model) or not model.cfg.predicts_tokens:
        return torch.full((len(z) - 1, len(means)), torch.nan)
    W_O = widened(model.block(layer).attn.W_O)
    written = writes_at_unit_scale(model, layer, torch.einsum("qhd,hdm->qhm", z[:-1] - means, W_O))
    if (scale := run.kept(layer, "ln1_post.hook_scale")) is not None:
        written = written / scale[:-1, :, None]
    W_U, final = widened(model.unembed.W_U), norm_of(model.ln_final)
    read = (W_U[:, run.row[0, 1:]] - W_U.mean(1, keepdim=True)).T * model.cfg.logits_scale
    if final is not None:
        read = read if final.w is None else read * final.w
        read = (read - read.mean(-1, keepdim=True) if final.centred else read) / run.final_scale
    return torch.einsum("qhm,qm->qh", written, read)
