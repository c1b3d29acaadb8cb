"""Every head's scores over sequences, taken one sequence at a time, and the labels that these give."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.measure.difference import subtract
from headlight.model.measure.mean_scores import stack
from headlight.model.nn.hooks import Chain, Collect
from headlight.model.nn.layers import place
from headlight.model.nn.transformer import Transformer
from headlight.model.roles import detectors
from headlight.model.roles.detectors import KINDS, Estimate, Kind
from headlight.model.roles.sequences import Sequence
from headlight.model.runs.edits import Head
from headlight.model.runs.edits.editing import tap
from headlight.model.runs.run import tokenizer_of


@dataclass(frozen=True, eq=False)
class Seen:
    """Scores of every head on one sequence, and the score of uniform attention."""

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


def look_at(sequence: Sequence) -> Seen:
    """Every head's scores on a sequence.

    Raises:
        HeadlightError: the model does not allow one of the edits, or the host lets no more passes in.
    """
    model, tokens, host = sequence.model, sequence.tokens, sequence.host
    marks = _punctuation(model, tokens)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.cfg.n_layers)]
    collect = Collect(names, lambda pattern: detectors.detector_scores(pattern[0].cpu(), tokens, marks))
    running, row = host.on_device(model), tokens[None].to(host.device)
    with host.turn(), torch.inference_mode():
        edits = tap(running, row, sequence.edits, sequence.bos)
        running(row, tap=Chain(edits, collect), stop_at_layer=model.cfg.n_layers)
        mask = place(model.cfg.attention_dir, None, len(tokens), tokens.device).mask[0, 0]
        chance = detectors.chance_scores(mask, tokens, marks)
    scores = stack(list(collect.kept.values()))
    return Seen(len(tokens), {kind: scores[kind] for kind in KINDS}, chance)


def _punctuation(model: Transformer, tokens: Int[Tensor, " pos"]) -> Bool[Tensor, " pos"]:
    tokenizer = tokenizer_of(model)
    return torch.tensor([detectors.is_punctuation(tokenizer.to_string(token)) for token in tokens.tolist()])


def detected(seen: Iterable[Seen | None]) -> Detected | None:
    """Every head over those of the sequences that have been looked at; None where none has."""
    known = [each for each in seen if each is not None]
    if not known:
        return None
    scores = {kind: detectors.estimate([each.scores[kind] for each in known]) for kind in KINDS}
    chance = {kind: detectors.estimate([each.chance[kind] for each in known]) for kind in KINDS}
    by_chance = {kind: float(each.mean.values) for kind, each in chance.items()}
    return Detected(len(known), scores, by_chance, detectors.head_labels(scores, by_chance))


def differences(pairs: Iterable[tuple[Seen | None, Seen | None]], kind: Kind) -> Estimate | None:
    """B - A of one score of the heads that both have, sequence by sequence; None where none has been looked at in both.

    The two go through the same sequences, so that what these do to a score alike is not in the interval.
    """
    changes = [subtract(a.scores[kind], b.scores[kind]) for a, b in pairs if a is not None and b is not None]
    return detectors.estimate(changes) if changes else None
