"""What an experiment measures of one batch of rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.experiments.changes import Replaced, cells_of, n_heads, parts_needed
from headlight.model.experiments.direct import head_effects_by_position, row_effects
from headlight.model.experiments.patching import estimated, patched, paths
from headlight.model.experiments.places import matched
from headlight.model.experiments.plan import Plan, tokens_of
from headlight.model.experiments.reading import head_patterns, lens
from headlight.model.experiments.runs import Prompts, Readout
from headlight.model.experiments.settings import HEAD_PARTS, MeasureKind, Part, Side
from headlight.model.nn.cache import ActivationCache, activation_name
from headlight.model.nn.hooks import BeforeLayers
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, batches
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.run import Run, make_run

MIB = 2**20


@dataclass(frozen=True, eq=False)
class BatchValues:
    """What was measured of some rows.

    Attributes:
        numbers: the rows' numbers.
        values: a value for each row and cell; of changed runs their metric.
        clean: the metric of the clean prompts; NaN where they were not run.
        corrupted: the metric of the corrupted prompts; NaN where they were not run.
        components: the labels of the cells of a whole attribution.
    """

    numbers: tuple[int, ...]
    values: Float[Tensor, "row *cell"]
    clean: Float[Tensor, " row"]
    corrupted: Float[Tensor, " row"]
    components: tuple[str, ...] = ()


def measure_batch(model: Transformer, rows: Sequence[TokenRow], plan: Plan, host: Host = HERE) -> BatchValues:
    """Measure rows of one length; what the host raises when it checks, before each layer of a pass, stops it.

    Raises:
        InputError: the model has not what is measured, or too little memory is allowed.
    """
    return _MEASURES.get(plan.settings.measure, _changed)(model, rows, plan, host)


def with_means(model: Transformer, plan: Plan, host: Host = HERE) -> Plan:
    """The plan with the means that a mean ablation puts in: of every place, of every position, or over all.

    They are those of each position where all prompts have one length, and over all positions where they have not.
    """
    settings = plan.settings
    if settings.measure != "ablation" or settings.ablation != "mean":
        return plan
    part, sums, counts = settings.part, dict[int, Tensor](), dict[int, Tensor]()
    is_one_length = len({_n_pos(row, plan.base_side) for row in plan.rows}) == 1
    for rows in batches(plan.rows, settings.batch):
        cache, _ = _prompts(model, rows, plan, plan.base_side, host).run([part])
        for layer in range(model.cfg.n_layers):
            values = cache[part, layer]
            values = values.transpose(1, 2) if part == "pattern" else values  # [row, pos, ...]
            if plan.by_place:
                where = plan.places.of_rows(rows, plan.base_side).to(values.device)
                values = values[torch.arange(len(rows), device=values.device)[:, None], where.clamp(min=0)]
                has = where >= 0
            else:
                has = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
            values = values.masked_fill(~has.reshape(*has.shape, *(1 for _ in values.shape[2:])), 0.0)
            total, count = values.double().sum(0), has.sum(0)
            if not plan.by_place and not is_one_length:
                total, count = total.sum(0, keepdim=True), count.sum(0, keepdim=True)
            sums[layer] = sums[layer] + total if layer in sums else total
            counts[layer] = counts[layer] + count if layer in counts else count
    means = {layer: sums[layer] / counts[layer].reshape(-1, *(1 for _ in sums[layer].shape[1:])) for layer in sums}
    return replace(plan, means={layer: mean.float().cpu() for layer, mean in means.items()})


def _changed(model: Transformer, rows: Sequence[TokenRow], plan: Plan, host: Host) -> BatchValues:
    """The metric of runs with a part replaced: patched, estimated, on a path, or ablated."""
    settings, cfg = plan.settings, model.cfg
    part: Part = "z" if settings.measure == "path" else settings.part
    side = plan.base_side
    prompts = _prompts(model, rows, plan, side, host)
    read = [settings.read] if settings.measure == "path" else []
    base, unchanged = prompts.run([*parts_needed(part, cfg), *read])
    is_matched, other, changed = _other(model, rows, plan, part, base, host)
    where = plan.places.of_rows(rows, side)
    replaced = Replaced(prompts, part, base, other, where, is_by_place=plan.by_place and bool(plan.means))
    cells = cells_of(part, cfg, len(plan.places.labels) if plan.by_place else None)
    at_once = settings.memory * MIB
    if settings.measure == "attribution":
        values = estimated(replaced, cells, unchanged, prompts.gradients(part))
    elif settings.measure == "path":
        values = paths(replaced, cells, plan.receiver, settings.read, settings.through_mlps, at_once)
    else:
        values = patched(replaced, cells, at_once)
    values = _as_map(values, where, is_matched, part, plan, n_heads(part, cfg))
    clean, corrupted = (unchanged, changed) if side == "clean" else (changed, unchanged)
    return BatchValues(_numbers(rows), values, clean.cpu(), corrupted.cpu())


def _other(
    model: Transformer, rows: Sequence[TokenRow], plan: Plan, part: Part, base: ActivationCache, host: Host
) -> tuple[Bool[Tensor, "row pos"], ActivationCache, Float[Tensor, " row"]]:
    """By what a part is replaced, at which positions that is known, and the metric of the run that it comes from."""
    settings, n_layers, nothing = plan.settings, model.cfg.n_layers, torch.full((len(rows),), torch.nan)
    names = [activation_name(part, layer) for layer in range(n_layers)]
    everywhere = torch.ones(len(rows), _n_pos(rows[0], plan.base_side), dtype=torch.bool)
    if settings.measure == "ablation" and settings.ablation == "zero":
        return everywhere, ActivationCache({name: torch.zeros_like(base[name]) for name in names}, n_layers), nothing
    if settings.measure == "ablation" and settings.ablation == "mean":
        means = {name: plan.means[layer].to(base[name]) for layer, name in enumerate(names)}
        if not plan.by_place:
            turned = {name: mean.transpose(0, 1) if part == "pattern" else mean for name, mean in means.items()}
            means = {name: mean.expand_as(base[name]) for name, mean in turned.items()}
        return everywhere, ActivationCache(means, n_layers), nothing
    source: Side = "corrupted" if plan.base_side == "clean" else "clean"
    other, metric = _prompts(model, rows, plan, source, host).run([part])
    is_matched, there = matched(rows, plan.base_side)
    if not rows[0].is_aligned:
        other = _aligned(names, base, other, is_matched, there, n_layers)
    return is_matched, other, nothing if plan.is_resampled else metric


def _aligned(
    names: Sequence[str],
    base: ActivationCache,
    other: ActivationCache,
    is_matched: Bool[Tensor, "row pos"],
    there: Tensor,
    n_layers: int,
) -> ActivationCache:
    """The other prompts' activations at the positions of the base prompts; the base's own where there is none."""
    row, here = (places.to(base[names[0]].device) for places in is_matched.nonzero(as_tuple=True))
    aligned = {}
    for name in names:
        aligned[name] = base[name].clone()
        aligned[name][row, here] = other[name][row, there.to(row.device)[row, here]]
    return ActivationCache(aligned, n_layers)


def _as_map(
    values: Float[Tensor, "row layer cell"],
    where: Tensor,
    is_matched: Bool[Tensor, "row pos"],
    part: Part,
    plan: Plan,
    heads: int,
) -> Float[Tensor, "row layer *cell"]:
    """The cells as heads and places; NaN at places that a row has not, or that have no counterpart."""
    if not plan.by_place:
        return values
    has = (where >= 0) & is_matched.gather(1, where.clamp(min=0))
    if part not in HEAD_PARTS:
        return values.masked_fill(~has[:, None], torch.nan)
    by_head = values.unflatten(2, (-1, heads)).transpose(2, 3)
    return by_head.masked_fill(~has[:, None, None], torch.nan)


def _direct(model: Transformer, rows: Sequence[TokenRow], plan: Plan, host: Host) -> BatchValues:
    runs = [_run(model, tokens, host) for tokens in tokens_of(rows, plan.base_side)]
    effects = [row_effects(run, row) for run, row in zip(runs, rows, strict=True)]
    parts = [effect.components() for effect in effects]
    measured = torch.tensor([sum(values.values()) for values in parts], dtype=torch.float32)
    clean, corrupted = _on(plan.base_side, measured)
    match plan.settings.part:
        case "all":
            values, labels = torch.tensor([list(each.values()) for each in parts]), tuple(parts[0])
            return BatchValues(_numbers(rows), values, clean, corrupted, labels)
        case "attn_out":
            values = torch.stack([effect.attention for effect in effects])
        case "mlp_out":
            values = torch.stack([effect.mlps for effect in effects])
        case _ if plan.by_place:
            values = torch.stack([_by_place(run, row, plan) for run, row in zip(runs, rows, strict=True)])
        case _:
            values = torch.stack([effect.heads for effect in effects])
    return BatchValues(_numbers(rows), values.float(), clean, corrupted)


def _by_place(run: Run, row: TokenRow, plan: Plan) -> Float[Tensor, "layer head place"]:
    """The heads' direct effects by the place that they attend to; by name there is one more, of all other tokens."""
    effects = head_effects_by_position(run, row)
    where = plan.places.of_rows([row], plan.base_side)[0]
    values = effects[..., where.clamp(min=0)].masked_fill(where < 0, torch.nan)
    if plan.places.kind != "names":
        return values
    others = torch.ones(effects.shape[-1], dtype=torch.bool)
    others[where[where >= 0]] = False
    return torch.cat([values, effects[..., others].sum(-1, keepdim=True)], -1)


def _run(model: Transformer, tokens: Tensor, host: Host) -> Run:
    with torch.inference_mode():
        return make_run(model, "", False, tokens.cpu(), watch=BeforeLayers(lambda _: host.check()))


def _lens(model: Transformer, rows: Sequence[TokenRow], plan: Plan, host: Host) -> BatchValues:
    prompts = _prompts(model, rows, plan, plan.base_side, host)
    where = plan.places.of_rows(rows, plan.base_side)
    by_place = plan.settings.by == "position"
    end = torch.full((len(rows), 1), prompts.n_pos - 1)
    values = lens(prompts, torch.cat([where, end], 1).to(prompts.tokens.device))
    metric, values = values[:, -1, -1], values[..., :-1] if by_place else values[..., -1]
    values = values.masked_fill((where < 0)[:, None], torch.nan) if by_place else values
    return BatchValues(_numbers(rows), values, *_on(plan.base_side, metric))


def _patterns(model: Transformer, rows: Sequence[TokenRow], plan: Plan, host: Host) -> BatchValues:
    prompts = _prompts(model, rows, plan, plan.base_side, host)
    where = plan.places.of_rows(rows, plan.base_side).to(prompts.tokens.device)
    values = head_patterns(prompts, where, plan.pairs)
    nothing = torch.full((len(rows),), torch.nan)
    return BatchValues(_numbers(rows), values, nothing, nothing)


# What needs one pass a row; the others change a part of it, cell by cell.
_MEASURES: Mapping[MeasureKind, Callable[[Transformer, Sequence[TokenRow], Plan, Host], BatchValues]] = {
    "dla": _direct,
    "lens": _lens,
    "patterns": _patterns,
}


def _prompts(model: Transformer, rows: Sequence[TokenRow], plan: Plan, side: Side, host: Host) -> Prompts:
    tokens = tokens_of(rows, side).to(model.embed.W_E.device)
    return Prompts(model, rows, tokens, Readout(model, rows, plan.settings.metric), host)


def _on(side: Side, metric: Float[Tensor, " row"]) -> tuple[Float[Tensor, " row"], Float[Tensor, " row"]]:
    nothing = torch.full_like(metric, torch.nan)
    return (metric, nothing) if side == "clean" else (nothing, metric)


def _numbers(rows: Sequence[TokenRow]) -> tuple[int, ...]:
    return tuple(row.number for row in rows)


def _n_pos(row: TokenRow, side: Side) -> int:
    return len(row.clean) if side == "clean" or row.corrupted is None else len(row.corrupted)
