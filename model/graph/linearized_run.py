"""A linearized run: with attention patterns and norm scales frozen, everything between them is linear.

A stage is one write to the stream: layer l's attention is stage 2l, its MLP stage 2l + 1, the embeddings are stage -1.
What reads the stream reads what was written at the stages before a limit.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution.parts import z_of
from headlight.model.measure import ov
from headlight.model.measure.head_steps import Norm
from headlight.model.nn.blocks import Block, ParallelBlock
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.head import patterns
from headlight.model.runs.linear import (
    attention_bias,
    norm_before,
    norm_before_mlp,
    norm_bias,
    norm_of,
    write_scales,
    writes_at_unit_scale,
)
from headlight.model.runs.run import Run
from headlight.model.runs.stream_norms import stream_norms

Stream = Float[Tensor, "pos d_model"]


@dataclass(frozen=True, eq=False)
class Heads:
    """A layer's heads with frozen patterns: pattern, z, and the matrices on either side of the pattern.

    `W_V` has the norm before the layer folded in, `W_O` that behind it; `read_scales` and `write_scales` [pos] are what
    these divide by. `constant` says that an edit replaces what they give, so that nothing reaches it.
    """

    pattern: Float[Tensor, "head query key"]
    z: Float[Tensor, "pos head d_value"]
    W_V: Float[Tensor, "head d_model d_value"]
    W_O: Float[Tensor, "head d_value d_model"]
    read_scales: Float[Tensor, " pos"]
    write_scales: Float[Tensor, " pos"]
    bias: Float[Tensor, "pos d_model"]
    constant: bool

    @cached_property
    def writes(self) -> Float[Tensor, "head pos d_model"]:
        """Each head's write to the stream at each position."""
        outputs = torch.einsum("phv,hvd->hpd", self.z, self.W_O)
        return outputs / self.write_scales[:, None]


@dataclass(frozen=True, eq=False)
class LinearizedRun:
    """A run up to the last position that can affect the prediction at `position`."""

    run: Run
    position: int

    @property
    def n_pos(self) -> int:
        """The number of positions that can affect the target."""
        return self.position + 1 if self.run.cfg.attention_dir == "causal" else len(self.run.tokens)

    @property
    def n_stages(self) -> int:
        """Number of writes after the embeddings, including those of MLPs that the model leaves out."""
        return 2 * self.run.cfg.n_layers

    @cached_property
    def streams(self) -> list[Stream]:
        """The stream before each layer, and after all of them."""
        return [stream[: self.n_pos].double() for stream in self.run.streams()]

    def written(self, part: str, layer: int) -> Stream:
        """The write of a layer's attention (attn_out) or MLP (mlp_out)."""
        return self.run.cache[part, layer][: self.n_pos].double()

    def mid(self, layer: int) -> Stream:
        """The stream behind a layer's attention; before it where the MLP stands beside that."""
        if self.run.cfg.post_norm:
            mid = self.run.mid(layer, self.run.stream(layer))
            return self.run.model.block(layer).after("attn_out", mid[None])[0, : self.n_pos].double()
        name = f"blocks.{layer}.hook_resid_mid"
        if self.run.tap.look(name):
            return self.run.cache[name][: self.n_pos].double()
        return self.streams[layer] + self.written("attn_out", layer)

    def reads(self, layer: int) -> tuple[Stream, Norm | None, int]:
        """The input of a layer's MLP: the stream, the norm before it, and the first stage that is not in it."""
        block = self.run.model.block(layer)
        assert isinstance(block, Block)  # checked before: a block without an MLP has no units
        if isinstance(block, ParallelBlock):
            return self.streams[layer], norm_of(block.ln1 if block.shares_norm else block.ln2), 2 * layer
        return self.mid(layer), norm_before_mlp(self.run.model, layer), 2 * layer + 1

    @cached_property
    def norms(self) -> dict[int, tuple[Norm, Float[Tensor, " pos"]]]:
        """Norms of the stream itself behind a stage, with their scales in the run; none where writes just add up."""
        return {
            2 * each.layer + (each.part == "mlp_out"): (each.norm, each.scales[: self.n_pos])
            for each in stream_norms(self.run)
        }

    def back(self, stage: int, direction: Float[Tensor, "*target pos d_model"]) -> Float[Tensor, "*target pos d_model"]:
        """What reads the stream behind a stage, as it reads what is written there."""
        if stage not in self.norms:
            return direction
        norm, scales = self.norms[stage]
        return ov.reading(direction.transpose(-1, -2), norm).transpose(-1, -2) / scales[:, None]

    @torch.inference_mode()
    def heads(self, layer: int) -> Heads:
        """A layer's heads."""
        run, attn = self.run, self.run.model.block(layer).attn
        norm, positions = norm_before(run.model, layer), list(range(self.n_pos))
        looked = (f"blocks.{layer}.{name}" for name in ("attn.hook_z", "attn.hook_result", "hook_attn_out"))
        return Heads(
            pattern=patterns(run, layer, list(range(len(run.tokens))))[:, : self.n_pos, : self.n_pos].double(),
            z=z_of(run, layer, positions).double(),
            W_V=ov.reading(widened(attn.W_V.detach()).double(), norm),
            W_O=writes_at_unit_scale(run.model, layer, widened(attn.W_O.detach()).double()),
            read_scales=scales(self.streams[layer], norm),
            write_scales=self._or_ones(write_scales(run, layer)),
            bias=torch.stack([attention_bias(run, layer, position).double() for position in positions]),
            constant=any(map(run.tap.look, looked)),
        )

    def mlp_scales(self, layer: int) -> Float[Tensor, " pos"]:
        """The scale of a norm after a layer's MLP; ones where there is none."""
        return self._or_ones(write_scales(self.run, layer, "ln2_post"))

    def mlp_bias(self, layer: int, output: Float[Tensor, " d_model"]) -> Stream:
        """Write of a constant part of an MLP's output and of the bias of a norm behind it."""
        at_unit_scale = writes_at_unit_scale(self.run.model, layer, output.double(), "ln2_post")
        written = at_unit_scale / self.mlp_scales(layer)[:, None]
        bias = norm_bias(self.run, layer, "ln2_post")
        return written if bias is None else written + bias.double()

    def _or_ones(self, scales: Tensor | None) -> Float[Tensor, " pos"]:
        if scales is None:
            return torch.ones(self.n_pos, dtype=torch.float64)
        return scales[: self.n_pos].double()


def scales(stream: Stream, norm: Norm | None) -> Float[Tensor, " pos"]:
    """A norm's scale for each row of a stream; ones without a norm."""
    if norm is None:
        return torch.ones(len(stream), dtype=torch.float64)
    centred = stream - stream.mean(-1, keepdim=True) if norm.centred else stream
    return (centred.square().mean(-1) + norm.eps).sqrt()
