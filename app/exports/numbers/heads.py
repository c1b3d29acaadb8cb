"""The page *Heads of this model* in numbers: every score of every head, the labels, and what was ablated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from app import detection
from app.csv_files import Cell
from app.detection import ABLATIONS
from app.exports.numbers.data import Count, Data
from app.exports.numbers.sides import DIFFERENCE, columns, named, number
from app.selection.chosen import FinderScore, Selection
from app.shown import Shown
from app.views.found import Found, Scored, changed, changed_effects, find
from app.views.labels import SCORES
from app.views.parts import name
from app.views.subjects import Subject, subjects
from model.analysis import Measure
from model.analysis.detectors import KINDS
from model.edits import describe
from model.errors import HeadlightError, InputError

HEADING = ("run", "score", "head", "mean", "95% from", "95% to", "rank")
LABELS = ("run", "head", "label", "ablation on repeats")
ABLATED = ("run", "head", "ablated by", "change of loss (nats)", "95% from", "95% to")
WRITTEN: tuple[FinderScore, ...] = (*KINDS, "copying")


def found_of(texts: Sequence[str], shown: Shown, chosen: Selection) -> dict[str, Found]:
    """What is known of the heads of each side; sequences that have not been looked at are looked at.

    Raises:
        HeadlightError: none of the sequences can be looked at; it says why.
    """
    return {side: _found(subject, chosen) for side, subject in subjects(texts, shown, chosen).items()}


def _found(subject: Subject, chosen: Selection) -> Found:
    problem: HeadlightError = InputError("There is nothing to look at the heads on.")
    for fed in subject.sequences:
        try:
            detection.look(fed)
        except HeadlightError as error:
            problem = error
    found = find(subject, chosen)
    if found is None:
        raise problem
    return found


def data(texts: Sequence[str], shown: Shown, chosen: Selection) -> Data:
    """All scores, labels and ablations, as tables and arrays; with two sides also how they change."""
    found = found_of(texts, shown, chosen)
    scored = {score: _scored(found, chosen, score) for score in WRITTEN}
    tables = {
        "scores": columns(HEADING, [row for score, sides in scored.items() for row in _scores(score, sides)]),
        "labels": columns(LABELS, [row for side, each in found.items() for row in _labels(side, each)]),
        "ablations": columns(ABLATED, _ablations(found)),
    }
    arrays: dict[str, Measure | Count] = {}
    for score, sides in scored.items():
        arrays |= named(score, {side: each.measure for side, each in sides.items()})
        if score != "copying":
            for end in ("lower", "upper"):
                arrays |= named(f"{score} {end} end", {side: _end(each, end) for side, each in sides.items()})
    return Data("heads", _shows(found, chosen), tables, arrays)


def _scored(found: Mapping[str, Found], chosen: Selection, score: FinderScore) -> dict[str, Scored]:
    """A score of each side and, where there are two, its change."""
    again = ((side, find(each.subject, replace(chosen, finder_score=score))) for side, each in found.items())
    sides = {side: each for side, each in again if each is not None}
    return {**sides, **({DIFFERENCE: changed(sides["A"], sides["B"])} if "B" in sides else {})}


def _end(scored: Scored, end: str) -> Measure:
    values = torch.from_numpy(scored.low if end == "lower" else scored.high)
    return replace(scored.measure, name=f"{end} end of {scored.measure.name}", values=values)


def _shows(found: Mapping[str, Found], chosen: Selection) -> dict[str, object]:
    a = found["A"]
    edits = {side: [describe(edit) for edit in each.subject.edits] for side, each in found.items()}
    return {
        "measured on": "random repeats" if chosen.finder_data == "repeats" else "prompts",
        "sequences": {side: each.n_sequences for side, each in found.items()},
        "seed of the random repeats": chosen.finder_seed,
        "random repeats": f"{len(a.subject.repeats)} times {a.subject.half} tokens, twice",
        "intervals": "95%, Student's t over sequences; of B - A over the differences from sequence to sequence",
        "models": {side: each.subject.model for side, each in found.items()},
        "edits": edits,
    }


def _scores(score: FinderScore, sides: Mapping[str, Scored]) -> list[tuple[Cell, ...]]:
    """Every head that has a score, with its interval and rank."""
    return [
        (side, SCORES[score].title, name(head), *map(number, _ends(each, head)), int(each.ranks[head]))
        for side, each in sides.items()
        for layer, of_layer in enumerate(np.isfinite(each.values))
        for head in [(layer, int(place)) for place in of_layer.nonzero()[0]]
    ]


def _ends(scored: Scored, head: tuple[int, int]) -> list[float]:
    return [float(each[head]) for each in (scored.values, scored.low, scored.high)]


def _labels(side: str, found: Found) -> list[tuple[Cell, ...]]:
    return [
        (side, name(head), SCORES[kind].title, found.verdict(head, kind))
        for head, kinds in found.labels.items()
        for kind in kinds
    ]


def _ablations(found: Mapping[str, Found]) -> list[tuple[Cell, ...]]:
    by_side = {side: each.effects for side, each in found.items()}
    if "B" in found:
        by_side[DIFFERENCE] = changed_effects(found["A"], found["B"])
    rows: list[tuple[Cell, ...]] = []
    for side, effects in by_side.items():
        for head, by_mode in effects.items():
            for mode in ABLATIONS:
                each = by_mode[mode]
                bounds = (float(end.values) for end in (each.mean, each.low, each.high))
                rows.append((side, name(head), mode, *map(number, bounds)))
    return rows
