"""The page *Generate* in numbers: every step, the tokens that one of them chose from, and where heads looked for it."""

import torch

from app import continuations
from app import fields as cells
from app.continuations import Continuations
from app.csv_files import Cell
from app.exports.numbers.attention import SIDES
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import DIFFERENCE, columns, finite, tokens_table
from app.fields import How
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.written import axis, heads_of, step_of, steps_of
from model.analysis import Measure

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


def data(shown: Shown, chosen: Selection) -> Data:
    """All steps, the likeliest tokens of the one looked at, and the chosen heads' rows where it was written."""
    found = continuations.of(shown, chosen)
    step = step_of(found, chosen)
    tables: dict[str, Table] = {
        "tokens": _tokens(found),
        "steps": columns(STEPS, _steps(found)),
        "choices": columns(CHOICES, _choices(found, step)),
        "heads": columns(WEIGHTS, _heads(found, chosen, step)),
    }
    if found.own is not None:
        own = zip(found.own.labels, found.own.log_probs.tolist(), strict=True)
        tables["own"] = columns(OWN, [(place, *each) for place, each in enumerate(own)])
        apart: Rows = [(place, *map(float, each)) for place, each in enumerate(found.divergence().T)]
        tables["apart"] = columns(APART, apart)
    shows: dict[str, object] = {
        "new tokens": chosen.n_new,
        "temperature": found.a.sampling.temperature,
        "top-k": found.a.sampling.top_k,
        "top-p": found.a.sampling.top_p,
        "seed": chosen.seed,
        "stops at the end of the text": chosen.stop,
        "ended by": found.a.reason,
        "written token ids": found.a.tokens.tolist(),
        "of these put there by the user": found.a.n_given,
        "step looked at, from 0": step,
        "heads": [name(head) for head in heads_of(found, chosen)],
    }
    if found.own is not None:
        shows["B writes"] = "its own tokens" if found.b is found.own else "the tokens of A"
        shows["token ids that B writes by itself"] = found.own.tokens.tolist()
    return Data("generate", shows, tables, _arrays(found, chosen, step))


def _tokens(found: Continuations) -> Table:
    labels = {side: run.labels for side, run in found.shown.sides.items()}
    return tokens_table(labels, {side: found.shown.positions(run) for side, run in found.shown.sides.items()})


def _steps(found: Continuations) -> Rows:
    steps = steps_of(found)
    numbers = {side: [(each.log_prob, *each.entropies) for each in listed] for side, listed in steps.items()}
    rows: Rows = [
        (side, place, each.label, int(each.given), *numbers[side][place])
        for side, listed in steps.items()
        for place, each in enumerate(listed)
    ]
    if found.b is not None:
        pairs = zip(numbers["A"], numbers["B"], strict=False)
        rows += [(DIFFERENCE, place, None, None, *_minus(b, a)) for place, (a, b) in enumerate(pairs)]
    return rows


def _choices(found: Continuations, step: int) -> Rows:
    choices = {side: listed[step].choices for side, listed in steps_of(found).items() if 0 <= step < len(listed)}
    rows: Rows = [
        (side, each.rank, each.label, each.before, each.after) for side, listed in choices.items() for each in listed
    ]
    if "B" in choices:
        pairs = zip(choices["A"], choices["B"], strict=True)
        rows += [(DIFFERENCE, None, a.label, *_minus((b.before, b.after), (a.before, a.after))) for a, b in pairs]
    return rows


def _minus(b: tuple[float, ...], a: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(of_b - of_a for of_a, of_b in zip(a, b, strict=True))


def _heads(found: Continuations, chosen: Selection, step: int) -> Rows:
    rows: Rows = []
    for head in heads_of(found, chosen) if found.a.labels else ():
        place = found.place(step)
        for called in _sides(found):
            weights = cells.on_axis(found.shown, SIDES[called], head, How(), axis(found))[place]
            rows += [(name(head), called, key, weight) for (key,), weight in finite(weights)]
    return rows


def _sides(found: Continuations) -> list[str]:
    return ["A"] if found.b is None else list(SIDES)


def _arrays(found: Continuations, chosen: Selection, step: int) -> dict[str, Measure]:
    """The log-probabilities and entropies of every step; of the one looked at both whole distributions; heads' rows."""
    arrays: dict[str, Measure] = {}
    for side, each in found.sides.items():
        log_probs = Measure("log-probability of the written token", "nats", ("step",), each.log_probs)
        own, drawn = (Measure("entropy", "nats", ("step",), entropy) for entropy in each.entropies)
        arrays |= {
            f"{side} log-probabilities": log_probs,
            f"{side} entropies": own,
            f"{side} entropies of what is drawn from": drawn,
        }
        if 0 <= step < len(each.labels):
            for when, values in vars(each.chances(step)).items():
                called = f"probability {when} the cuts"
                arrays[f"{side} probabilities {when}"] = Measure(called, "probability", ("token",), values)
    if found.b is not None:
        divergence = found.divergence()
        arrays["divergence"] = Measure("Jensen-Shannon divergence", "nats", ("distribution", "step"), divergence)
    if (heads := heads_of(found, chosen)) and found.a.labels:
        places = [found.place(each) for each in range(len(found.a.labels))]
        for called in _sides(found):
            laid = [cells.on_axis(found.shown, SIDES[called], head, How(), axis(found))[places] for head in heads]
            measure = Measure("attention weight", "probability", ("head", "step", "place"), torch.stack(laid))
            arrays[f"{called.replace(' ', '')} attention"] = measure
    return arrays
