"""What becomes of the loss on second copies when heads are ablated one by one, and which labels that supports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Int
from torch import Tensor

from app import models, runs
from app.detection.looking import detected
from app.detection.sequences import Fed, Repeats, editing, repeats, tokens_of
from app.run import FLOPS, cost
from app.selection import Head
from app.settings import settings
from model import Transformer, TransformerConfig
from model.analysis import Measure, detectors
from model.analysis.detectors import Estimate, Kind, Verdict
from model.analysis.heads import next_token_loss
from model.hooks import NO_TAP, Chain, Tap
from model.interventions import Ablation, ablate_head, abreast
from model.layers import visible_keys

AT_ONCE = 8  # heads that are ablated side by side
ABLATIONS: dict[Ablation, str] = {"zero": "zeroed", "mean": "mean-ablated"}


@dataclass(frozen=True)
class Losses:
    """The loss on a second copy (nats a token): untouched, and with one head ablated."""

    untouched: float
    ablated: Mapping[Ablation, float]


Effects = Mapping[Ablation, Estimate]
"""The change of the loss on second copies when a head is ablated (nats a token), by the way that was done."""


@dataclass(frozen=True)
class AblationJob:
    """Heads to be ablated one by one on one of the random repeats."""

    fed: Fed
    heads: tuple[Head, ...]


def ablation_jobs(sequences: Sequence[Fed], heads: Sequence[Head]) -> tuple[AblationJob, ...]:
    """What is not known yet of these heads' effects, in jobs of heads that follow one another."""
    found = []
    for fed in sequences:
        missing = [head for head in sorted(heads) if runs.recalled(("losses", fed, head)) is None]
        found += [AblationJob(fed, tuple(missing[i : i + AT_ONCE])) for i in range(0, len(missing), AT_ONCE)]
    return tuple(found)


def ablate(job: AblationJob) -> None:
    """Measure the loss on the second copy, untouched and with each head ablated; the cache keeps it.

    Raises:
        HeadlightError: as `look`.
    """
    model, tokens, start = tokens_of(job.fed)
    variants = [(head, mode) for head in job.heads for mode in ABLATIONS]
    taps = [NO_TAP, *(ablate_head(*head, mode) for head, mode in variants)]
    untouched, *rest = _losses(model, tokens, start, job, taps)
    losses = dict(zip(variants, rest, strict=True))
    for head in job.heads:
        ablated = {mode: losses[head, mode] for mode in ABLATIONS}
        runs.remembered(("losses", job.fed, head), partial(Losses, untouched, ablated))


def _losses(
    model: Transformer, tokens: Int[Tensor, " pos"], start: int, job: AblationJob, taps: Sequence[Tap]
) -> list[float]:
    """The loss on the second copy with each of the taps; none acts before the first head's layer, which is run to once.

    With edits every row begins at the embedding: an edit may act anywhere.
    """
    running, half = models.on_device(model), (len(tokens) - start) // 2
    fed, first = tokens[None].to(settings().device), 0 if job.fed.edits else job.heads[0][0]
    visible = visible_keys(model.cfg.attention_dir, None, len(tokens), fed.device)
    with runs.turn(), torch.inference_mode():
        edits = editing(job.fed, running, fed)
        tap = abreast([Chain(edits, each) for each in taps] if job.fed.edits else taps)
        resid = running(fed, stop_at_layer=first).expand(len(taps), -1, -1)
        for layer in range(first, model.cfg.n_layers):
            resid = running.blocks[layer](resid, visible, tap.within(f"blocks.{layer}"))
        # A row at a time: all rows' logits are many times what else a run takes.
        rows, copy = resid[:, start + half :].split(1), fed[:, start + half :]
        return [float(next_token_loss(running.unembed(running.ln_final(row, NO_TAP)), copy)) for row in rows]


def effects(sequences: Sequence[Fed], head: Head) -> Effects:
    """What ablating a head changes, as far as it was measured: empty where it was not, on every sequence."""
    found: list[Losses | None] = [runs.recalled(("losses", fed, head)) for fed in sequences]
    losses = [each for each in found if each is not None]
    if len(losses) < len(found) or not losses:
        return {}
    return {mode: detectors.estimate([_change(each, mode) for each in losses]) for mode in ABLATIONS}


def effect_differences(a: Sequence[Fed], b: Sequence[Fed], head: Head) -> Effects:
    """B - A of what ablating a head changes, repeat by repeat; both have to be measured."""
    pairs: list[tuple[Losses, Losses]] = [
        (runs.recalled(("losses", one, head)), runs.recalled(("losses", other, head)))
        for one, other in zip(a, b, strict=True)
    ]
    return {mode: detectors.estimate([_change_of_change(*pair, mode) for pair in pairs]) for mode in ABLATIONS}


def _change_of_change(a: Losses, b: Losses, mode: Ablation) -> Measure:
    before, after = (_change(losses, mode) for losses in (a, b))
    return Measure(f"B - A of the {after.name}", "nats", (), after.values - before.values)


def _change(losses: Losses, mode: Ablation) -> Measure:
    change = torch.tensor(losses.ablated[mode] - losses.untouched)
    return Measure(f"change of the loss on second copies ({mode}-ablated)", "nats", (), change)


def every_effect(effects: Mapping[Head, Effects], shape: tuple[int, int]) -> Estimate:
    """The changes by mean-ablation as one quantity of all heads: NaN for those that have not been ablated."""
    means, lows, highs = torch.full((3, *shape), torch.nan)
    count = torch.zeros(shape, dtype=torch.long)
    for head, by_mode in effects.items():
        each = by_mode["mean"]
        means[head], lows[head], highs[head] = each.mean.values, each.low.values, each.high.values
        count[head] = each.count
    name, axes = "change of the loss on second copies, mean-ablated", ("layer", "head")
    mean, low, high = (Measure(name, "nats", axes, values) for values in (means, lows, highs))
    return Estimate(mean, low, high, count)


def verdict(kind: Kind, measured: Effects) -> Verdict:
    """Whether the ablations support a label."""
    return detectors.verdict(kind, [float(each.low.values) for each in measured.values()])


def supported_labels(model_name: str, bos: bool, drawn: Repeats) -> dict[Head, tuple[Kind, ...]]:
    """The labels on random repeats, as far as they are known: none that an ablation was measured not to support."""
    sequences = repeats(model_name, bos, drawn)
    found = detected(sequences)
    if found is None or found.n_sequences < len(sequences):
        return {}
    kept = {
        head: tuple(kind for kind in kinds if verdict(kind, effects(sequences, head)) != "not supported")
        for head, kinds in found.labels.items()
    }
    return {head: kinds for head, kinds in kept.items() if kinds}


def ablating_seconds(cfg: TransformerConfig, jobs: Sequence[AblationJob], n_tokens: int) -> float:
    """How long the ablations are estimated to take: rows grow where the first head of a job stands."""
    each, unembedding = cost(cfg, n_tokens).seconds, 2 * cfg.d_model * cfg.d_vocab * n_tokens / 2 / FLOPS
    total = 0.0
    for job in jobs:
        rows, first = 1 + len(ABLATIONS) * len(job.heads), 0 if job.fed.edits else job.heads[0][0] / cfg.n_layers
        total += each * (first + rows * (1 - first)) + rows * unembedding
    return total
