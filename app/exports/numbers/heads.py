"""The page *Heads of this model* in numbers: every score of every head, the labels, and what was ablated."""

from collections.abc import Sequence

import torch

from app import detection
from app.csv_files import Cell
from app.detection import ABLATIONS
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import columns, number
from app.selection.chosen import Selection
from app.shown import Shown
from app.views import found as heads
from app.views.found import Found
from app.views.head_tables import name
from app.views.labels import SCORES
from model.analysis import Measure
from model.analysis.detectors import KINDS, ranks
from model.errors import HeadlightError, InputError

HEADING = ("score", "head", "mean", "95% from", "95% to", "rank")
LABELS = ("head", "label", "ablation on repeats")
ABLATED = ("head", "ablated by", "change of loss (nats)", "95% from", "95% to")


def found_of(texts: Sequence[str], shown: Shown, chosen: Selection) -> Found:
    """What is known of the heads of A's model; sequences that have not been looked at are looked at.

    Raises:
        HeadlightError: none of the sequences can be looked at; it says why.
    """
    problem: HeadlightError = InputError("There is nothing to look at the heads on.")
    for fed in heads.sequences_of(texts, shown.a, chosen):
        try:
            detection.look(fed)
        except HeadlightError as error:
            problem = error
    found = heads.of(texts, shown.a, chosen)
    if found is None:
        raise problem
    return found


def data(texts: Sequence[str], shown: Shown, chosen: Selection) -> Data:
    """All scores, labels and ablations, as tables and arrays."""
    found = found_of(texts, shown, chosen)
    copying = detection.copying(shown.a.source.name)
    tables = {
        "scores": scores_table(found, copying),
        "labels": _labels_table(found),
        "ablations": _ablations_table(found),
    }
    arrays: dict[str, Measure] = {"copying": copying}
    for kind, each in found.scores.items():
        arrays |= {kind: each.mean, f"{kind} lower end": each.low, f"{kind} upper end": each.high}
    shows = {
        "measured on": "random repeats" if chosen.finder_data == "repeats" else "prompts",
        "sequences": found.n_sequences,
        "seed of the random repeats": chosen.finder_seed,
        "random repeats": f"{detection.N_REPEATS} times {detection.half_of(shown.a.model, shown.a.bos)} tokens, twice",
        "intervals": "95%, Student's t over sequences",
        "model": "A's, without edits",
    }
    return Data("heads", shows, tables, arrays)


def scores_table(found: Found, copying: Measure) -> Table:
    """Every score of every head that has it, with its interval and rank."""
    rows: list[tuple[Cell, ...]] = []
    for kind in KINDS:
        each = found.scores[kind]
        bounds = torch.stack([each.mean.values, each.low.values, each.high.values], -1)
        rows += _rows(SCORES[kind].title, bounds, each.mean)
    absent = torch.full_like(copying.values, torch.nan)
    rows += _rows(SCORES["copying"].title, torch.stack([copying.values, absent, absent], -1), copying)
    return columns(HEADING, rows)


def _rows(title: str, bounds: torch.Tensor, measure: Measure) -> list[tuple[Cell, ...]]:
    places = ranks(measure).values
    indices = measure.values.isfinite().nonzero().tolist()
    return [
        (title, name((layer, head)), *map(number, bounds[layer, head].tolist()), int(places[layer, head]))
        for layer, head in indices
    ]


def _labels_table(found: Found) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name(head), SCORES[kind].title, found.verdict(head, kind))
        for head, kinds in found.labels.items()
        for kind in kinds
    ]
    return columns(LABELS, rows)


def _ablations_table(found: Found) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for head, effects in found.effects.items():
        for mode in ABLATIONS:
            each = effects[mode]
            bounds = (float(end.values) for end in (each.mean, each.low, each.high))
            rows.append((name(head), mode, *map(number, bounds)))
    return columns(ABLATED, rows)
