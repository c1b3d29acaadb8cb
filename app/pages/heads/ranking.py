"""State of the page *Head roles*: every head's score, interval, rank, label, and the evidence for the label.

With a B whose heads may differ from A's there is a ranking of A, of B, and of the change.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from headlight.app.exports.csv_files import Cell
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.subjects import Subject
from headlight.app.parts import detection
from headlight.app.parts.labels import SCORES, FinderScore, words
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.measure import Measure, Unit
from headlight.model.measure.difference import subtract
from headlight.model.roles import ABLATIONS, Detected, Effects
from headlight.model.roles.ablating import verdict
from headlight.model.roles.detectors import KINDS, Estimate, Kind, Verdict, ranks
from headlight.model.runs.edits import Head, head_name

EVIDENCE: dict[Verdict, str] = {
    "supported": "pattern and ablation",
    "not supported": "pattern only; ablation has no significant effect",
    "not measured": "pattern; not ablated yet",
    "not tested": "pattern",
}


@dataclass(frozen=True, eq=False)
class Ranking(ABC):
    """One score of every head; `low` and `high` are NaN without an interval."""

    score: FinderScore
    measure: Measure
    low: Float[np.ndarray, "layer head"]
    high: Float[np.ndarray, "layer head"]

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
        """Number of heads that have the score."""
        return int(np.isfinite(self.values).sum())

    @property
    def ranked_by(self) -> Measure:
        """Values by which the heads are ordered, the largest first."""
        return self.measure

    @cached_property
    def ranks(self) -> Int[np.ndarray, "layer head"]:
        """Rank of every head, 1 for the first; 0 without a score."""
        return ranks(self.ranked_by).values.numpy()

    def order(self) -> list[Head]:
        """The heads that have the score, the first by rank first."""
        values = self.ranked_by.values.numpy()
        places = np.argsort(-np.nan_to_num(values, nan=-np.inf), axis=None, kind="stable")[: self.n_ranked]
        return [divmod(int(place), values.shape[1]) for place in places]

    @abstractmethod
    def label(self, head: Head) -> str:
        """Label of a head."""


@dataclass(frozen=True, eq=False)
class HeadRanking(Ranking):
    """One score of every head of one side, with all that is known of the heads.

    `scores` are those of all kinds, `effects` those of the heads that have been ablated.
    """

    subject: Subject
    n_sequences: int
    scores: Mapping[Kind, Estimate]
    labels: Mapping[Head, tuple[Kind, ...]]
    effects: Mapping[Head, Effects]

    def label(self, head: Head) -> str:
        """A head's labels with their icons; one that the ablation does not support has a question mark."""
        kinds = self.labels.get(head, ())
        return ", ".join(words(kind, self.verdict(head, kind) == "not supported") for kind in kinds)

    def verdict(self, head: Head, kind: Kind) -> Verdict:
        """Whether the measurements support a label."""
        return verdict(kind, self.effects.get(head, {}))

    @property
    def doubted(self) -> list[Head]:
        """The heads that have a label which their ablation does not support."""
        pairs = [(head, kind) for head, kinds in self.labels.items() for kind in kinds]
        return sorted({head for head, kind in pairs if self.verdict(head, kind) == "not supported"})

    def sentence(self) -> str:
        """How many heads have the role of the score, and which has the most of it."""
        title = SCORES[self.score].title
        if not self.n_ranked:
            return title
        first = self.order()[0]
        value = f"{self.values[first]:.2f}".replace("-", "−")
        strongest = f"{head_name(first)} has the highest score for {title.lower()}, {value}."
        if self.score not in KINDS:
            return strongest
        count = sum(self.score in kinds for kinds in self.labels.values())
        return f"{title}: {count:,} of {self.n_ranked:,} heads. {strongest}"

    def evidence(self, head: Head) -> str:
        """Evidence for a head's labels."""
        verdicts = dict.fromkeys(self.verdict(head, kind) for kind in self.labels.get(head, ()))
        return "; ".join(EVIDENCE[each] for each in verdicts)


@dataclass(frozen=True, eq=False)
class Change(Ranking):
    """Change of one score of the heads that A and B both have; ranks are by the size of the change."""

    a: HeadRanking
    b: HeadRanking

    @property
    def signed(self) -> bool:
        """A change may be below 0."""
        return True

    @property
    def ranked_by(self) -> Measure:
        """The size of the change."""
        return Measure(f"size of the {self.measure.name}", self.unit, self.measure.axes, self.measure.values.abs())

    def label(self, head: Head) -> str:
        """Both sides' labels, once where they are the same."""
        of_a, of_b = self.a.label(head), self.b.label(head)
        if of_a == of_b:
            return of_a
        return f"A: {of_a or 'no label'}; B: {of_b or 'no label'}"


def find(subject: Subject, chosen: Selection) -> HeadRanking | None:
    """One score of every head over the measured sequences; None where there are none.

    Labels rest on the subject's sequences, ablations on its random repeats.
    """
    own = chosen.choices_of(Choices)
    known = detection.detected(subject.sequences)
    if known is None:
        return None
    effects = {head: measured for head in subject.heads if (measured := detection.effects(subject.repeats, head))}
    measure, low, high = _score(subject, own.finder_score, known, effects)
    return HeadRanking(
        own.finder_score, measure, low, high, subject, known.n_sequences, known.scores, known.labels, effects
    )


def _score(
    subject: Subject, score: FinderScore, known: Detected, effects: Mapping[Head, Effects]
) -> tuple[Measure, np.ndarray, np.ndarray]:
    """The chosen score with the ends of its interval."""
    if score == "copying":
        return _without_interval(detection.copying(subject.model))
    return _with_interval(detection.every_effect(effects, subject.shape) if score == "effect" else known.scores[score])


def changed(a: HeadRanking, b: HeadRanking) -> Change:
    """The change of the score from A to B."""
    if a.score == "copying":
        scores = _without_interval(subtract(a.measure, b.measure))
    elif a.score == "effect":
        scores = _with_interval(detection.every_effect(changed_effects(a, b), _common(a, b)))
    else:
        estimate = detection.differences(a.subject.sequences, b.subject.sequences, a.score)
        scores = _with_interval(estimate) if estimate else _without_interval(subtract(a.measure, b.measure))
    return Change(a.score, *scores, a, b)


def changed_effects(a: HeadRanking, b: HeadRanking) -> dict[Head, Effects]:
    """Change of the effect of ablating a head, for heads that were ablated in both."""
    both = [head for head in a.effects if head in b.effects]
    return {head: detection.effect_differences(a.subject.repeats, b.subject.repeats, head) for head in both}


def _common(a: HeadRanking, b: HeadRanking) -> tuple[int, int]:
    """The layers and heads that both have."""
    n_layers, n_heads = map(min, zip(a.subject.shape, b.subject.shape, strict=True))
    return n_layers, n_heads


def _with_interval(estimate: Estimate) -> tuple[Measure, np.ndarray, np.ndarray]:
    return estimate.mean, estimate.low.values.numpy(), estimate.high.values.numpy()


def _without_interval(measure: Measure) -> tuple[Measure, np.ndarray, np.ndarray]:
    absent = np.full(tuple(measure.values.shape), np.nan, np.float32)
    return measure, absent, absent


def table(ranking: HeadRanking, most: int | None = None, role: Kind | None = None) -> dict[str, list[Cell]]:
    """The first heads by the score, one row a head; of a role alone where there is one."""
    heads = [head for head in ranking.order() if role is None or role in ranking.labels.get(head, ())][:most]
    columns: dict[str, list[Cell]] = {
        "head": [head_name(head) for head in heads],
        SCORES[ranking.score].title: [float(ranking.values[head]) for head in heads],
        "95% interval": [_ends(ranking, head) for head in heads],
        "rank": [int(ranking.ranks[head]) for head in heads],
        "label": [ranking.label(head) or None for head in heads],
        "evidence": [ranking.evidence(head) or None for head in heads],
    }
    for mode, done in ABLATIONS.items():
        own = {head: ranking.effects[head][mode] for head in heads if head in ranking.effects}
        columns[f"{done} (nats)"] = [float(own[head].mean.values) if head in own else None for head in heads]
        columns[f"{done} 95%"] = [_interval(own[head]) if head in own else None for head in heads]
    return columns


def changes_table(change: Change, most: int | None = None) -> dict[str, list[Cell]]:
    """The heads that change most, one row a head: both scores, and the change with its interval."""
    heads = change.order()[:most]
    columns: dict[str, list[Cell]] = {"head": [head_name(head) for head in heads]}
    for side, ranking in (("A", change.a), ("B", change.b)):
        columns[side] = [_number(ranking.values[head]) for head in heads]
        columns[f"{side} 95%"] = [_ends(ranking, head) for head in heads]
    columns[DIFFERENCE] = [float(change.values[head]) for head in heads]
    columns[f"{DIFFERENCE} 95%"] = [_ends(change, head) for head in heads]
    columns["rank"] = [int(change.ranks[head]) for head in heads]
    for side, ranking in (("A", change.a), ("B", change.b)):
        columns[f"label in {side}"] = [ranking.label(head) or None for head in heads]
    return columns


def _ends(values: HeadRanking | Change, head: Head) -> str | None:
    sign = "+" if isinstance(values, Change) else ""
    if np.isnan(values.low[head]):
        return None
    return f"{values.low[head]:{sign}.3f} to {values.high[head]:{sign}.3f}".replace("-", "−")


def _interval(each: Estimate) -> str:
    low, high = float(each.low.values), float(each.high.values)
    return f"{low:+.2f} to {high:+.2f}".replace("-", "−")


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
