"""Runs over edges made ready: of two runs, of one against its own means, or of a batch of a prompt set."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.residual_path import streams_of_writes
from headlight.model.circuits.running import EdgeRuns, Writes
from headlight.model.circuits.wiring import wiring
from headlight.model.measure.alignment import Align
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import BeforeLayers, Chain, Collect
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.patching.means import AgainstMeans
from headlight.model.patching.of_runs import patch_runs
from headlight.model.patching.runs import Patching
from headlight.model.patching.sides import LogitDifference
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.prompt_sets.metric import Metric, metric
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.linear import Behind, norm_behind
from headlight.model.runs.run import Run

Baseline = Literal["pair", "mean", "mean_by_position", "zero"]
Streams = Float[Tensor, "row stage pos d_model"]
Means = Float[Tensor, "sender pos d_model"]  # with one position, or one for each


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


def edge_runs_against_zero(run: Run, measured: LogitDifference) -> EdgeRuns:
    """A run alone, made ready for circuits: what comes along an edge can be nothing at all.

    What no sender writes, such as the biases of attention, stays.

    Raises:
        InputError: a run with edits, one in which zeros change nothing, or what `edge_runs` refuses.
    """
    runs = edge_runs_against_means(run, measured)
    other = torch.zeros_like(runs.clean)
    if runs.model.cfg.post_norm:
        return replace(runs, other=other, streams=streams_of_writes(runs.model, other))
    return replace(runs, other=other, streams=runs.streams - written_before(runs.model, runs.other))


def edge_runs(patching: Patching) -> EdgeRuns:
    """Run A, into which B's parts are patched, made ready for circuits.

    Raises:
        InputError: a model in which heads write together.
    """
    model = patching.model
    check_edges(model)
    own, other = ({name: kept[None] for name, kept in cache.items()} for cache in (patching.base, patching.other))
    clean, base = writes_of(model, own), writes_of(model, other)
    streams = streams_of_writes(model, base) if model.cfg.post_norm else streams_of(model, other)
    return EdgeRuns(model, wiring(model.cfg), clean, base, streams, lambda resid, _: patching.read(resid))


def check_edges(model: Transformer) -> None:
    """Refuse a model without edges between single heads.

    Raises:
        InputError: heads write together.
    """
    behind: tuple[Behind, ...] = ("ln1_post",) if model.cfg.attn_only else ("ln1_post", "ln2_post")
    if any(norm_behind(model, layer, part) for layer in range(model.cfg.n_layers) for part in behind):
        raise InputError(
            "In this model a norm stands behind each layer's heads, which write together: what comes along the edge "
            "from one of them has no value of its own. Open another model."
        )


def writes_of(model: Transformer, cache: Mapping[str, Tensor]) -> Writes:
    """What each sender of the wiring writes, from activations [row, pos, ...] under their hook names."""
    writes = [cache["blocks.0.hook_resid_pre"][:, None]]
    for layer in range(model.cfg.n_layers):
        block, z = model.block(layer), cache[f"blocks.{layer}.attn.hook_z"]
        heads = torch.einsum("nphd,hdm->nhpm", z, widened(block.attn.W_O).to(z.dtype))
        writes.append(heads * block.residual_scale)
        if not model.cfg.attn_only:
            writes.append(cache[f"blocks.{layer}.hook_mlp_out"][:, None])
    return torch.cat(writes, 1)


def streams_of(model: Transformer, cache: Mapping[str, Tensor]) -> Streams:
    """The stream before each layer's heads and after them, and the final one."""
    streams: list[Tensor] = []
    for layer in range(model.cfg.n_layers):
        pre = cache[f"blocks.{layer}.hook_resid_pre"]
        streams += [pre, pre + cache[f"blocks.{layer}.hook_attn_out"]]
    final = streams[-1]
    if not model.cfg.attn_only:
        final = final + cache[f"blocks.{model.cfg.n_layers - 1}.hook_mlp_out"]
    return torch.stack([*streams, final], 1)


@torch.no_grad()
def activations(model: Transformer, tokens: Int[Tensor, "row pos"], host: Host = HERE) -> Mapping[str, Tensor]:
    """What `writes_of` and `streams_of` are made of, of prompts of one length; the host may stop the pass."""
    parts = ["hook_resid_pre", "attn.hook_z", "hook_attn_out", *([] if model.cfg.attn_only else ["hook_mlp_out"])]
    keep = Collect([f"blocks.{layer}.{part}" for layer in range(model.cfg.n_layers) for part in parts])
    tap = Chain(keep, BeforeLayers(lambda _: host.check()))
    model(tokens.to(model.embed.W_E.device), tap=tap, stop_at_layer=model.cfg.n_layers)
    return ActivationCache(keep.kept, model.cfg.n_layers)


def check_rows(rows: Sequence[TokenRow], baseline: Baseline) -> None:
    """Refuse rows that have no such baseline.

    Raises:
        InputError: it names the row.
    """
    if not rows:
        raise InputError("The set has no row that can be used. Give at least one prompt.")
    for row in rows:
        if baseline == "pair" and row.corrupted is None:
            raise InputError(
                f"Row {row.number} has no corrupted prompt, which the baseline 'pair' takes. Give one, or "
                "choose the baseline 'mean' or 'zero'."
            )
        if baseline == "pair" and row.corrupted is not None and len(row.corrupted) != len(row.clean):
            raise InputError(
                f"The prompts of row {row.number} have {len(row.clean)} and {len(row.corrupted)} tokens, and edges are "
                "patched position by position. Make them of one length, or choose the baseline 'mean' or 'zero'."
            )
    lengths = {len(row.clean) for row in rows}
    if baseline == "mean_by_position" and len(lengths) > 1:
        raise InputError(
            f"The prompts have {min(lengths)} to {max(lengths)} tokens, so that there is no mean for each position. "
            "Take prompts of one length, or choose the baseline 'mean'."
        )


def mean_writes(
    model: Transformer, batches: Sequence[Sequence[TokenRow]], baseline: Baseline, host: Host = HERE
) -> Means | None:
    """Each sender's mean write over the clean prompts and their positions, or over the prompts alone; None without."""
    if baseline not in ("mean", "mean_by_position"):
        return None
    total, count = torch.zeros(()), 0
    for rows in batches:
        writes = writes_of(model, activations(model, torch.stack([row.clean for row in rows]), host))
        writes = writes if baseline == "mean_by_position" else writes.sum(2, keepdim=True)
        total = total + writes.sum(0)
        count += len(rows) * (1 if baseline == "mean_by_position" else len(rows[0].clean))
    return total / count


def batch_runs(
    model: Transformer, rows: Sequence[TokenRow], baseline: Baseline, means: Means | None, kind: Metric
) -> EdgeRuns:
    """Rows of one length made ready for circuits.

    What no sender writes, such as the biases of attention, stays in every baseline.
    """
    cache = activations(model, torch.stack([row.clean for row in rows]))
    clean, streams = writes_of(model, cache), streams_of(model, cache)
    if baseline == "pair":
        cache = activations(model, torch.stack([row.corrupted for row in rows if row.corrupted is not None]))
        other, streams = writes_of(model, cache), streams_of(model, cache)
    else:
        other = torch.zeros_like(clean) if means is None else means.to(clean).expand_as(clean).clone()
        streams = streams + written_before(model, other - clean)
    if model.cfg.post_norm:
        streams = streams_of_writes(model, other)
    ends = [row.positions["end"][0] for row in rows]

    def read(resid: Float[Tensor, "row pos d_model"], places: Sequence[int]) -> Float[Tensor, " row"]:
        at_end = resid[torch.arange(len(resid)), [ends[place] for place in places]]
        return metric(model.to_logits(at_end[:, None])[:, 0], [rows[place] for place in places], kind)

    return EdgeRuns(model, wiring(model.cfg), clean, other, streams, read, tuple(range(len(rows))))


def written_before(model: Transformer, writes: Writes) -> Streams:
    """What of writes is in the stream of each stage."""
    cfg = model.cfg
    in_layer, totals = cfg.n_heads + (not cfg.attn_only), writes.cumsum(1)
    sizes = [place for layer in range(cfg.n_layers) for place in (layer * in_layer, layer * in_layer + cfg.n_heads)]
    return totals[:, [*sizes, cfg.n_layers * in_layer]]
