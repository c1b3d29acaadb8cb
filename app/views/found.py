"""What the page *Heads of this model* shows: every head's score, interval, rank, label, and what supports the label."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from app import detection
from app.csv_files import Cell
from app.detection import ABLATIONS, Detected, Effects, Fed
from app.run import Run
from app.selection.chosen import FinderScore, Head, Selection
from app.views.head_tables import name
from app.views.labels import SCORES, words
from model.analysis import Measure, Unit
from model.analysis.detectors import Estimate, Kind, Verdict, ranks

EVIDENCE: dict[Verdict, str] = {
    "supported": "pattern and ablation",
    "not supported": "pattern alone: ablated, the loss does not surely rise",
    "not measured": "pattern; not ablated yet",
    "not tested": "pattern",
}


@dataclass(frozen=True, eq=False)
class Found:
    """One score of every head, with all that is known of the heads.

    `low` and `high` are NaN for what has no interval. `scores` are those of all kinds, `effects` those of the heads
    that have been ablated.
    """

    score: FinderScore
    measure: Measure
    low: Float[np.ndarray, "layer head"]
    high: Float[np.ndarray, "layer head"]
    n_sequences: int
    scores: Mapping[Kind, Estimate]
    labels: Mapping[Head, tuple[Kind, ...]]
    effects: Mapping[Head, Effects]

    @property
    def values(self) -> Float[np.ndarray, "layer head"]:
        """The scores."""
        return self.measure.values.numpy()

    @property
    def unit(self) -> Unit:
        """The unit of the scores."""
        return self.measure.unit

    @property
    def signed(self) -> bool:
        """Whether a score may be below 0."""
        return self.score in ("copying", "effect")

    @property
    def n_ranked(self) -> int:
        """How many heads have the score."""
        return int(np.isfinite(self.values).sum())

    @cached_property
    def ranks(self) -> Int[np.ndarray, "layer head"]:
        """Every head's place, 1 for the largest score; 0 for what has none."""
        return ranks(self.measure).values.numpy()

    def order(self) -> list[Head]:
        """The heads that have the score, the largest first."""
        places = np.argsort(-np.nan_to_num(self.values, nan=-np.inf), axis=None, kind="stable")[: self.n_ranked]
        return [divmod(int(place), self.values.shape[1]) for place in places]

    def label(self, head: Head) -> str:
        """A head's labels with their icons; one that the ablation does not support has a question mark."""
        kinds = self.labels.get(head, ())
        return ", ".join(words(kind, self.verdict(head, kind) == "not supported") for kind in kinds)

    def verdict(self, head: Head, kind: Kind) -> Verdict:
        """Whether what was measured supports a label."""
        return detection.verdict(kind, self.effects.get(head, {}))

    @property
    def doubted(self) -> list[Head]:
        """The heads that have a label which their ablation does not support."""
        pairs = [(head, kind) for head, kinds in self.labels.items() for kind in kinds]
        return sorted({head for head, kind in pairs if self.verdict(head, kind) == "not supported"})

    def evidence(self, head: Head) -> str:
        """What a head's labels rest on, and what ablating it changes."""
        verdicts = dict.fromkeys(self.verdict(head, kind) for kind in self.labels.get(head, ()))
        effects = [f"{ABLATIONS[mode]} {_interval(each)}" for mode, each in self.effects.get(head, {}).items()]
        changes = f"loss on second copies {', '.join(effects)} nats" if effects else ""
        return "; ".join(filter(None, (*(EVIDENCE[each] for each in verdicts), changes)))


def sequences_of(texts: Sequence[str], run: Run, chosen: Selection) -> tuple[Fed, ...]:
    """What the heads are looked at on: random repeats, or these prompts and the one on the page, each once."""
    if chosen.finder_data == "repeats":
        return repeats_of(run, chosen)
    return tuple(Fed(run.source.name, run.bos, text) for text in dict.fromkeys([*texts, run.prompt]))


def repeats_of(run: Run, chosen: Selection) -> tuple[Fed, ...]:
    """The random repeats, on which ablations are measured in any case."""
    return detection.repeats(run.source.name, run.bos, chosen.finder_seed)


def of(texts: Sequence[str], run: Run, chosen: Selection) -> Found | None:
    """What is known of the heads of a run's model."""
    shape = run.cfg.n_layers, run.cfg.n_heads
    return find(sequences_of(texts, run, chosen), repeats_of(run, chosen), chosen, shape)


def find(
    sequences: Sequence[Fed], ablated_on: Sequence[Fed], chosen: Selection, shape: tuple[int, int]
) -> Found | None:
    """One score of every head over what has been looked at; None where nothing has.

    Labels rest on `sequences`, ablations on the random repeats `ablated_on`.
    """
    known = detection.detected(sequences)
    if known is None:
        return None
    heads = [(layer, head) for layer in range(shape[0]) for head in range(shape[1])]
    effects = {head: found for head in heads if (found := detection.effects(ablated_on, head))}
    measure, low, high = _score(chosen, known, effects, shape)
    return Found(chosen.finder_score, measure, low, high, known.n_sequences, known.scores, known.labels, effects)


def _score(
    chosen: Selection, known: Detected, effects: Mapping[Head, Effects], shape: tuple[int, int]
) -> tuple[Measure, np.ndarray, np.ndarray]:
    """The chosen score with the ends of its interval."""
    if chosen.finder_score == "copying":
        absent = np.full(shape, np.nan, np.float32)
        return detection.copying(chosen.model), absent, absent
    if chosen.finder_score == "effect":
        found = detection.every_effect(effects, shape)
    else:
        found = known.scores[chosen.finder_score]
    return found.mean, found.low.values.numpy(), found.high.values.numpy()


def table(found: Found, most: int | None = None) -> dict[str, list[Cell]]:
    """The first heads by the score, one row a head."""
    heads = found.order()[:most]
    columns: dict[str, list[Cell]] = {
        "head": [name(head) for head in heads],
        SCORES[found.score].title: [float(found.values[head]) for head in heads],
        "95% from": [_number(found.low[head]) for head in heads],
        "95% to": [_number(found.high[head]) for head in heads],
        "rank": [int(found.ranks[head]) for head in heads],
        "label": [found.label(head) or None for head in heads],
    }
    for mode, done in ABLATIONS.items():
        own = {head: float(found.effects[head][mode].mean.values) for head in heads if head in found.effects}
        columns[f"{done} (nats)"] = [own.get(head) for head in heads]
    columns["evidence"] = [found.evidence(head) or None for head in heads]
    return columns


def _interval(each: Estimate) -> str:
    mean, low, high = (float(end.values) for end in (each.mean, each.low, each.high))
    return f"{mean:+.2f} ({low:+.2f} to {high:+.2f})".replace("-", "−")


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
