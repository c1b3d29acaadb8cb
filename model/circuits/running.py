"""A run in which every reader has a stream of its own: what comes along an edge is the prompt's or the baseline's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.circuits.residual_path import stage_starts, stream_of, sums_of
from headlight.model.circuits.wiring import Receiver, Wiring
from headlight.model.nn.blocks import AttnOnlyBlock, Block
from headlight.model.nn.hooks import NO_TAP, Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer

Edges = Float[Tensor, "receiver sender"]
Kept = Float[Tensor, "*row receiver sender"] | Bool[Tensor, "*row receiver sender"]
NeuronMask = Bool[Tensor, "sender d_model"]
Writes = Float[Tensor, "row sender pos d_model"]
Read = Callable[[Float[Tensor, "row pos d_model"], Sequence[int]], Float[Tensor, " row"]]


class Moved(NamedTuple):
    """The writes of one stage (`Sender.stage`) moved by a share of the way from the prompt's to the baseline's."""

    stage: int
    share: float


@dataclass(frozen=True, eq=False)
class EdgeRuns:
    """Prompts of one length, ready to be run with what comes along each edge from the prompt or from the baseline.

    Attributes:
        model: the model.
        wires: its edges.
        clean: what each sender writes in the prompts.
        other: what it writes in the baseline.
        streams: the baseline's stream before each layer's heads (2 * layer) and MLP (one more), and the final one.
        read: what is measured, from final streams and the places of the prompts that they belong to.
        places: the rows' places among the prompts that `read` knows.
    """

    model: Transformer
    wires: Wiring
    clean: Writes
    other: Writes
    streams: Float[Tensor, "row stage pos d_model"]
    read: Read
    places: tuple[int, ...] = (0,)

    @property
    def changes(self) -> Writes:
        """Each sender's write in the baseline minus that in the prompt."""
        return self.other - self.clean

    def take(self, places: Sequence[int]) -> "EdgeRuns":
        """The same with these rows, each as often as it is named."""
        parts = {name: getattr(self, name)[list(places)] for name in ("clean", "other", "streams")}
        return replace(self, places=tuple(self.places[place] for place in places), **parts)

    def run(
        self,
        edges: Kept | None = None,
        moved: Moved | None = None,
        beside: Float[Tensor, "row receiver pos d_model"] | None = None,
        first: int = 0,
        neurons: NeuronMask | None = None,
    ) -> Float[Tensor, " row"]:
        """Measure the model with what comes along each edge the prompt's by a share, and the baseline's by the rest.

        The prompt's is what the sender makes in this very run of what it reads.

        Args:
            edges: shares, the same for all rows or a row's own; all 1 by default, which alone can be differentiated.
            moved: writes that are put in place of what their senders make.
            beside: added to what each receiver reads, to be differentiated.
            first: the layer to begin with; the senders before it write what they write in the prompt.
            neurons: the dimensions of each sender's write that come from the prompt; the others are the baseline's.
        """
        return self.start(edges, moved, beside, first, neurons).run()

    def start(
        self,
        edges: Kept | None = None,
        moved: Moved | None = None,
        beside: Tensor | None = None,
        first: int = 0,
        neurons: NeuronMask | None = None,
    ) -> "Pass":
        """The same run, to be made."""
        kind = PostNormPass if self.model.cfg.post_norm else Pass
        return kind(self, edges, moved, beside, first, neurons)


class Pass:
    """One run: what each sender wrote less what it writes in the baseline, stage by stage."""

    def __init__(
        self,
        runs: EdgeRuns,
        edges: Kept | None,
        moved: Moved | None,
        beside: Tensor | None,
        first: int,
        neurons: NeuronMask | None,
    ) -> None:
        self.runs, self.edges, self.moved, self.beside, self.first = runs, edges, moved, beside, first
        self.neurons = neurons
        self.total = self.before_layer = torch.zeros_like(runs.clean[:, 0])
        self.written = torch.empty(0) if edges is None else torch.empty_like(runs.clean)
        self.n_written = 0

    def run(self) -> Float[Tensor, " row"]:
        """What is measured at the end."""
        runs, cfg = self.runs, self.runs.model.cfg
        in_layer = cfg.n_heads + (not cfg.attn_only)
        for stage, start, n_senders in self._stages(in_layer):
            if stage % 2 == 0:
                self.before_layer = self.total
            if stage < 2 * self.first:
                self._write(stage, runs.clean[:, start : start + n_senders] - runs.other[:, start : start + n_senders])
            else:
                self._write(stage, self._made(stage) - runs.other[:, start : start + n_senders])
        self.before_layer = self.total
        rows = runs.wires.rows[None, False]
        return runs.read(self._inputs(2 * cfg.n_layers, rows)[:, 0], runs.places)

    def _stages(self, in_layer: int) -> list[tuple[int, int, int]]:
        """Each stage with its first sender and how many write in it."""
        cfg, stages = self.runs.model.cfg, [(-1, 0, 1)]
        for layer in range(cfg.n_layers):
            stages.append((2 * layer, 1 + layer * in_layer, cfg.n_heads))
            if not cfg.attn_only:
                stages.append((2 * layer + 1, 1 + layer * in_layer + cfg.n_heads, 1))
        return stages

    def _write(self, stage: int, change: Writes) -> None:
        """Add what the senders of a stage write, less what they write in the baseline."""
        start, stop = self.n_written, self.n_written + change.shape[1]
        if self.moved is not None and self.moved.stage == stage:
            change = (1 - self.moved.share) * (self.runs.clean - self.runs.other)[:, start:stop]
        if self.neurons is not None:
            change = change * self.neurons[start:stop, None]
        if self.edges is None:
            self._add(change)
        else:
            self.written[:, start:stop] = change
        self.n_written = stop

    def _add(self, change: Writes) -> None:
        """Add what a stage's senders write, less what they write in the baseline, for all receivers."""
        self.total = self.total + change.sum(1)

    def _inputs(self, stage: int, receivers: list[int]) -> Float[Tensor, "row receiver pos d_model"]:
        """What these receivers read."""
        inputs = self._streams(stage, receivers)
        return inputs if self.beside is None else inputs + self.beside[:, receivers]

    def _streams(self, stage: int, receivers: list[int]) -> Float[Tensor, "row receiver pos d_model"]:
        """The streams that these receivers read; in the baseline all of them read its stream of that stage."""
        stream = self.runs.streams[:, stage, None]
        if self.edges is None:
            total = self.before_layer if stage % 2 == 0 else self.total
            return (stream + total[:, None]).expand(-1, len(receivers), -1, -1)
        return stream + self._kept(receivers, 0, self.n_written)

    def _kept(self, receivers: list[int], start: int, stop: int) -> Float[Tensor, "row receiver pos d_model"]:
        """What comes along the edges of these receivers from some senders, less what does in the baseline."""
        assert self.edges is not None
        kept = self.edges[..., receivers, start:stop].to(self.written.dtype)
        rule = "rs,nspd->nrpd" if kept.ndim == 2 else "nrs,nspd->nrpd"
        return torch.einsum(rule, kept, self.written[:, start:stop])

    def _made(self, stage: int) -> Writes:
        """What the senders of a stage make of what they read."""
        if stage < 0:
            return self.runs.clean[:, :1]
        layer, is_mlp = divmod(stage, 2)
        block = self.runs.model.block(layer)
        return self._mlp(layer, block) if is_mlp and isinstance(block, Block) else self._heads(layer, block)

    def _heads(self, layer: int, block: AttnOnlyBlock) -> Writes:
        rows, model = self.runs.wires.rows[layer, True], self.runs.model
        inputs = block.attn_in(self._inputs(2 * layer, rows).flatten(0, 1)).unflatten(0, (-1, len(rows)))
        own = _OwnInputs(inputs, [self.runs.wires.receivers[row] for row in rows], block)
        stream = self.runs.streams[:, 2 * layer]
        block.attn(block.attn_in(stream), place(model.cfg.attention_dir, None, stream.shape[1], stream.device), own)
        written = torch.einsum("nphd,hdm->nhpm", own.z, widened(block.attn.W_O).to(own.z.dtype))
        return written if block.residual_scale == 1.0 else written * block.residual_scale

    def _mlp(self, layer: int, block: Block) -> Writes:
        beside = self.runs.model.cfg.parallel_attn_mlp
        stream = self._inputs(2 * layer + (not beside), self.runs.wires.rows[layer, False])[:, 0]
        return block.mlp_out(block.mlp_in(stream, stream), NO_TAP)[:, None]


class PostNormPass(Pass):
    """The same where the stream is normalised after each addition; see `residual_path`.

    Attributes:
        sums: where all edges are kept, what is written at each stage of this run.
    """

    def __init__(self, runs: EdgeRuns, *settings: Any) -> None:
        super().__init__(runs, *settings)
        self.sums: list[Tensor] = []
        self._of_baseline, self._starts = sums_of(runs.model, runs.other), stage_starts(runs.model)

    def _add(self, change: Writes) -> None:
        self.sums.append(self._of_baseline[len(self.sums)] + change.sum(1))

    def _streams(self, stage: int, receivers: list[int]) -> Float[Tensor, "row receiver pos d_model"]:
        model = self.runs.model
        if self.edges is None:
            return stream_of(model, self.sums)[:, None].expand(-1, len(receivers), -1, -1)
        sums = [
            self._of_baseline[at][:, None] + self._kept(receivers, start, stop)
            for at, (start, stop) in enumerate(pairwise(self._starts[: stage + 2]))
        ]
        return stream_of(model, [each.flatten(0, 1) for each in sums]).unflatten(0, (-1, len(receivers)))


class _OwnInputs(Tap):
    """Gives each head the query, key and value of its own stream, and keeps what heads mix of the values."""

    def __init__(
        self, inputs: Float[Tensor, "row receiver pos d_model"], receivers: list[Receiver], block: AttnOnlyBlock
    ) -> None:
        weights, biases = block.attn.keys_and_values()
        self._made: dict[str, Tensor] = {}
        for part, W, b in zip("qkv", (block.attn.W_Q, *weights), (block.attn.b_Q, *biases), strict=True):
            rows = [row for row, receiver in enumerate(receivers) if receiver.read == part]
            made = torch.einsum("nhpm,hmd->nphd", inputs[:, rows], widened(W).to(inputs.dtype))
            self._made[f"hook_{part}"] = block.attn.as_read(part, made + widened(b).to(inputs.dtype))
        self.z = torch.empty(0)

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name == "hook_z":
            self.z = activation
        return self._made.get(name, activation)

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._made or name == "hook_z" else Look.NEVER
