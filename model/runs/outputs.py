"""Outputs of a model at each token: a classifier's logits, start and end of an answer, a value."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.measure import Measure
from headlight.model.nn.hooks import Collect
from headlight.model.runs.host import kept
from headlight.model.runs.run import Run
from headlight.model.text.tokenizer import Tokenizer


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
    """The answer of a model that outputs where one starts and where it ends; an end before its start is none.

    It is text, and of two texts part of the second, as in transformers' pipeline.
    """
    return likeliest_span(outputs_by_token(run).values, answerable(run.tokens.tolist(), run.tokenizer))


def likeliest_span(logits: Float[Tensor, "pos 2"], text: Bool[Tensor, " pos"]) -> Answer:
    """The span of text whose logits of start and end add up to the most."""
    start, end = logits.double().unbind(-1)
    spans = (text[:, None] & text[None]).triu()
    sums = (start[:, None] + end[None]).masked_fill(~spans, -torch.inf)
    first, last = divmod(int(sums.argmax()), len(end))
    return Answer(first, last, float(start[first]), float(end[last]))


def answerable(tokens: list[int], tokenizer: Tokenizer) -> Bool[Tensor, " pos"]:
    """The tokens that an answer may have: those of the second text, or of the only one, or all where none is text."""
    separator = tokenizer.separator
    is_text = torch.tensor([not tokenizer.is_special(token) for token in tokens])
    first = tokens.index(separator) if separator in tokens else 0
    behind = is_text & (torch.arange(len(tokens)) > first)
    return behind if behind.any() else is_text if is_text.any() else torch.ones_like(is_text)


@kept
@torch.inference_mode()
def values_of(run: Run) -> Measure:
    """The value head's output at every token [pos]."""
    tap = Collect(["value_head.hook_value"])
    run.model.to_unembed(run.stream(run.cfg.n_layers)[None], tap)
    return Measure("value", "value", ("pos",), tap.kept["value_head.hook_value"][0, :, 0])
