"""What is written behind a prompt, in tables: every step, what one of them chose from, and where heads looked."""

from collections.abc import Sequence

import torch

from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.axis import axis_of
from headlight.model.comparison import Comparison
from headlight.model.decoding.compared import BWrites, Continuations, generate_steps
from headlight.model.decoding.continued import Writing
from headlight.model.decoding.distributions import Sampling
from headlight.model.edits import Head
from headlight.model.fields import How, Side, on_axis
from headlight.model.reports.tables import Cell, Tables, columns, finite, tokens_of

STEPS = [
    "run",
    "step",
    "token",
    "given",
    "log-probability (nats)",
    "entropy (nats)",
    "entropy of what is drawn from (nats)",
]
CHOICES = ["run", "rank", "token", "probability", "drawn with"]
WEIGHTS = ["head", "run", "place", "attention weight"]
OWN = ["step", "token B writes by itself", "its log-probability (nats)"]
APART = ["step", "A and B apart (nats)", "what they draw from apart (nats)"]

Rows = list[tuple[Cell, ...]]


def generate_tables(
    shown: Comparison,
    n_new: int = 20,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    given: Sequence[int] = (),
    stop: bool = True,
    step: int | None = None,
    heads: Sequence[Head] = (),
    b_writes: BWrites = "same",
) -> Tables:
    """What a model writes behind a prompt, and what each token was drawn from; with a B of both, and B - A.

    The tokens `given` (ids) are written first, the others drawn. The step whose choices are listed, and for which the
    heads' rows are, is by default the last.

    Raises:
        HeadlightError: a setting, or a given token, that a model does not allow.
    """
    how = Writing(n_new, Sampling(temperature=temperature, top_k=top_k, top_p=top_p), seed, tuple(given), stop)
    found = generate_steps(shown, how, b_writes)
    return step_tables(found, len(found.a.labels) - 1 if step is None else step, heads)


def step_tables(found: Continuations, step: int, heads: Sequence[Head]) -> Tables:
    """The tables of what was written."""
    tables = {
        "tokens": tokens_of(found.shown),
        "steps": columns(STEPS, _steps(found)),
        "choices": columns(CHOICES, _choices(found, step)),
        "heads": columns(WEIGHTS, _heads(found, heads, step)),
    }
    if found.own is not None:
        own = zip(found.own.labels, found.own.log_probs.tolist(), strict=True)
        tables["own"] = columns(OWN, [(place, *each) for place, each in enumerate(own)])
        tables["apart"] = columns(APART, [(place, *each) for place, each in enumerate(found.divergence().T.tolist())])
    return tables


def _steps(found: Continuations) -> Rows:
    rows, numbers = Rows(), dict[str, list[list[float]]]()
    for side, each in found.sides.items():
        numbers[side] = torch.stack([each.log_probs, *each.entropies], -1).tolist()
        labelled = enumerate(zip(each.labels, numbers[side], strict=True))
        rows += [(side, step, label, int(step < each.n_given), *values) for step, (label, values) in labelled]
    if found.b is not None:
        pairs = zip(numbers["A"], numbers["B"], strict=False)
        rows += [(DIFFERENCE, step, None, None, *_minus(b, a)) for step, (a, b) in enumerate(pairs)]
    return rows


def _choices(found: Continuations, step: int) -> Rows:
    choices = dict[str, list[tuple[int, str, float, float]]]()
    for side, listed in found.candidates().items():
        if 0 <= step < len(listed.tokens):
            labels = found.sides[side].run.tokenizer.labels(listed.tokens[step].tolist())
            numbers = (each[step].tolist() for each in (listed.ranks, listed.before, listed.after))
            choices[side] = [(rank, label, *shares) for label, rank, *shares in zip(labels, *numbers, strict=True)]
    rows: Rows = [(side, *each) for side, listed in choices.items() for each in listed]
    if "B" in choices:
        pairs = zip(choices["A"], choices["B"], strict=True)
        rows += [(DIFFERENCE, None, a[1], *_minus(b[2:], a[2:])) for a, b in pairs]
    return rows


def _minus(b: Sequence[float], a: Sequence[float]) -> tuple[float, ...]:
    return tuple(of_b - of_a for of_a, of_b in zip(a, b, strict=True))


def _heads(found: Continuations, heads: Sequence[Head], step: int) -> Rows:
    """The rows of heads where the step's token was written."""
    rows = Rows()
    axis = axis_of(found.shown, "token", found.align)
    sides: dict[str, Side] = {"A": "a"} if found.b is None else {"A": "a", "B": "b", DIFFERENCE: "difference"}
    for layer, head in heads if found.a.labels else ():
        for called, side in sides.items():
            weights = on_axis(found.shown, side, (layer, head), How(), axis)[found.place(step)]
            rows += [(f"L{layer}H{head}", called, key, weight) for (key,), weight in finite(weights)]
    return rows
