"""Tables of a dictionary on a prompt: active features, reconstruction error, and one feature in full."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from headlight.model.attribution.logits import Question
from headlight.model.attribution.parts import Part
from headlight.model.attribution.tables import promoted_rows
from headlight.model.features.carried import Carried, carried
from headlight.model.features.reconstruction import Read, in_place, read_features
from headlight.model.features.single_feature import made_by, nearest, read_by, tokens_of
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.edits import head_name
from headlight.model.runs.linear import no_reading, no_split
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Row, Tables, columns, finite, known, number
from headlight.model.runs.tables import tokens_of as tokens_shown

MAX_FEATURES = {1: 24, 2: 12}  # that are listed of one run, and of each of two side by side
MISSED = "share of the length that the dictionary misses"


@dataclass(frozen=True)
class FeatureOrder:
    """Ranking of features: by activation or, with a target and a distractor, by direct effect at a place.

    Attributes:
        place: place on the common axis.
        target: token id whose logit is read; None to rank by activation.
        distractor: token id whose logit is subtracted.
    """

    place: int
    target: int | None = None
    distractor: int | None = None

    def question(self, position: int) -> Question | None:
        """The logit difference at a position of a run; None where features are ranked by activation."""
        if self.target is None or self.distractor is None:
            return None
        return Question(self.target, self.distractor, position)


def feature_tables(
    comparison: Comparison,
    opened: Dictionaries,
    layer: int,
    feature: int | None = None,
    order: FeatureOrder | None = None,
) -> Tables:
    """Tabulate a dictionary on a prompt: top features, reconstruction error, and one feature in full.

    Args:
        comparison: one run, or two to compare.
        opened: dictionaries by layer, from `open_dictionary`.
        layer: the layer whose dictionary is listed.
        feature: the feature listed in full, by default the first in `order`.
        order: how features are ranked, by default by activation at the last place that all runs have.
    """
    order = FeatureOrder(comparison.default_place) if order is None else order
    place = order.place
    feature = default_feature(comparison, opened, layer, order) if feature is None else feature
    listed = first_features(comparison, opened, layer, feature, order)
    return {
        "tokens": tokens_shown(comparison),
        "dictionary": columns(["run", "quantity", "unit", "value"], _summary_rows(comparison, opened, layer)),
        "features": columns(["run", "feature", "place", "activation"], _active(comparison, opened, layer, listed)),
        "missed": columns(["run", "place", *PLACES], _by_place(comparison, opened, layer)),
        "made by": columns(["run", "part", "activation"], _made_by(comparison, opened, layer, feature, place)),
        "promoted": columns(
            ["run", "rank", "promotes", "by (logits)", "suppresses", "by how much (logits)"],
            _promoted(comparison, opened, layer, feature, place),
        ),
        "nearest": columns(["rank", "feature", "cosine"], _nearest(opened, layer, feature)),
        "carried": columns(["run", "carries", "logits"], _carried(comparison, opened, layer, order)),
        "read by": columns(["run", "head", "query", "key", "value"], _readers(comparison, opened, layer, feature)),
    }


def default_feature(comparison: Comparison, opened: Dictionaries, layer: int, order: FeatureOrder) -> int:
    """The first feature at a place, in the first run that has one there; or of any place, or feature 0."""
    for run in comparison.runs:
        read, position = read_features(run, opened, layer), comparison.positions(run)[order.place]
        carried = _carried_at(comparison, run, opened, layer, order)
        here = [] if position is None else read.strongest(1, position)
        if candidates := (carried.strongest(1) if carried else []) or here or read.strongest(1):
            return candidates[0]
    return 0


def first_features(
    comparison: Comparison, opened: Dictionaries, layer: int, feature: int, order: FeatureOrder
) -> list[int]:
    """The features that come first in any run, and a chosen one if it is not among them."""
    most: dict[int, float] = {}
    count = MAX_FEATURES[len(comparison.runs)]
    for run in comparison.runs:
        for each, size in _sizes(comparison, run, opened, layer, order, count):
            most[each] = max(most.get(each, 0.0), size)
    features = sorted(most, key=lambda each: -most[each])[:count]
    return features if feature in features else [*features, feature]


def _sizes(
    comparison: Comparison, run: Run, opened: Dictionaries, layer: int, order: FeatureOrder, count: int
) -> Iterator[tuple[int, float]]:
    """A run's first features with what they are listed by."""
    carried = _carried_at(comparison, run, opened, layer, order)
    if carried is None:
        read = read_features(run, opened, layer)
        yield from ((each, read.peak(each)) for each in read.strongest(count))
        return
    sizes = {part.feature: abs(value) for part, value in _effects(carried)}
    yield from ((each, sizes[each]) for each in carried.strongest(count))


def carried_by(run: Run, opened: Dictionaries, layer: int, question: Question | None) -> Carried | None:
    """Features' direct effects on a logit difference; None without one, or where the logits are no sums."""
    return None if question is None or no_reading(run.model) else carried(run, opened[layer], question)


def _carried_at(
    comparison: Comparison, run: Run, opened: Dictionaries, layer: int, order: FeatureOrder
) -> Carried | None:
    """The same at the place by which features are listed; None where the run lacks it, too."""
    position = comparison.positions(run)[order.place]
    return None if position is None else carried_by(run, opened, layer, order.question(position))


def _effects(carried: Carried) -> Iterator[tuple[Part, float]]:
    yield from zip(carried.parts, carried.values.values.tolist(), strict=True)


def _carried(comparison: Comparison, opened: Dictionaries, layer: int, order: FeatureOrder) -> Iterator[Row]:
    for side, run in comparison.sides.items():
        at_place = _carried_at(comparison, run, opened, layer, order)
        yield from ((side, part.name, value) for part, value in (_effects(at_place) if at_place else ()))


def activations(
    comparison: Comparison, opened: Dictionaries, layer: int, features: Sequence[int]
) -> dict[str, Measure]:
    """Activations of the active features [feature, place], of A, B and B - A."""

    def stacked(run: Run) -> Measure:
        read = read_features(run, opened, layer)
        values = torch.stack([read.activation(each).values for each in features])
        return Measure("feature's activation", "activation", ("feature", "pos"), values)

    return comparison.measured_by_place(stacked)


def missed(comparison: Comparison, opened: Dictionaries, layer: int) -> dict[str, Measure]:
    """The share of the activation's length that the dictionary misses [place], of A, B and B - A."""
    return comparison.measured_by_place(lambda run: _missed(read_features(run, opened, layer)))


def _missed(read: Read) -> Measure:
    return Measure(MISSED, "share", ("pos",), read.errors.values / read.lengths.values)


def moved(comparison: Comparison, opened: Dictionaries, layer: int) -> dict[str, Measure]:
    """KL(run || with the dictionary in place) [place], of A, B and B - A."""
    return comparison.measured_by_place(lambda run: in_place(run, opened, layer).moved)


def n_active(comparison: Comparison, opened: Dictionaries, layer: int) -> dict[str, Measure]:
    """Number of active features [place], of A, B and B - A."""
    return comparison.measured_by_place(lambda run: read_features(run, opened, layer).n_active)


PLACES = {"active features": n_active, MISSED: missed, "KL with the dictionary in place (nats)": moved}


def summary(run: Run, opened: Dictionaries, layer: int) -> dict[str, tuple[float, str]]:
    """Quality of a dictionary on a run, in a few numbers with their units."""
    read, put = read_features(run, opened, layer), in_place(run, opened, layer)
    return {
        "explained variance": (float(read.explained.values), "share"),
        "active features": (float(read.n_active.values.float().mean()), "features"),
        "loss": (float(put.loss.values), "nats"),
        "loss with the dictionary in place": (float(put.loss_in_place.values), "nats"),
        "KL with the dictionary in place": (float(put.moved.values.mean()), "nats"),
    }


def heads_reading(
    run: Run, opened: Dictionaries, layer: int, feature: int
) -> list[tuple[tuple[int, int], list[float]]]:
    """Heads that read a feature's write, with scores by query, key and value, the largest first."""
    compositions = read_by(run, opened[layer], feature)
    if compositions is None:
        return []
    scores = torch.stack([measure.values for measure in compositions.values()], -1)
    known = [((layer, head), scores[layer, head].tolist()) for (layer, head), _ in finite(scores[..., 0])]
    return sorted(known, key=lambda each: -max(each[1]))


def _summary_rows(comparison: Comparison, opened: Dictionaries, layer: int) -> Iterator[Row]:
    for side, run in comparison.sides.items():
        for name, (value, unit) in summary(run, opened, layer).items():
            yield side, name, unit, number(value)


def _active(comparison: Comparison, opened: Dictionaries, layer: int, features: Sequence[int]) -> Iterator[Row]:
    for side, measure in activations(comparison, opened, layer, features).items():
        for (row, place), value in finite(measure.values):
            if value != 0:
                yield side, features[row], place, value


def _by_place(comparison: Comparison, opened: Dictionaries, layer: int) -> Iterator[Row]:
    measures = [quantity(comparison, opened, layer) for quantity in PLACES.values()]
    for side in measures[0]:
        yield from ((side, *at, *row) for at, row in known(each[side].values for each in measures))


def _made_by(comparison: Comparison, opened: Dictionaries, layer: int, feature: int, place: int) -> Iterator[Row]:
    for side, (run, position) in comparison.sides_at(place).items():
        made = None if no_split(run.model) else made_by(run, opened[layer], feature, position)
        if made is not None:
            values = made.values.values.tolist()
            yield from ((side, part.name, value) for part, value in zip(made.parts, values, strict=True))


def _promoted(comparison: Comparison, opened: Dictionaries, layer: int, feature: int, place: int) -> Iterator[Row]:
    for side, (run, position) in comparison.sides_at(place).items():
        tokens = None if no_reading(run.model) else tokens_of(run, opened[layer], feature, position)
        if tokens is not None:
            yield from ((side, *row) for row in promoted_rows(tokens, run.outputs))


def _nearest(opened: Dictionaries, layer: int, feature: int) -> Iterator[Row]:
    neighbours = nearest(opened[layer], feature)
    pairs = zip(neighbours.features.tolist(), neighbours.cosines.tolist(), strict=True)
    yield from ((rank, *pair) for rank, pair in enumerate(pairs, 1))


def _readers(comparison: Comparison, opened: Dictionaries, layer: int, feature: int) -> Iterator[Row]:
    for side, run in comparison.sides.items():
        for head, (query, key, value) in heads_reading(run, opened, layer, feature):
            yield side, head_name(head), query, key, value
