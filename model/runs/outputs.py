"""Outputs of a model at each token: a classifier's logits, start and end of an answer, a value."""

from dataclasses import dataclass

import torch

from headlight.model.measure import Measure
from headlight.model.nn.hooks import Collect
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run


@dataclass(frozen=True)
class Answer:
    """The likeliest span of tokens: its ends, and the logits of start and end that add up to the most."""

    start: int
    end: int
    start_logit: float
    end_logit: float


@kept
@torch.inference_mode()
def outputs_by_token(run: Run) -> Measure:
    """The logits [pos, output] at every token; of a classifier of whole texts only those at its own position count."""
    logits = run.model.to_logits(run.stream(run.cfg.n_layers)[None])[0]
    return Measure("logit", "logits", ("pos", "output"), logits)


def answer_of(run: Run) -> Answer:
    """The answer of a model that outputs where one starts and where it ends; an end before its start is none."""
    start, end = outputs_by_token(run).values.double().unbind(-1)
    sums = (start[:, None] + end[None]).masked_fill(~torch.ones(len(start), len(end)).bool().triu(), -torch.inf)
    first, last = divmod(int(sums.argmax()), len(end))
    return Answer(first, last, float(start[first]), float(end[last]))


@kept
@torch.inference_mode()
def values_of(run: Run) -> Measure:
    """The value head's output at every token [pos]."""
    tap = Collect(["value_head.hook_value"])
    run.model.to_unembed(run.stream(run.cfg.n_layers)[None], tap)
    return Measure("value", "value", ("pos",), tap.kept["value_head.hook_value"][0, :, 0])
