"""Detect the roles of a model's heads, a sequence at a time: on repeated random tokens, or on prompts.

Each sequence is a run of its own, so that progress is visible and the work can be stopped, and never takes more
than a run. Its result is in the cache of runs under the sequence's name, which says everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from headlight.app.runs import limits, models, runs
from headlight.app.runs.cost import FLOPS, budget, cost, cost_of
from headlight.model import TransformerConfig, roles
from headlight.model.measure import Measure
from headlight.model.roles import ABLATIONS, Detected, Effects, Losses, Seen
from headlight.model.roles.ablating import verdict
from headlight.model.roles.detectors import Estimate, Kind
from headlight.model.runs.edits import Edit, Head
from headlight.model.text.chat import Begin

AT_ONCE = 8  # heads that are ablated side by side


@dataclass(frozen=True)
class Repeats:
    """The seeded random sequences: how many, and how many tokens come twice in each, if the context holds them."""

    seed: int = 0
    count: int = 10
    half: int = 25


@dataclass(frozen=True)
class Input:
    """A sequence by name: a prompt, or else one of the seeded random repeats; and the edits of the run over it."""

    model: str
    bos: Begin
    prompt: str | None = None
    seed: int = 0
    number: int = 0
    half: int = Repeats.half
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class AblationJob:
    """Heads to be ablated one by one on one of the random repeats."""

    source: Input
    heads: tuple[Head, ...]


def do(job: Input | AblationJob) -> None:
    """Do a job; its result is in the cache.

    Raises:
        HeadlightError: it cannot be done.
    """
    if isinstance(job, Input):
        look(job)
    else:
        ablate(job)


def repeats(model_name: str, bos: Begin, drawn: Repeats, edits: tuple[Edit, ...] = ()) -> tuple[Input, ...]:
    """The names of the seeded random sequences."""
    return tuple(Input(model_name, bos, None, drawn.seed, number, drawn.half, edits) for number in range(drawn.count))


def sequence_of(source: Input) -> roles.Sequence:
    """The tokens that the model is to read.

    Raises:
        HeadlightError: the sequence cannot be run; or there are no random repeats for this model.
    """
    if source.prompt is not None:
        model, tokens, _ = runs.tokens_of(source.model, source.prompt, source.bos)
        return roles.Sequence(model, tokens, source.bos, 0, source.edits, runs.HOST)
    model = models.open_model(source.model)
    repeat = roles.random_repeat(model, source.bos, source.seed, source.number, source.half, source.edits, runs.HOST)
    limits.check_cost(len(repeat.tokens), cost_of(model), budget())
    return repeat


def look(source: Input) -> Seen:
    """Every head's scores on a sequence, from the cache where they were taken before.

    Raises:
        HeadlightError: as `runs.run`; or there are no random repeats for this model.
    """
    return runs.keep(("seen", source), lambda: roles.look_at(sequence_of(source)))


def seen(source: Input) -> Seen | None:
    """Every head's scores on a sequence, where they are in the cache."""
    return runs.kept(("seen", source))


def detected(sequences: Sequence[Input]) -> Detected | None:
    """Every head over those of the sequences that have been looked at; None where none has."""
    return roles.detected(map(seen, sequences))


def differences(a: Sequence[Input], b: Sequence[Input], kind: Kind) -> Estimate | None:
    """B - A of one score of the heads that both have, over the sequences looked at in both; None where none was."""
    return roles.differences([(seen(one), seen(other)) for one, other in zip(a, b, strict=True)], kind)


def looking_seconds(cfg: TransformerConfig, n_sequences: int, n_tokens: int) -> float:
    """Estimated time for measuring this many sequences."""
    return n_sequences * cost(cfg, n_tokens).seconds


def copying(model_name: str) -> Measure:
    """Every head's copying score from the weights alone; NaN where it writes another vocabulary than it reads."""
    return runs.keep(("copying", model_name), lambda: roles.copying(models.open_model(model_name), runs.HOST))


def ablation_jobs(sequences: Sequence[Input], heads: Sequence[Head]) -> tuple[AblationJob, ...]:
    """Ablations of these heads that are not measured yet, in jobs of consecutive heads."""
    jobs = []
    for source in sequences:
        missing = [head for head in sorted(heads) if runs.kept(("losses", source, head)) is None]
        jobs += [AblationJob(source, tuple(missing[i : i + AT_ONCE])) for i in range(0, len(missing), AT_ONCE)]
    return tuple(jobs)


def ablate(job: AblationJob) -> None:
    """Measure the loss on the second copy, untouched and with each head ablated; the cache keeps it.

    Raises:
        HeadlightError: as `look`.
    """
    losses = roles.ablation_losses(sequence_of(job.source), job.heads)
    for head in job.heads:
        runs.keep(("losses", job.source, head), partial(losses.__getitem__, head))


def losses_of(sequences: Sequence[Input], head: Head) -> list[Losses | None]:
    """The losses with a head ablated, sequence by sequence: None where they have not been measured."""
    return [runs.kept(("losses", source, head)) for source in sequences]


def effects(sequences: Sequence[Input], head: Head) -> Effects:
    """Measured effects of ablating a head; empty where not measured on every sequence."""
    return roles.effects(losses_of(sequences, head))


def effect_differences(a: Sequence[Input], b: Sequence[Input], head: Head) -> Effects:
    """B - A of the effects of ablating a head, repeat by repeat; both have to be measured."""
    pairs = zip(losses_of(a, head), losses_of(b, head), strict=True)
    return roles.effect_differences([(one, other) for one, other in pairs if one and other])


def every_effect(effects: Mapping[Head, Effects], shape: tuple[int, int]) -> Estimate:
    """Effects of mean-ablation as one measure of all heads: NaN for those that have not been ablated."""
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
    measured = detected(sequences)
    if measured is None or measured.n_sequences < len(sequences):
        return {}
    kept = {
        head: tuple(kind for kind in kinds if verdict(kind, effects(sequences, head)) != "not supported")
        for head, kinds in measured.labels.items()
    }
    return {head: kinds for head, kinds in kept.items() if kinds}


def ablating_seconds(cfg: TransformerConfig, jobs: Sequence[AblationJob], n_tokens: int) -> float:
    """Estimated time of the ablations, whose batches grow where the first head of a job stands."""
    each, unembedding = cost(cfg, n_tokens).seconds, 2 * cfg.d_model * cfg.d_vocab * n_tokens / 2 / FLOPS
    total = 0.0
    for job in jobs:
        rows, first = 1 + len(ABLATIONS) * len(job.heads), 0 if job.source.edits else job.heads[0][0] / cfg.n_layers
        total += each * (first + rows * (1 - first)) + rows * unembedding
    return total
