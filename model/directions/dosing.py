"""What a direction causes: the measured difference of outputs against the factor by which it is added, and the cost.

Each example is steered by a direction that was found without it. What is measured is the mean logit of the first
class's outputs less that of the second's, at the end. The cost is told on neutral text: how far the edited model's
distributions are from the unedited one's, and how well each predicts the text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.directions.examples import Example, Examples
from headlight.model.directions.finding import Method, direction_in
from headlight.model.directions.held_out import Folds
from headlight.model.directions.streams import Streams, by_length
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import EditDirection
from headlight.model.runs.edits.editing import tap
from headlight.model.runs.host import HERE, Host, Steps

FACTORS = (-1.0, -0.5, 0.0, 0.5, 1.0)
NAME = "direction"
Z = 1.96  # standard errors on either side of a mean, of a 95% interval
MAX_DOSE_ROWS = 200  # of which each is run once for every factor
Where = Literal["every", "end"]
WHERE: dict[Where, str] = {"every": "every token", "end": "the last token"}


@dataclass(frozen=True, eq=False)
class Cost:
    """What an edit does to neutral text, by factor: KL(unedited || edited) and the loss, in nats a token."""

    kl: Float[Tensor, " factor"]
    loss: Float[Tensor, " factor"]


@dataclass(frozen=True, eq=False)
class DoseCurve:
    """What was measured with a direction added by each factor, beside a random one of the same length.

    Attributes:
        layers: the layers at which it was added.
        where: at which tokens.
        factors: by how much.
        values: the logit difference towards the first class, by factor and example.
        random: the same along a random vector.
        projected: the same with the direction projected out, by example.
        is_positive: of which class each example is.
        cost: of the direction that all examples give; None without neutral text.
    """

    layers: tuple[int, ...]
    where: Where
    factors: tuple[float, ...]
    values: Float[Tensor, "factor row"]
    random: Float[Tensor, "factor row"]
    projected: Float[Tensor, " row"]
    is_positive: tuple[bool, ...]
    cost: Cost | None = None


@dataclass(frozen=True)
class MeanOf:
    """A mean over examples with its 95% interval, by the standard error."""

    mean: float
    low: float
    high: float


def mean_of(values: Float[Tensor, " row"]) -> MeanOf:
    """The mean of some values and its 95% interval; without an interval where there is one value."""
    values = values.double()
    error = Z * float(values.std()) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return MeanOf(float(values.mean()), float(values.mean()) - error, float(values.mean()) + error)


def dose_curve(
    model: Transformer,
    examples: Examples,
    streams: Streams,
    fold_of: Folds,
    method: Method = "difference",
    layers: Sequence[int] = (),
    factors: Sequence[float] = FACTORS,
    where: Where = "every",
    neutral: Sequence[Int[Tensor, " pos"]] = (),
    seed: int = 0,
    host: Host = HERE,
) -> DoseCurve:
    """Measure what adding a direction does to the outputs, against the factor.

    Args:
        model: the model.
        examples: the examples, each with outputs of both classes.
        streams: what `read_streams` gave of them.
        fold_of: what `folds_of` gave: an example is steered by what was found in the other folds.
        method: how the direction is found.
        layers: the layers at which it is added; all if empty.
        factors: by how much, in units of the stream's mean norm.
        where: at every token, or at the last.
        neutral: texts in tokens, on which the cost is measured.
        seed: of the random vectors.
        host: runs the model, and hears the progress.

    Raises:
        InputError: an example has no outputs of one class, or a layer tells the classes nothing.
    """
    if not examples.has_answers:
        raise InputError(
            "These prompts have no answers and wrong answers, so there is nothing to measure. Give the set such "
            "columns, or name a token for each class."
        )
    used = range(min(len(examples.rows), MAX_DOSE_ROWS))
    rows, folds = [examples.rows[place] for place in used], fold_of[: len(used)]
    by_fold = {
        fold: _at(direction_in(streams, examples, method, rows=(fold_of != fold).nonzero().flatten().tolist()), layers)
        for fold in folds.unique().tolist()
    }
    whole = _at(direction_in(streams, examples, method), layers)
    wanted = [EditDirection(NAME, whole.layers, "add", factor) for factor in factors]
    project = EditDirection(NAME, whole.layers, "project_out")
    steps = Steps(host, len(rows) * (2 * len(wanted) + 1) + len(neutral) * len(wanted))

    def measured(edit: EditDirection, directions: dict[int, Direction]) -> Float[Tensor, " row"]:
        values = torch.empty(len(rows))
        for fold, direction in directions.items():
            own = (folds == fold).nonzero().flatten().tolist()
            for batch in by_length([rows[place] for place in own]):
                places = [own[place] for place in batch]
                values[places] = _differences(model, [rows[place] for place in places], edit, direction, where, host)
                steps.add(len(places))
        return values

    generator = torch.Generator().manual_seed(seed)
    random = {fold: _random(direction, generator) for fold, direction in by_fold.items()}
    return DoseCurve(
        whole.layers,
        where,
        tuple(factors),
        torch.stack([measured(edit, by_fold) for edit in wanted]),
        torch.stack([measured(edit, random) for edit in wanted]),
        measured(project, by_fold),
        tuple(row.is_positive for row in rows),
        _cost(model, whole, wanted, neutral, where, steps, host) if neutral else None,
    )


def _at(direction: Direction, layers: Sequence[int]) -> Direction:
    """A direction with the vectors of these layers alone, or of all."""
    if missing := [layer for layer in layers if layer not in direction.vectors]:
        raise InputError(
            f"The classes give the same stream before layer {missing[0]}, so there is no direction there. Choose a "
            "later layer."
        )
    return replace(direction, vectors={layer: direction.vectors[layer] for layer in layers or direction.layers})


def _random(direction: Direction, generator: torch.Generator) -> Direction:
    """A random vector of the same length in each layer."""
    vectors = {}
    for layer, vector in direction.vectors.items():
        draw = torch.randn(len(vector), generator=generator)
        vectors[layer] = draw / draw.norm() * vector.norm()
    return replace(direction, vectors=vectors)


def _tap(model: Transformer, tokens: Tensor, edit: EditDirection, direction: Direction, where: Where) -> Tap:
    """The edit's own tap, or none for a factor of 0."""
    if edit.action == "add" and not edit.factor:
        return NO_TAP
    n_tokens = tokens.shape[1]
    edit = replace(edit, positions=(n_tokens - 1,) if where == "end" else ())
    return tap(model, tokens[:1], [edit], opened={NAME: direction})


def _differences(
    model: Transformer, rows: Sequence[Example], edit: EditDirection, direction: Direction, where: Where, host: Host
) -> Float[Tensor, " row"]:
    """The logit differences towards the first class at the end of prompts of one length, with an edit."""
    with host.turn(), torch.inference_mode():
        on, tokens = host.on_device(model), torch.stack([row.tokens for row in rows]).to(host.device)
        final = on(tokens, tap=_tap(on, tokens, edit, direction, where), stop_at_layer=model.cfg.n_layers)
        logits = on.to_logits(on.read_from(final, tokens.shape[1] - 1))[:, -1].float().cpu()
    means = [[own[list(side)].mean() for side in (row.toward, row.away)] for own, row in zip(logits, rows, strict=True)]
    return torch.tensor([float(toward - away) for toward, away in means])


def _cost(
    model: Transformer,
    direction: Direction,
    edits: Sequence[EditDirection],
    neutral: Sequence[Int[Tensor, " pos"]],
    where: Where,
    steps: Steps,
    host: Host,
) -> Cost:
    kl, loss, count = torch.zeros(len(edits)), torch.zeros(len(edits)), 0
    for tokens in neutral:
        if len(tokens) < 2:
            raise InputError(
                "A neutral text has fewer than two tokens, so nothing is predicted in it. Give a longer one."
            )
        clean = _log_probs(model, tokens, None, direction, where, host)
        count += len(tokens) - 1
        for place, edit in enumerate(edits):
            edited = clean if not edit.factor else _log_probs(model, tokens, edit, direction, where, host)
            kl[place] += float((clean.exp() * (clean - edited)).sum())
            loss[place] -= float(edited.gather(1, tokens[1:, None]).sum())
            steps.add()
    return Cost(kl / count, loss / count)


def _log_probs(
    model: Transformer,
    tokens: Int[Tensor, " pos"],
    edit: EditDirection | None,
    direction: Direction,
    where: Where,
    host: Host,
) -> Float[Tensor, "predicted d_vocab"]:
    """The log probabilities of each next token of a text."""
    with host.turn(), torch.inference_mode():
        on, row = host.on_device(model), tokens[None].to(host.device)
        acts = NO_TAP if edit is None else _tap(on, row, edit, direction, where)
        return on(row, tap=acts)[0, :-1].float().log_softmax(-1).cpu()


def effect(curve: DoseCurve, factor: float) -> tuple[MeanOf, MeanOf]:
    """How far adding the direction by a factor moves what is measured, and how far beyond the random vector."""
    place, zero = curve.factors.index(factor), curve.factors.index(0.0)
    moved, beside = curve.values[place] - curve.values[zero], curve.random[place] - curve.random[zero]
    return mean_of(moved), mean_of(moved - beside)


def verdict(curve: DoseCurve, classes: tuple[str, str], accuracy: float, factor: float | None = None) -> list[str]:
    """Say in words whether a direction causes what it predicts, with the numbers that say so.

    Args:
        curve: the dose curve.
        classes: what the two classes are called.
        accuracy: its held-out accuracy in the layer at which it is added.
        factor: the factor that is spoken of, one above 0 of the curve; by default the largest.
    """
    factor = max(curve.factors) if factor is None else factor
    up, beyond = effect(curve, factor)
    moves = beyond.low > 0
    lines = [
        f"Adding {factor:g} × the direction moves the logit difference towards {classes[0]} by {_interval(up)} over "
        f"{curve.values.shape[1]} prompts, each steered by a direction found without its group; a random vector of the "
        f"same length moves it by {up.mean - beyond.mean:+.3g}."
    ]
    negative = [place for place, positive in enumerate(curve.is_positive) if not positive]
    zero, at = curve.factors.index(0.0), curve.factors.index(factor)
    before = (curve.values[zero][negative] > 0).double().mean()
    after = (curve.values[at][negative] > 0).double().mean()
    lines.append(
        f"Of the {len(negative)} prompts of {classes[1]}, {float(before):.0%} prefer {classes[0]}'s answers without "
        f"it, {float(after):.0%} with it. With it projected out, the two classes' means lie "
        f"{_gap(curve, curve.projected):.3g} logits apart instead of {_gap(curve, curve.values[zero]):.3g}."
    )
    if curve.cost is not None:
        lines.append(
            f"On neutral text that costs {float(curve.cost.kl[at]):.3g} nats of KL a token; the loss goes from "
            f"{float(curve.cost.loss[zero]):.3g} to {float(curve.cost.loss[at]):.3g} nats."
        )
    predicts = f"It predicts the class with a held-out accuracy of {accuracy:.0%}"
    if moves:
        lines.append(f"{predicts}, and it causes it: the effect is beyond that of a random vector (95% interval).")
    else:
        lines.append(
            f"{predicts}, but it is not shown to cause it: its effect is not beyond that of a random vector, or goes "
            "the other way."
        )
    return lines


def _gap(curve: DoseCurve, values: Float[Tensor, " row"]) -> float:
    positive = torch.tensor(curve.is_positive)
    return float(values[positive].mean() - values[~positive].mean()) if 0 < positive.sum() < len(values) else math.nan


def _interval(value: MeanOf) -> str:
    return f"{value.mean:+.3g} (95% interval {value.low:+.3g} to {value.high:+.3g})"
