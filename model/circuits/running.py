"""A run in which every reader has a stream of its own: what comes along an edge can be A's or B's, edge by edge."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.wiring import Receiver, Wiring, wiring
from headlight.model.measure.alignment import Align
from headlight.model.nn.blocks import AttnOnlyBlock, Block
from headlight.model.nn.hooks import NO_TAP, Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.layers.parameters import widened
from headlight.model.patching.means import AgainstMeans
from headlight.model.patching.of_runs import patch_runs
from headlight.model.patching.runs import Patching
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.linear import Behind, check_split, norm_behind
from headlight.model.runs.run import Run

Edges = Float[Tensor, "receiver sender"]
Streams = Float[Tensor, "some pos d_model"]


@dataclass(frozen=True, eq=False)
class EdgeRuns:
    """Runs A and B of one model, ready to be run again with each edge from the one or from the other."""

    patching: Patching
    wires: Wiring

    @property
    def changes(self) -> Float[Tensor, "sender pos d_model"]:
        """Each sender's write in B minus that in A."""
        patching, differences = self.patching, []
        for sender in self.wires.senders:
            if sender.layer is None:
                differences.append(patching.change("resid_pre", 0))
            elif sender.head is None:
                differences.append(patching.change("mlp_out", sender.layer))
            else:
                differences.append(patching.heads_change(sender.layer, [sender.head]))
        return torch.stack(differences)

    def run(self, edges: Edges, begin: float = 0.0, beside: Streams | None = None) -> Float[Tensor, ""]:
        """Target less distractor where what comes along an edge is A's by this share, and B's by the rest.

        A's is what the sender makes in this very run of what it reads. The embeddings are moved by `begin` of the way
        to B's. `beside` [receiver, pos, d_model] is added to what each receiver reads, to be differentiated.
        """
        return _Pass(self, edges, begin, beside).run()


def edge_runs_of(a: Run, b: Run, measured: LogitDifference, align: Align = "tokens") -> EdgeRuns:
    """Run A and a run of another prompt, made ready for circuits.

    Raises:
        InputError: a run with edits or of another model, one that cannot be patched, or what `edge_runs` refuses.
    """
    if b.edits or not b.same_model(a):
        raise InputError("A circuit is of one model and two prompts, without edits. Give B a prompt of its own.")
    return edge_runs(patch_runs(a, b, measured, "A", align))


def edge_runs_against_means(run: Run, measured: LogitDifference) -> EdgeRuns:
    """A run alone, made ready for circuits: what comes along an edge can be its mean over the run's own positions.

    Raises:
        InputError: a run with edits, one in which the means change nothing, or what `edge_runs` refuses.
    """
    if run.edits:
        raise InputError("A circuit is of a run without edits. Take them out first.")
    with run.host.turn(), torch.no_grad():
        return edge_runs(AgainstMeans(run.host.on_device(run.model), run.tokens[None].to(run.host.device), measured))


def edge_runs(patching: Patching) -> EdgeRuns:
    """Run A, into which B's parts are patched, made ready for circuits.

    Raises:
        InputError: a model in which heads write together, or whose stream is no sum.
    """
    model = patching.model
    check_split(model)
    behind: tuple[Behind, ...] = ("ln1_post",) if model.cfg.attn_only else ("ln1_post", "ln2_post")
    if any(norm_behind(model, layer, each) for layer in range(model.cfg.n_layers) for each in behind):
        raise InputError(
            "In this model a norm stands behind each layer's heads, which write together: what comes along the edge "
            "from one of them has no value of its own. Open another model."
        )
    return EdgeRuns(patching, wiring(model.cfg))


@dataclass(eq=False)
class _Pass:
    """One run: what each sender wrote less what it writes in B, sender by sender."""

    runs: EdgeRuns
    edges: Edges
    begin: float
    beside: Streams | None
    written: list[Tensor] = field(default_factory=list)

    def run(self) -> Float[Tensor, ""]:
        """The logit difference at the end."""
        patching = self.runs.patching
        self.written.append((self.begin - 1) * patching.change("resid_pre", 0))
        for layer in range(patching.model.cfg.n_layers):
            block = patching.model.block(layer)
            pre = patching.other["resid_pre", layer]
            self._heads(layer, block, pre)
            if isinstance(block, Block):
                self._mlp(layer, block, pre)
        return patching.read(self._read(patching.final_of_other, self.runs.wires.rows[None, False]))[0]

    def _read(self, stream: Float[Tensor, "pos d_model"], rows: list[int]) -> Streams:
        """The input streams of these receivers; in B all of them read `stream`."""
        kept = self.edges[rows, : len(self.written)]
        streams = stream + torch.einsum("rs,spd->rpd", kept, torch.stack(self.written))
        return streams if self.beside is None else streams + self.beside[rows]

    def _heads(self, layer: int, block: AttnOnlyBlock, pre: Float[Tensor, "pos d_model"]) -> None:
        patching, rows = self.runs.patching, self.runs.wires.rows[layer, True]
        read = block.attn.read(block.attn_in(self._read(pre, rows)), NO_TAP)
        own = _Own(read._asdict(), [self.runs.wires.receivers[row] for row in rows], patching)
        positions = place(patching.model.cfg.attention_dir, None, patching.n_pos, pre.device)
        block.attn(block.attn_in(pre[None]), positions, own)
        W_O = widened(block.attn.W_O).to(own.z)
        for head in range(patching.model.cfg.n_heads):
            change = (own.z[:, head] - patching.other["z", layer][:, head]) @ W_O[head]
            self.written.append(change * block.residual_scale)

    def _mlp(self, layer: int, block: Block, pre: Float[Tensor, "pos d_model"]) -> None:
        patching, rows = self.runs.patching, self.runs.wires.rows[layer, False]
        mid = pre + patching.other["attn_out", layer]
        beside = patching.model.cfg.parallel_attn_mlp
        stream = self._read(pre if beside else mid, rows)
        output = block.mlp_out(block.mlp_in(stream, stream), NO_TAP)[0]
        self.written.append(output - patching.other["mlp_out", layer])


class _Own(Tap):
    """Gives each head the query, key and value of its own stream, and keeps what heads mix of the values."""

    def __init__(self, read: dict[str, Tensor], receivers: list[Receiver], patching: Patching) -> None:
        group = patching.model.cfg.group_of
        self._made: dict[str, Tensor] = {}
        for part in ("q", "k", "v"):
            rows = [
                (row, each.head) for row, each in enumerate(receivers) if each.read == part and each.head is not None
            ]
            slots = [read[part][row, :, head if part == "q" else group(head)] for row, head in rows]
            self._made[f"hook_{part}"] = torch.stack(slots, 1)[None]
        self.z = torch.empty(0)

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name == "hook_z":
            self.z = activation[0]
        return self._made.get(name, activation)

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._made or name == "hook_z" else Look.NEVER
