"""Heads to be ablated one by one on random repeats, as jobs, and what is known of what that changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from headlight.app.analyses.detection.looking import detected
from headlight.app.analyses.detection.sequences import Input, Repeats, repeats, sequence_of
from headlight.app.runs import runs
from headlight.app.runs.cost import FLOPS, cost
from headlight.model import TransformerConfig
from headlight.model.analysis import Measure
from headlight.model.analysis.detectors import Estimate, Kind
from headlight.model.edits import Head
from headlight.model.roles import ablating
from headlight.model.roles.ablating import ABLATIONS, Effects, Losses, verdict
from headlight.model.text.chat import Begin

AT_ONCE = 8  # heads that are ablated side by side


@dataclass(frozen=True)
class AblationJob:
    """Heads to be ablated one by one on one of the random repeats."""

    given: Input
    heads: tuple[Head, ...]


def ablation_jobs(sequences: Sequence[Input], heads: Sequence[Head]) -> tuple[AblationJob, ...]:
    """What is not known yet of these heads' effects, in jobs of heads that follow one another."""
    found = []
    for given in sequences:
        missing = [head for head in sorted(heads) if runs.kept(("losses", given, head)) is None]
        found += [AblationJob(given, tuple(missing[i : i + AT_ONCE])) for i in range(0, len(missing), AT_ONCE)]
    return tuple(found)


def ablate(job: AblationJob) -> None:
    """Measure the loss on the second copy, untouched and with each head ablated; the cache keeps it.

    Raises:
        HeadlightError: as `look`.
    """
    found = ablating.ablation_losses(sequence_of(job.given), job.heads)
    for head in job.heads:
        runs.keep(("losses", job.given, head), partial(found.__getitem__, head))


def losses_of(sequences: Sequence[Input], head: Head) -> list[Losses | None]:
    """The losses with a head ablated, sequence by sequence: None where they have not been measured."""
    return [runs.kept(("losses", given, head)) for given in sequences]


def effects(sequences: Sequence[Input], head: Head) -> Effects:
    """What ablating a head changes, as far as it was measured: empty where it was not, on every sequence."""
    return ablating.effects(losses_of(sequences, head))


def effect_differences(a: Sequence[Input], b: Sequence[Input], head: Head) -> Effects:
    """B - A of what ablating a head changes, repeat by repeat; both have to be measured."""
    pairs = zip(losses_of(a, head), losses_of(b, head), strict=True)
    return ablating.effect_differences([(one, other) for one, other in pairs if one and other])


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


def supported_labels(model_name: str, bos: Begin, drawn: Repeats) -> dict[Head, tuple[Kind, ...]]:
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
        rows, first = 1 + len(ABLATIONS) * len(job.heads), 0 if job.given.edits else job.heads[0][0] / cfg.n_layers
        total += each * (first + rows * (1 - first)) + rows * unembedding
    return total
