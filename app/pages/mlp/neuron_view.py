"""State of the page *MLP*: the listed neurons, their measures, and the chosen one."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from headlight.app.pages.mlp.choices import Choices
from headlight.app.parts.pair import Pair, pair_of, place_of
from headlight.app.parts.sides import as_shown
from headlight.app.selection.chosen import Selection
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE, SIDES, with_difference
from headlight.model.neurons import tables
from headlight.model.neurons.tables import MEASURED, MEASURES, NeuronQuestion
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Neuron
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class NeuronView:
    """The question about the runs' neurons, and the target and distractor tokens."""

    comparison: Comparison
    question: NeuronQuestion
    pair: Pair

    @cached_property
    def side(self) -> str:
        """Side whose numbers are listed, by its name in files: the chosen one, if it has the place."""
        sides = tables.values_of(self.comparison, self.question)
        return self.question.side if self.question.side in sides else next(iter(sides))

    @property
    def called(self) -> str:
        """Name of the side on the page."""
        return next(iter(as_shown({self.side: None})))

    @cached_property
    def neurons(self) -> list[Neuron]:
        """The neurons that are listed."""
        return tables.ranked(self.comparison, self.question)

    @cached_property
    def neuron(self) -> Neuron:
        """The chosen one."""
        return tables.chosen(self.comparison, self.question)

    @property
    def at(self) -> tuple[Run, int]:
        """The run that the chosen neuron's weights are read in, and the position: the side's own, or A's."""
        sides = self.comparison.sides_at(self.question.place)
        return sides.get(self.side, next(iter(sides.values())))

    @property
    def values(self) -> Mapping[str, Measure]:
        """Measures of every neuron on the side [layer, neuron], by name."""
        return tables.values_of(self.comparison, self.question)[self.side]

    def of_listed(self, name: str) -> Float[np.ndarray, " neuron"]:
        """A measure of the neurons that are listed."""
        if name == MEASURED:
            return tables.measured_of(self.comparison, self.question, self.neurons)[self.side].values.float().numpy()
        return np.array([float(self.values[name].values[neuron]) for neuron in self.neurons])

    @property
    def ranked_by(self) -> str:
        """The name of the measure that they are ranked by."""
        return MEASURES[self.question.by]

    @property
    def n_ranked(self) -> int:
        """Number of neurons in the ranked layers; for B - A of those that either run has."""
        known = tables.values_of(self.comparison, self.question)
        layers = slice(None) if self.question.layer is None else slice(self.question.layer, self.question.layer + 1)
        counts = {side: values[MEASURES["activation"]].values[layers].numel() for side, values in known.items()}
        if self.side != DIFFERENCE:
            return counts[self.side]
        return counts["A"] + counts["B"] - counts[DIFFERENCE]  # which is of those that both have

    @property
    def sums(self) -> Mapping[str, Measure]:
        """Parts of the MLPs' direct effects [layer] that the side has, by name."""
        return tables.sums_of(self.comparison, self.question)[self.side]

    def sum_of(self, name: str) -> float:
        """Sum of one part of the MLPs' direct effects over the ranked layers."""
        values = self.sums[name].values
        return float(values.sum() if self.question.layer is None else values[self.question.layer])

    def total_of(self, name: str) -> float:
        """A measure summed over all neurons of the layers that are ranked; of B - A over those of either run."""
        sides = tables.values_of(self.comparison, self.question)
        layers = slice(None) if self.question.layer is None else self.question.layer
        sums = {side: float(sides[side][name].values[layers].double().sum()) for side in "AB" if side in sides}
        return with_difference(sums)[self.side]


def find(comparison: Comparison, now: Selection) -> NeuronView:
    """Resolve the choices, with defaults for those not made."""
    own, pair = now.choices_of(Choices), pair_of(comparison, now)
    side = next(name for name, each in SIDES.items() if each == (now.side or "a"))
    question = NeuronQuestion(
        target=pair.target,
        distractor=pair.distractor,
        place=place_of(comparison, now),
        by=own.neurons_by,
        layer=own.neurons_layer,
        count=own.neurons_count,
        side=side if comparison.b is not None else "A",
        measured=own.neurons_measured,
        neuron=now.neuron,
    )
    return NeuronView(comparison, question, pair)
