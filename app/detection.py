"""What the heads of a model do, found a sequence at a time: on random tokens that come twice, or on prompts.

Each sequence is a run of its own, so that the work can be shown and stopped, and never takes more than a run. What
comes of it is in the cache of runs under the sequence's name, which says everything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from app import limits, models, runs
from app.limits import GIB, Cost
from app.run import FLOPS, cost, stack, tokenizer_of
from app.selection import Head
from app.settings import settings
from model import Transformer, TransformerConfig
from model.analysis import Measure, detectors, ov
from model.analysis.detectors import KINDS, Estimate, Kind, Verdict
from model.analysis.heads import next_token_loss
from model.errors import InputError
from model.hooks import NO_TAP, Collect, Tap
from model.interventions import Ablation, ablate_head, abreast
from model.layers import visible_keys
from model.training.repeats import repeated_halves

N_REPEATS = 10
HALF = 25  # tokens that come twice, if the context holds them
SHORTEST = 4  # tokens that make a half
AT_ONCE = 8  # heads that are ablated side by side
ABLATIONS: dict[Ablation, str] = {"zero": "zeroed", "mean": "mean-ablated"}


@dataclass(frozen=True)
class Fed:
    """A sequence by name: a prompt, or else one of the seeded random repeats."""

    model: str
    bos: bool
    prompt: str | None = None
    seed: int = 0
    number: int = 0


@dataclass(frozen=True, eq=False)
class Seen:
    """Every head's scores on one sequence, and what a head would score there that looks at all alike."""

    n_tokens: int
    scores: dict[Kind, Measure]
    chance: dict[Kind, Measure]


@dataclass(frozen=True)
class Losses:
    """The loss on a second copy (nats a token): untouched, and with one head ablated."""

    untouched: float
    ablated: Mapping[Ablation, float]


@dataclass(frozen=True, eq=False)
class Detected:
    """Every head over the sequences: scores with intervals, chance, and the labels that hold by the patterns."""

    n_sequences: int
    scores: Mapping[Kind, Estimate]
    chance: Mapping[Kind, float]
    labels: Mapping[Head, tuple[Kind, ...]]


Effects = Mapping[Ablation, Estimate]
"""The change of the loss on second copies when a head is ablated (nats a token), by the way that was done."""


def repeats(model_name: str, bos: bool, seed: int) -> tuple[Fed, ...]:
    """The names of the seeded random sequences."""
    return tuple(Fed(model_name, bos, seed=seed, number=number) for number in range(N_REPEATS))


def half_of(model: Transformer, bos: bool) -> int:
    """How many tokens come twice: 0 where the context or the vocabulary is too small for random repeats."""
    half = min(HALF, (model.cfg.n_ctx - bos) // 2, len(_words(model)))
    return half if half >= SHORTEST else 0


def _words(model: Transformer) -> Int[np.ndarray, " word"]:
    """The vocabulary without special tokens, as far as the model embeds it."""

    def words() -> Int[np.ndarray, " word"]:
        return np.array([token for token in tokenizer_of(model).word_ids() if token < model.cfg.d_vocab])

    return runs.remembered(("words", model.source), words)


def do(job: "Fed | AblationJob") -> None:
    """Do a job; what comes of it is in the cache.

    Raises:
        HeadlightError: it cannot be done.
    """
    if isinstance(job, Fed):
        look(job)
    else:
        ablate(job)


def _tokens(fed: Fed) -> tuple[Transformer, Int[Tensor, " pos"], int]:
    """The model, its tokens, and how many of these stand before the first copy."""
    if fed.prompt is not None:
        model, tokens, _ = runs.fed(fed.model, fed.prompt, fed.bos)
        return model, tokens, 0
    model = models.open_model(fed.model)
    half = half_of(model, fed.bos)
    if half == 0:
        raise InputError(
            f"The context or the vocabulary of {fed.model} does not hold {SHORTEST} different tokens twice, so that "
            "there are no random repeats to look for heads on. Look at your own prompts instead."
        )
    start = tokenizer_of(model).bos_token_id if fed.bos else None
    before = torch.tensor([] if start is None else [start], dtype=torch.long)
    rng = np.random.default_rng([fed.seed, fed.number])
    twice = repeated_halves(1, half, _words(model), rng)[0]
    tokens = torch.cat([before, twice])
    budget = Cost(settings().run_gib * GIB, settings().run_seconds)
    limits.check_cost(len(tokens), lambda n_tokens: cost(model.cfg, n_tokens), budget)
    return model, tokens, len(before)


def look(fed: Fed) -> Seen:
    """Every head's scores on a sequence, from the cache where they were taken before.

    Raises:
        HeadlightError: as `runs.run`; or there are no random repeats for this model.
    """
    return runs.remembered(("seen", fed), lambda: _look(fed))


def seen(fed: Fed) -> Seen | None:
    """The same without running anything: None where it is not in the cache."""
    return runs.recalled(("seen", fed))


def _look(fed: Fed) -> Seen:
    model, tokens, _ = _tokens(fed)
    marks = _punctuation(model, tokens)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    tap = Collect(names, lambda pattern: detectors.detector_scores(pattern[0].cpu(), tokens, marks))
    with runs.turn(), torch.inference_mode():
        models.on_device(model)(tokens[None].to(settings().device), tap=tap, stop_at_layer=model.cfg.n_layers)
        visible = visible_keys(model.cfg.attention_dir, None, len(tokens), tokens.device)[0, 0]
        chance = detectors.chance_scores(visible, tokens, marks)
    scores = stack(list(tap.kept.values()))
    return Seen(len(tokens), {kind: scores[kind] for kind in KINDS}, chance)


def _punctuation(model: Transformer, tokens: Int[Tensor, " pos"]) -> Bool[Tensor, " pos"]:
    tokenizer = tokenizer_of(model)
    return torch.tensor([detectors.is_punctuation(tokenizer.to_string(token)) for token in tokens.tolist()])


def detected(sequences: Sequence[Fed]) -> Detected | None:
    """Every head over those of the sequences that have been looked at; None where none has."""
    known = [each for each in map(seen, sequences) if each is not None]
    if not known:
        return None
    scores = {kind: detectors.estimate([each.scores[kind] for each in known]) for kind in KINDS}
    chance = {kind: detectors.estimate([each.chance[kind] for each in known]) for kind in KINDS}
    by_chance = {kind: float(each.mean.values) for kind, each in chance.items()}
    return Detected(len(known), scores, by_chance, detectors.head_labels(scores, by_chance))


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
    model, tokens, start = _tokens(job.fed)
    variants = [(head, mode) for head in job.heads for mode in ABLATIONS]
    taps = [NO_TAP, *(ablate_head(*head, mode) for head, mode in variants)]
    untouched, *rest = _losses(model, tokens, start, job.heads[0][0], taps)
    losses = dict(zip(variants, rest, strict=True))
    for head in job.heads:
        ablated = {mode: losses[head, mode] for mode in ABLATIONS}
        runs.remembered(("losses", job.fed, head), partial(Losses, untouched, ablated))


def _losses(
    model: Transformer, tokens: Int[Tensor, " pos"], start: int, first: int, taps: Sequence[Tap]
) -> list[float]:
    """The loss on the second copy with each of the taps; none acts before layer `first`, which is run up to once."""
    running, half = models.on_device(model), (len(tokens) - start) // 2
    fed, tap = tokens[None].to(settings().device), abreast(taps)
    visible = visible_keys(model.cfg.attention_dir, None, len(tokens), fed.device)
    with runs.turn(), torch.inference_mode():
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


def supported_labels(model_name: str, bos: bool, seed: int) -> dict[Head, tuple[Kind, ...]]:
    """The labels on random repeats, as far as they are known: none that an ablation was measured not to support."""
    sequences = repeats(model_name, bos, seed)
    found = detected(sequences)
    if found is None or found.n_sequences < len(sequences):
        return {}
    kept = {
        head: tuple(kind for kind in kinds if verdict(kind, effects(sequences, head)) != "not supported")
        for head, kinds in found.labels.items()
    }
    return {head: kinds for head, kinds in kept.items() if kinds}


def copying(model_name: str) -> Measure:
    """Every head's copying score from the weights alone, both LayerNorms' centring and gain included.

    NaN where the model reads another vocabulary than it writes.
    """
    return runs.remembered(("copying", model_name), lambda: _copying(models.open_model(model_name)))


def _copying(model: Transformer) -> Measure:
    cfg = model.cfg
    if cfg.d_vocab_out != cfg.d_vocab:
        return Measure("copying score", "share", ("layer", "head"), torch.full((cfg.n_layers, cfg.n_heads), torch.nan))
    weights: dict[str, Tensor] = dict(model.named_parameters())
    plain = torch.ones(cfg.d_model)
    after = weights.get("ln_final.w", plain)
    with runs.turn(), torch.inference_mode():
        loop = ov.through_vocabulary(model.unembed.W_U, model.embed.W_E)
        layers = []
        for layer in range(cfg.n_layers):
            W_V, W_O = (weights[f"blocks.{layer}.attn.{name}"] for name in ("W_V", "W_O"))
            if cfg.normalization_type is not None:
                before = weights.get(f"blocks.{layer}.ln1.w", plain)
                W_V, W_O = ov.reading(W_V, before), ov.writing(W_O, after)
            layers.append(ov.copying_scores(W_V, W_O, loop).values)
    return Measure("copying score", "share", ("layer", "head"), torch.stack(layers))


def looking_seconds(cfg: TransformerConfig, n_sequences: int, n_tokens: int) -> float:
    """How long looking at so many sequences is estimated to take."""
    return n_sequences * cost(cfg, n_tokens).seconds


def ablating_seconds(cfg: TransformerConfig, jobs: Sequence[AblationJob], n_tokens: int) -> float:
    """How long the ablations are estimated to take: rows grow where the first head of a job stands."""
    each, unembedding = cost(cfg, n_tokens).seconds, 2 * cfg.d_model * cfg.d_vocab * n_tokens / 2 / FLOPS
    total = 0.0
    for job in jobs:
        rows, first = 1 + len(ABLATIONS) * len(job.heads), job.heads[0][0] / cfg.n_layers
        total += each * (first + rows * (1 - first)) + rows * unembedding
    return total
