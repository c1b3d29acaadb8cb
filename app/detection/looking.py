"""Every head's scores over sequences, taken one sequence at a time, and the labels that these give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from app import models, runs
from app.detection.sequences import Fed, editing, tokens_of
from app.run import cost, stack, tokenizer_of
from app.selection import Head
from app.settings import settings
from model import Transformer, TransformerConfig
from model.analysis import Measure, detectors
from model.analysis.detectors import KINDS, Estimate, Kind
from model.hooks import Chain, Collect
from model.layers import visible_keys


@dataclass(frozen=True, eq=False)
class Seen:
    """Every head's scores on one sequence, and what a head would score there that looks at all alike."""

    n_tokens: int
    scores: dict[Kind, Measure]
    chance: dict[Kind, Measure]


@dataclass(frozen=True, eq=False)
class Detected:
    """Every head over the sequences: scores with intervals, chance, and the labels that hold by the patterns."""

    n_sequences: int
    scores: Mapping[Kind, Estimate]
    chance: Mapping[Kind, float]
    labels: Mapping[Head, tuple[Kind, ...]]


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
    model, tokens, _ = tokens_of(fed)
    marks = _punctuation(model, tokens)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    collect = Collect(names, lambda pattern: detectors.detector_scores(pattern[0].cpu(), tokens, marks))
    running, row = models.on_device(model), tokens[None].to(settings().device)
    with runs.turn(), torch.inference_mode():
        running(row, tap=Chain(editing(fed, running, row), collect), stop_at_layer=model.cfg.n_layers)
        visible = visible_keys(model.cfg.attention_dir, None, len(tokens), tokens.device)[0, 0]
        chance = detectors.chance_scores(visible, tokens, marks)
    scores = stack(list(collect.kept.values()))
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


def differences(a: Sequence[Fed], b: Sequence[Fed], kind: Kind) -> Estimate | None:
    """B - A of one score of the heads that both have, sequence by sequence; None where none has been looked at in both.

    The two go through the same sequences, so that what these do to a score alike is not in the interval.
    """
    pairs = [(seen(one), seen(other)) for one, other in zip(a, b, strict=True)]
    found = [_difference(x.scores[kind], y.scores[kind]) for x, y in pairs if x is not None and y is not None]
    return detectors.estimate(found) if found else None


def _difference(a: Measure, b: Measure) -> Measure:
    both = tuple(slice(min(sizes)) for sizes in zip(a.values.shape, b.values.shape, strict=True))
    return replace(a, name=f"change of {a.name}", values=b.values[both] - a.values[both])


def looking_seconds(cfg: TransformerConfig, n_sequences: int, n_tokens: int) -> float:
    """How long looking at so many sequences is estimated to take."""
    return n_sequences * cost(cfg, n_tokens).seconds
