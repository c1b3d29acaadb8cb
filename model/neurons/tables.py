"""Neurons in tables: the first at a token, their effects on a prediction, and one in full."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch.nn.functional import pad

from headlight.model.attribution.logits import Question
from headlight.model.attribution.tables import promoted_rows
from headlight.model.former_names import former_keywords
from headlight.model.measure import Measure
from headlight.model.measure.difference import by_name, subtract, union, with_difference
from headlight.model.neurons.activations import activations_at, over_prompt
from headlight.model.neurons.effects import direct_effects, gradient_effects, measured_effects
from headlight.model.neurons.weights import neuron_composition, neuron_tokens
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Neuron, head_name, neuron_name
from headlight.model.runs.linear import has_mlp_bias
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Row, Rows, Table, Tables, columns, finite, number, tokens_of

Ranking = Literal["direct", "gradient", "activation"]
Values = Mapping[str, Measure]

MEASURES: dict[Ranking, str] = {
    "direct": "direct effect",
    "gradient": "gradient × activation",
    "activation": "activation",
}
MEASURED = "measured effect"
NEURONS, BIASES, EDITS, WRITTEN = "neurons", "biases", "edits behind them", "MLP's write"


@dataclass(frozen=True)
class NeuronQuestion:
    """Neurons to list, and the logit difference by which their effects are measured.

    Attributes:
        target: token id whose logit is read.
        distractor: token id whose logit is subtracted.
        place: place on the common axis.
        by: the measure that neurons are ranked by, in absolute value.
        layer: only this layer's neurons; None for all layers.
        count: number of neurons to list.
        side: run to rank in: "A", "B" or their difference.
        measured: ablate each listed neuron as well.
        neuron: (layer, neuron) listed in full, by default the first.
    """

    target: int
    distractor: int
    place: int
    by: Ranking = "direct"
    layer: int | None = None
    count: int = 16
    side: str = "A"
    measured: bool = False
    neuron: Neuron | None = None


@former_keywords(asked="question")
def mlp_tables(comparison: Comparison, question: NeuronQuestion) -> Tables:
    """Tabulate MLP neurons by their effect on a logit difference, and one neuron in full.

    Args:
        comparison: one run, or two to compare.
        question: the neurons and the logit difference.

    Raises:
        InputError: the model has no neurons.
    """
    neuron = chosen(comparison, question)
    return {
        "tokens": tokens_of(comparison),
        "neurons": _neurons(comparison, question),
        "sums": columns(["run", "layer", "what", "direct effect"], _sums(comparison, question)),
        "over the prompt": columns(["run", "place", "what", "value"], _over_prompt(comparison, neuron)),
        "weights": columns(
            ["run", "matrix", "rank", "raised", "by", "lowered", "by how much"], _weights(comparison, question, neuron)
        ),
        "heads": columns(["run", "head", "how", "composition"], _heads(comparison, neuron)),
    }


def values_of(comparison: Comparison, question: NeuronQuestion) -> dict[str, Values]:
    """Every neuron's measures at the place [layer, neuron], by name, of A, B and B - A."""

    def values() -> dict[str, Values]:
        sides = comparison.sides_at(question.place).items()
        return with_difference({side: _values(run, at, question) for side, (run, at) in sides})

    return comparison.keep(("neurons at", question.target, question.distractor, question.place), values)


def _values(run: Run, position: int, neurons: NeuronQuestion) -> Values:
    question, activations = Question(neurons.target, neurons.distractor, position), activations_at(run, position)
    direct, gradient = direct_effects(run, question).values, gradient_effects(run, question, position)
    reads = (
        activations.reads if len(activations.reads) > 1 else {}
    )  # one before its activation function says little beside it
    named: dict[Ranking, Measure] = {"direct": direct, "gradient": gradient, "activation": activations.values}
    return {MEASURES[name]: measure for name, measure in named.items()} | dict(reads)


def ranked(comparison: Comparison, question: NeuronQuestion) -> list[Neuron]:
    """The first neurons by the measure's absolute value, on the chosen side if it has the place."""
    sides = values_of(comparison, question)
    values = sides.get(question.side, next(iter(sides.values())))
    sizes = values.get(MEASURES[question.by], values[MEASURES["gradient"]]).values
    of_layers = sizes if question.layer is None else sizes[question.layer : question.layer + 1]
    order = of_layers.abs().flatten().topk(min(question.count, of_layers.numel())).indices.tolist()
    return [(at // sizes.shape[1] + (question.layer or 0), at % sizes.shape[1]) for at in order]


def has_neuron(run: Run, neuron: Neuron) -> bool:
    """Whether a run's model has a neuron."""
    return neuron[0] < run.cfg.n_layers and neuron[1] < (run.cfg.d_mlp or 0)


def chosen(comparison: Comparison, question: NeuronQuestion) -> Neuron:
    """The neuron listed in full: the one in the question, or the first that every run has."""
    wanted = [] if question.neuron is None else [question.neuron]
    neurons = (*wanted, *ranked(comparison, replace(question, count=sys.maxsize)))
    return next(neuron for neuron in neurons if all(has_neuron(run, neuron) for run in comparison.runs))


def measured_of(comparison: Comparison, question: NeuronQuestion, neurons: Sequence[Neuron]) -> dict[str, Measure]:
    """Effect of ablating each neuron at the place [neuron], of A, B and B - A; NaN where a run lacks it."""
    by_side = {}
    for side, (run, at) in comparison.sides_at(question.place).items():
        own = [neuron for neuron in neurons if has_neuron(run, neuron)]
        measured = measured_effects(run, own, Question(question.target, question.distractor, at), at)
        by_side[side] = replace(measured, values=by_name(measured.values, own, neurons, torch.nan))
    return with_difference(by_side)


def sums_of(comparison: Comparison, question: NeuronQuestion) -> dict[str, dict[str, Measure]]:
    """Parts that sum to the MLPs' direct effects [layer], of A, B and B - A."""
    sums = {}
    for side, (run, at) in comparison.sides_at(question.place).items():
        effects = direct_effects(run, Question(question.target, question.distractor, at))
        neurons = Measure("direct effect of the neurons", "logits", ("layer",), effects.values.values.sum(-1))
        has_bias = any(has_mlp_bias(run.model, layer) for layer in range(run.cfg.n_layers))
        biases = {BIASES: effects.bias} if has_bias else {}
        sums[side] = {NEURONS: neurons, **biases, EDITS: effects.edited, WRITTEN: effects.written}
    return with_difference(sums, change=_change_of_sums)


def _change_of_sums(a: dict[str, Measure], b: dict[str, Measure]) -> dict[str, Measure]:
    """B - A of sums by layer; a sum or a layer that one lacks counts as 0."""
    n_layers = max(len(measure.values) for measure in (*a.values(), *b.values()))

    def padded(measure: Measure | None, like: Measure) -> Measure:
        values = like.values.new_zeros(0) if measure is None else measure.values
        return replace(like, values=pad(values, (0, n_layers - len(values))))

    like = {**b, **a}
    names = union(list(a), list(b))
    return {name: subtract(padded(a.get(name), like[name]), padded(b.get(name), like[name])) for name in names}


def strip_of(comparison: Comparison, neuron: Neuron) -> dict[str, Measure]:
    """The neuron's activation at every place, of A, B and B - A."""
    return comparison.measured_by_place(lambda run: over_prompt(run, neuron).values)


def composed_of(run: Run, neuron: Neuron) -> list[tuple[str, tuple[int, int], float]]:
    """Composition of each head with a neuron: the head and the score, the highest first."""
    composed = neuron_composition(run, neuron)
    named = {f"writes to its {name}": measure for name, measure in composed.writers.items()}
    named |= {f"reads it by {through}": measure for through, measure in composed.readers.items()}
    rows = [
        (how, (layer, head), score) for how, measure in named.items() for (layer, head), score in finite(measure.values)
    ]
    return sorted(rows, key=lambda row: -row[2])


def _neurons(comparison: Comparison, question: NeuronQuestion) -> Table:
    neurons, sides = ranked(comparison, question), values_of(comparison, question)
    measured = measured_of(comparison, question, neurons) if question.measured else {}
    names = list(dict.fromkeys(name for values in sides.values() for name in values))  # a gate is in some models alone
    rows = Rows()
    for side, values in sides.items():
        for place, neuron in enumerate(neurons):
            known = [_value(values.get(name), neuron) for name in names]
            effect = [number(float(measured[side].values[place]))] if measured else []
            rows.append((side, neuron_name(neuron), *known, *effect))
    return columns(["run", "neuron", *names, *([MEASURED] if measured else [])], rows)


def _value(measure: Measure | None, neuron: Neuron) -> float | None:
    """A measure of a neuron; None where there is no such measure, or no such neuron."""
    if measure is None or any(at >= size for at, size in zip(neuron, measure.values.shape, strict=True)):
        return None
    return number(float(measure.values[neuron]))


def _sums(comparison: Comparison, question: NeuronQuestion) -> Iterator[Row]:
    for side, parts in sums_of(comparison, question).items():
        for name, measure in parts.items():
            yield from ((side, f"L{layer}", name, value) for (layer,), value in finite(measure.values))


def _over_prompt(comparison: Comparison, neuron: Neuron) -> Iterator[Row]:
    for side, run in comparison.sides.items():
        activations, places = over_prompt(run, neuron), comparison.positions(run)
        for name, measure in {**activations.reads, "activation": activations.values}.items():
            values = measure.values.tolist()
            yield from ((side, place, name, values[at]) for place, at in enumerate(places) if at is not None)


def _weights(comparison: Comparison, question: NeuronQuestion, neuron: Neuron) -> Iterator[Row]:
    for side, (run, at) in comparison.sides_at(question.place).items():
        matched = neuron_tokens(run, neuron, at)
        matrices = {"output (logits)": matched.written, **matched.read}
        for name, tokens in matrices.items():
            yield from (
                (side, name, *row)
                for row in promoted_rows(tokens, run.tokenizer if name in matched.read else run.outputs)
            )


def _heads(comparison: Comparison, neuron: Neuron) -> Iterator[Row]:
    for side, run in comparison.sides.items():
        if side == "A" or not run.same_model(comparison.a):
            yield from ((side, head_name(head), how, score) for how, head, score in composed_of(run, neuron))
