"""Run an experiment over a set, batch by batch."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from time import monotonic

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.experiments.batch import BatchValues, measure_batch, with_means
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.plan import Plan, plan_of
from headlight.model.experiments.settings import NEEDS_CORRUPTED, ExperimentSettings
from headlight.model.measure import Measure, Unit
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenSet, batches, to_tokens
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.host import HERE, Host, Steps
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.chat import Begin, as_literal, is_literal, prepends

Axes = Mapping[str, tuple[str, ...] | None]  # the labels of each axis of a map, None of plain counts


@dataclass(frozen=True, eq=False)
class Progress:
    """Progress of an experiment.

    Attributes:
        done: how many rows are measured.
        total: how many there are.
        seconds_left: about how long the others take; None before the first batch.
        assembled: puts together what is measured so far.
    """

    done: int
    total: int
    seconds_left: float | None
    assembled: Callable[[], Measurement]

    @cached_property
    def measurement(self) -> Measurement:
        """What is measured so far."""
        return self.assembled()


def run(
    model: Transformer,
    token_set: TokenSet,
    settings: ExperimentSettings,
    host: Host = HERE,
    on_batch: Callable[[Progress], None] | None = None,
) -> Measurement:
    """Measure every row of a set.

    Args:
        model: the model.
        token_set: the set in the model's tokens.
        settings: what is measured, and how.
        host: where it is run; it is told the progress in rows, and stops it by raising.
        on_batch: receives the measurement so far after each batch; an exception raised here stops it too.

    Raises:
        InputError: the model or the set has not what is measured, or too little memory is allowed.
    """
    plan = plan_of(model, token_set, settings, host)
    running = host.on_device(model)
    with host.turn():
        plan = with_means(running, plan, host)
    steps, parts, began = Steps(host, len(plan.rows)), list[BatchValues](), monotonic()
    for rows in batches(plan.rows, settings.batch):
        with host.turn():
            parts.append(measure_batch(running, rows, plan, host))
        steps.add(len(rows))
        if on_batch is not None:
            left = (monotonic() - began) / steps.done * (steps.total - steps.done)
            on_batch(Progress(steps.done, steps.total, left, lambda: assemble(plan, parts, model.cfg)))
    return assemble(plan, parts, model.cfg)


def assemble(plan: Plan, parts: Sequence[BatchValues], cfg: TransformerConfig) -> Measurement:
    """The measurement of the batches so far, its rows in the set's order."""
    return assemble_axes(plan, plan.axes(cfg), parts)


def assemble_axes(plan: Plan, axes: Axes, parts: Sequence[BatchValues]) -> Measurement:
    """The same where the map's axes are known; the plan's rows and places are not needed."""
    numbers = [number for part in parts for number in part.numbers]
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    values, clean, corrupted = (
        torch.cat([getattr(part, name) for part in parts])[order] for name in ("values", "clean", "corrupted")
    )
    if parts[0].components:
        axes = {**axes, "component": parts[0].components}
    labels = {axis: names for axis, names in axes.items() if names is not None}
    raw = Measure(plan.settings.metric, _unit(plan), ("row", *axes), values)
    return Measurement(
        measure=normalised(raw, clean, corrupted, plan),
        labels=labels,
        rows=tuple(numbers[place] for place in order),
        raw=raw,
        clean=None if clean.isnan().all() else clean,
        corrupted=None if corrupted.isnan().all() else corrupted,
        left_out=plan.left_out,
    )


def normalised(raw: Measure, clean: Float[Tensor, " row"], corrupted: Float[Tensor, " row"], plan: Plan) -> Measure:
    """What a changed run's metric is compared with: a share of the way between the runs, or the change.

    The mean share over rows is that of the mean metric: 0 in the unchanged run, 1 in the one whose part was put in.
    """
    kind = plan.settings.measure
    base, source = (clean, corrupted) if plan.base_side == "clean" else (corrupted, clean)
    if kind not in NEEDS_CORRUPTED:
        if kind != "ablation":
            return replace(raw, name=_NAMES[kind])
        return replace(raw, name="change by ablation", values=raw.values - _by_row(base, raw.values))
    span = (source.double().mean() - base.double().mean()).float()
    return Measure(_NAMES[kind], "share", raw.axes, (raw.values - _by_row(base, raw.values)) / span)


_NAMES = {
    "patching": "share restored",
    "attribution": "share restored, estimated",
    "path": "share restored on the path",
    "dla": "direct effect",
    "lens": "logit lens",
    "patterns": "attention",
}


def _by_row(values: Float[Tensor, " row"], like: Tensor) -> Tensor:
    return values.reshape(-1, *(1 for _ in like.shape[1:]))


def _unit(plan: Plan) -> Unit:
    if plan.settings.measure == "patterns" or plan.settings.metric == "prob_diff":
        return "probability"
    return "logits"


def run_experiment(
    model: Transformer, prompt_set: PromptSet, settings: ExperimentSettings, bos: Begin = True
) -> Measurement:
    """Measure a set of prompts as it is written.

    Args:
        model: the model, with its tokenizer.
        prompt_set: the set.
        settings: what is measured, and how.
        bos: how a prompt begins, where the model has a token for that.

    Raises:
        InputError: as `run`, or the model has no tokenizer.
    """
    tokenizer = tokenizer_of(model)
    if prepends(bos) and tokenizer.bos_token_id is None and not tokenizer.adds_special:
        bos = as_literal(False, is_literal(bos))
    return run(model, to_tokens(prompt_set, tokenizer, bos, cfg=model.cfg), settings)
