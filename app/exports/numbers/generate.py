"""The page *Generate* in numbers: every step, the tokens that one of them chose from, and where heads looked for it."""

import torch

from app import generation
from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import columns, finite
from app.fields import attention_of
from app.generation import Written
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.written import heads_of, step_of, steps_of
from model.analysis import Measure

STEPS = [
    "step",
    "token",
    "given",
    "log-probability (nats)",
    "entropy (nats)",
    "entropy of what is drawn from (nats)",
]
CHOICES = ["rank", "token", "probability", "drawn with"]
WEIGHTS = ["head", "key", "attention weight"]


def data(shown: Shown, chosen: Selection) -> Data:
    """All steps, the likeliest tokens of the one looked at, and the chosen heads' rows where it was written."""
    found = generation.of(shown.a, chosen)
    step = step_of(found, chosen)
    tables: dict[str, Table] = {
        "tokens": {"place": list(range(len(found.run.labels))), "token": list(found.run.labels)},
        "steps": _steps(found),
        "choices": _choices(found, step),
        "heads": _heads(found, chosen, step),
    }
    shows = {
        "new tokens": chosen.n_new,
        "temperature": found.sampling.temperature,
        "top-k": found.sampling.top_k,
        "top-p": found.sampling.top_p,
        "seed": chosen.seed,
        "stops at the end of the text": chosen.stop,
        "ended by": found.reason,
        "written token ids": found.tokens.tolist(),
        "of these put there by the user": found.n_given,
        "step looked at, from 0": step,
        "heads": [name(head) for head in heads_of(found, chosen)],
    }
    return Data("generate", shows, tables, _arrays(found, chosen, step))


def _steps(found: Written) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (place, each.label, int(each.given), each.log_prob, *each.entropies)
        for place, each in enumerate(steps_of(found))
    ]
    return columns(STEPS, rows)


def _choices(found: Written, step: int) -> Table:
    choices = steps_of(found)[step].choices if found.labels else ()
    rows: list[tuple[Cell, ...]] = [(each.rank, each.label, each.before, each.after) for each in choices]
    return columns(CHOICES, rows)


def _heads(found: Written, chosen: Selection, step: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for head in heads_of(found, chosen) if found.labels else ():
        query = found.query(step)
        weights = attention_of(found.run, head).weights[query, : query + 1]
        rows += [(name(head), key, weight) for (key,), weight in finite(weights)]
    return columns(WEIGHTS, rows)


def _arrays(found: Written, chosen: Selection, step: int) -> dict[str, Measure]:
    """The log-probabilities and entropies of every step; of the one looked at both whole distributions; heads' rows."""
    log_probs = Measure("log-probability of the written token", "nats", ("step",), found.log_probs)
    own, drawn = (Measure("entropy", "nats", ("step",), each) for each in found.entropies)
    arrays = {"log-probabilities": log_probs, "entropies": own, "entropies of what is drawn from": drawn}
    if not found.labels:
        return arrays
    for when, values in vars(found.chances(step)).items():
        arrays[f"probabilities {when}"] = Measure(f"probability {when} the cuts", "probability", ("token",), values)
    if heads := heads_of(found, chosen):
        queries = slice(found.n_prompt - 1, -1)
        rows = torch.stack([attention_of(found.run, head).weights[queries] for head in heads])
        arrays["attention"] = Measure("attention weight", "probability", ("head", "step", "key"), rows)
    return arrays
