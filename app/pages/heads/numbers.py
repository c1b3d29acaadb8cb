"""The page *Head roles* in numbers: every score of every head, the labels, and what was ablated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from headlight.app.analyses import detection
from headlight.app.exports.data import Count, Data
from headlight.app.exports.sides import named
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.found import Found, Scored, changed, find
from headlight.app.pages.heads.subjects import Subject, subjects
from headlight.app.parts.labels import FinderScore
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.analysis.detectors import KINDS
from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.comparison import Comparison
from headlight.model.edits import describe
from headlight.model.errors import HeadlightError, InputError
from headlight.model.reports.heads import Roles, role_tables

WRITTEN: tuple[FinderScore, ...] = (*KINDS, "copying")


def found_of(texts: Sequence[str], shown: Comparison, chosen: Selection) -> dict[str, Found]:
    """What is known of the heads of each side; sequences that have not been looked at are looked at.

    Raises:
        HeadlightError: none of the sequences can be looked at; it says why.
    """
    return {side: _found(subject, chosen) for side, subject in subjects(texts, shown, chosen).items()}


def _found(subject: Subject, chosen: Selection) -> Found:
    problem: HeadlightError = InputError("There is nothing to look at the heads on.")
    for each in subject.sequences:
        try:
            detection.look(each)
        except HeadlightError as error:
            problem = error
    found = find(subject, chosen)
    if found is None:
        raise problem
    return found


def data(texts: Sequence[str], shown: Comparison, chosen: Selection) -> Data:
    """All scores, labels and ablations, as tables and arrays; with two sides also how they change."""
    found = found_of(texts, shown, chosen)
    scored = {score: _scored(found, chosen, score) for score in WRITTEN}
    tables = role_tables({side: roles_of(each.subject) for side, each in found.items()})
    arrays: dict[str, Measure | Count] = {}
    for score, sides in scored.items():
        arrays |= named(score, {side: each.measure for side, each in sides.items()})
        if score != "copying":
            for end in ("lower", "upper"):
                arrays |= named(f"{score} {end} end", {side: _end(each, end) for side, each in sides.items()})
    return Data("heads", _shows(found, chosen), tables, arrays)


def _scored(found: Mapping[str, Found], chosen: Selection, score: FinderScore) -> dict[str, Scored]:
    """A score of each side and, where there are two, its change."""
    again = ((side, find(each.subject, chosen.updated(Choices, finder_score=score))) for side, each in found.items())
    sides = {side: each for side, each in again if each is not None}
    return {**sides, **({DIFFERENCE: changed(sides["A"], sides["B"])} if "B" in sides else {})}


def _end(scored: Scored, end: str) -> Measure:
    values = torch.from_numpy(scored.low if end == "lower" else scored.high)
    return replace(scored.measure, name=f"{end} end of {scored.measure.name}", values=values)


def _shows(found: Mapping[str, Found], chosen: Selection) -> dict[str, object]:
    a = found["A"]
    edits = {side: [describe(edit) for edit in each.subject.edits] for side, each in found.items()}
    return {
        "measured on": "random repeats" if chosen.of(Choices).finder_data == "repeats" else "prompts",
        "sequences": {side: each.n_sequences for side, each in found.items()},
        "seed of the random repeats": chosen.finder_seed,
        "random repeats": f"{len(a.subject.repeats)} times {a.subject.half} tokens, twice",
        "intervals": "95%, Student's t over sequences; of B - A over the differences from sequence to sequence",
        "models": {side: each.subject.model for side, each in found.items()},
        "edits": edits,
    }


def roles_of(subject: Subject) -> Roles:
    """What is known of a side's heads."""
    seen = {number: found for number, each in enumerate(subject.sequences) if (found := detection.seen(each))}
    losses = {head: detection.losses_of(subject.repeats, head) for head in subject.heads}
    known = {head: [each for each in every if each] for head, every in losses.items() if every and None not in every}
    return Roles(seen, known, detection.copying(subject.model))
