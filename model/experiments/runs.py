"""Clean and corrupted runs of several rows side by side, and runs of them from a layer on with one part changed.

All rows of a batch have the same lengths, so that nothing is padded. A changed run begins where it differs: its stream
is that of the unchanged run plus the change, and only what comes after is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.nn.blocks import AttnOnlyBlock, Block
from headlight.model.nn.cache import ActivationCache, activation_name
from headlight.model.nn.hooks import NO_TAP, BeforeLayers, Chain, Collect, Tap, WithGradient
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.prompt_sets.metric import Metric, metric
from headlight.model.runs.host import HERE, Host

Streams = Float[Tensor, "run pos d_model"]
Site = Literal["resid_pre", "after_attention", "after_mlp"]


@dataclass(frozen=True, eq=False)
class Readout:
    """What is measured of final streams: the metric of each row's answers."""

    model: Transformer
    rows: Sequence[TokenRow]
    kind: Metric

    def __call__(self, resid: Streams, of_row: Sequence[int]) -> Float[Tensor, " run"]:
        """The metric of streams after the last layer, each of the row with this place in the batch."""
        model, rows = self.model, [self.rows[place] for place in of_row]
        if resid.shape[1] > 1:
            resid = model.read_from(resid, resid.shape[1] - 1)
        if self.kind == "prob_diff" or not all(row.wrong_answers for row in self.rows):
            return metric(model.to_logits(resid)[:, 0], rows, self.kind)
        outputs = sorted({token for row in self.rows for token in (*row.answers, *row.wrong_answers)})
        W_U, b_U = widened(model.unembed.W_U[:, outputs]), model.unembed.b_U[outputs]
        columns = {token: column for column, token in enumerate(outputs)}
        return metric(model.capped(model.to_unembed(resid)[:, 0] @ W_U + b_U), [_in(columns, row) for row in rows])


def _in(columns: dict[int, int], row: TokenRow) -> TokenRow:
    answers, wrong = (tuple(columns[token] for token in some) for some in (row.answers, row.wrong_answers))
    return replace(row, answers=answers, wrong_answers=wrong)


@dataclass(frozen=True, eq=False)
class Prompts:
    """One prompt of each row, all of one length, run side by side; the host may stop every pass at its next layer."""

    model: Transformer
    rows: Sequence[TokenRow]
    tokens: Int[Tensor, "row pos"]
    readout: Readout
    host: Host = HERE

    @property
    def n_pos(self) -> int:
        """The number of tokens."""
        return self.tokens.shape[1]

    def final_stream(self, *taps: Tap) -> Streams:
        """The stream after the last layer of a pass with these taps."""
        tap = Chain(*taps, BeforeLayers(lambda _: self.host.check()))
        return self.model(self.tokens, tap=tap, stop_at_layer=self.model.cfg.n_layers)

    @torch.inference_mode()
    def run(self, parts: Sequence[str]) -> tuple[ActivationCache, Float[Tensor, " row"]]:
        """These parts' activations in every layer [row, ...], and each row's metric."""
        n_layers, keep = self.model.cfg.n_layers, Collect(self._names(parts))
        resid = self.final_stream(keep)
        return ActivationCache(keep.kept, n_layers), self.readout(resid, range(len(self.rows)))

    def gradients(self, part: str) -> ActivationCache:
        """The gradients of each row's metric for a part in every layer [row, ...]."""
        n_layers, keep = self.model.cfg.n_layers, Collect(self._names([part]))
        with torch.inference_mode(False), torch.enable_grad():
            resid = replace(self, tokens=self.tokens.clone()).final_stream(WithGradient(), keep)
            values = self.readout(resid, range(len(self.rows))).sum()
            gradients = torch.autograd.grad(values, list(keep.kept.values()), allow_unused=True, materialize_grads=True)
        return ActivationCache(dict(zip(keep.kept, gradients, strict=True)), n_layers)

    def _names(self, parts: Sequence[str]) -> list[str]:
        return [activation_name(part, layer) for layer in range(self.model.cfg.n_layers) for part in parts]

    @torch.inference_mode()
    def resume(self, layer: int, site: Site, base: ActivationCache, change: Streams, of_row: Sequence[int]) -> Tensor:
        """The metric of runs whose stream is changed at a site of a layer, each of the row with this place.

        `base` has "resid_pre" and, for sites behind attention, "attn_out", and for that behind the MLP "mlp_out".
        """
        rows = torch.tensor(of_row, device=change.device)
        pre = base["resid_pre", layer][rows]
        if site == "resid_pre":
            return self.finish(layer, pre + change, of_row)
        attn_out, mlp_out = base["attn_out", layer][rows], None
        if site == "after_attention":
            attn_out = attn_out + change
            beside = self.model.cfg.parallel_attn_mlp and not self.model.cfg.attn_only
            mlp_out = base["mlp_out", layer][rows] if beside else None
        else:
            mlp_out = base["mlp_out", layer][rows] + change
        return self.finish(layer + 1, self.block(layer, pre, attn_out, mlp_out), of_row)

    @torch.inference_mode()
    def finish(self, layer: int, resid: Streams, of_row: Sequence[int]) -> Float[Tensor, " run"]:
        """The metric of runs that go on from the stream before a layer."""
        positions = place(self.model.cfg.attention_dir, None, self.n_pos, resid.device)
        for index in range(layer, self.model.cfg.n_layers):
            self.host.check()
            block = self.model.block(index)
            attn_out = block.attn_out(block.attn_in(resid), positions, NO_TAP)
            resid = self.block(index, resid, attn_out)
        return self.readout(resid, of_row)

    def block(
        self, layer: int, pre: Streams, attn_out: Streams, mlp_out: Streams | None = None
    ) -> Float[Tensor, "run pos_read d_model"]:
        """The stream after a layer, of that before it and what attention writes; in the last, where it is read alone.

        Without `mlp_out` the MLP is computed.
        """
        if layer == self.model.cfg.n_layers - 1 and not self.model.cfg.pools_mean:
            pre, attn_out = pre[:, -1:], attn_out[:, -1:]
            mlp_out = None if mlp_out is None else mlp_out[:, -1:]
        return after_block(self.model.block(layer), pre, attn_out, mlp_out)


def after_block(block: AttnOnlyBlock, pre: Streams, attn_out: Streams, mlp_out: Streams | None = None) -> Streams:
    """The stream after a layer, of that before it, what attention writes and, where it is not computed, the MLP."""
    mid = block.after("attn_out", pre + attn_out)
    if not isinstance(block, Block):
        return mid
    if mlp_out is None:
        mlp_out = block.mlp_out(block.mlp_in(pre, mid), NO_TAP)
    return block.end(pre, block.after("mlp_out", mid + mlp_out))
