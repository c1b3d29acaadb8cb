"""Exports of the page *Head roles*: its script, its numbers, and a file of its maps and tables."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from headlight.app.exports.data import Count, Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings
from headlight.app.exports.drawings import table as file_table
from headlight.app.exports.script import Expression, loading, printing
from headlight.app.pages.heads import charts
from headlight.app.pages.heads.choices import Choices
from headlight.app.pages.heads.head_map import cells, head_map, limit_of
from headlight.app.pages.heads.ranking import HeadRanking, Ranking, changed, changes_table, find, table
from headlight.app.pages.heads.subjects import Subject, subjects
from headlight.app.parts import detection
from headlight.app.parts.labels import SCORES, FinderScore, by_kind, words
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.measure import Measure, difference
from headlight.model.roles.detectors import KINDS
from headlight.model.roles.tables import Roles, role_tables
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import describe

WRITTEN: tuple[FinderScore, ...] = (*KINDS, "copying")


def script(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> str:
    """Script that prints every head's scores, the labels, and the effects of the measured ablations.

    With two sides it prints all of these of both, and how they change.
    """
    sides = subjects(texts, comparison, chosen)
    a, on_repeats = sides["A"], chosen.choices_of(Choices).finder_data == "repeats"
    lines, options = [f"model = {loading(a.run)}"], dict[str, object]()
    if "B" in sides:
        b = sides["B"]
        same = b.run.same_model(a.run)
        lines += [] if same else [f"model_b = {loading(b.run)}"]
        options["model_b"] = Expression("model" if same else "model_b")
        options |= {"edits_b": b.edits} if b.edits else {}
    options |= {"prepend_bos": a.run.bos, "seed": chosen.finder_seed, "count": len(a.repeats), "repeat_length": a.half}
    if not on_repeats:
        options["prompts"] = {side: _prompts(subject) for side, subject in sides.items()}
    options["ablated"] = {side: _ablated(subject) for side, subject in sides.items()}
    names = " and ".join(dict.fromkeys(subject.model for subject in sides.values()))
    purpose = f"What the heads of {names} do on {'random repeats' if on_repeats else 'prompts'}."
    edits = {type(edit).__name__ for subject in sides.values() for edit in subject.edits}
    return printing(purpose, {"load"} | edits, lines, "head_tables", "model", **options)


def _ablated(subject: Subject) -> list[tuple[int, int]]:
    return [head for head in subject.heads if detection.effects(subject.repeats, head)]


def _prompts(subject: Subject) -> Mapping[int, str | None]:
    """The prompts that were looked at, by their places among all, so that two sides find each other's."""
    return {place: each.prompt for place, each in enumerate(subject.sequences) if detection.seen(each)}


def rankings_of(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> dict[str, HeadRanking]:
    """Results for the heads of each side; missing sequences are measured.

    Raises:
        HeadlightError: none of the sequences can be looked at; it says why.
    """
    return {side: _ranking(subject, chosen) for side, subject in subjects(texts, comparison, chosen).items()}


def _ranking(subject: Subject, chosen: Selection) -> HeadRanking:
    problem: HeadlightError = InputError("There is nothing to look at the heads on.")
    for each in subject.sequences:
        try:
            detection.look(each)
        except HeadlightError as error:
            problem = error
    ranking = find(subject, chosen)
    if ranking is None:
        raise problem
    return ranking


def data(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> Data:
    """All scores, labels and ablations, as tables and arrays; with two sides also how they change."""
    rankings = rankings_of(texts, comparison, chosen)
    scored = {score: _scored(rankings, chosen, score) for score in WRITTEN}
    tables = role_tables({side: roles_of(each.subject) for side, each in rankings.items()})
    arrays: dict[str, Measure | Count] = {}
    for score, sides in scored.items():
        arrays |= of_sides(score, {side: each.measure for side, each in sides.items()})
        if score != "copying":
            for end in ("lower", "upper"):
                arrays |= of_sides(f"{score} {end} end", {side: _end(each, end) for side, each in sides.items()})
    return Data("heads", _shows(rankings, chosen), tables, arrays)


def _scored(rankings: Mapping[str, HeadRanking], chosen: Selection, score: FinderScore) -> dict[str, Ranking]:
    """A score of each side and, where there are two, its change."""
    again = ((side, find(each.subject, chosen.updated(Choices, finder_score=score))) for side, each in rankings.items())
    sides = {side: each for side, each in again if each is not None}
    return {**sides, **({difference.DIFFERENCE: changed(sides["A"], sides["B"])} if "B" in sides else {})}


def _end(scored: Ranking, end: str) -> Measure:
    values = torch.from_numpy(scored.low if end == "lower" else scored.high)
    return replace(scored.measure, name=f"{end} end of {scored.measure.name}", values=values)


def _shows(rankings: Mapping[str, HeadRanking], chosen: Selection) -> dict[str, object]:
    a = rankings["A"]
    edits = {side: [describe(edit) for edit in each.subject.edits] for side, each in rankings.items()}
    return {
        "measured on": "random repeats" if chosen.choices_of(Choices).finder_data == "repeats" else "prompts",
        "sequences": {side: each.n_sequences for side, each in rankings.items()},
        "seed of the random repeats": chosen.finder_seed,
        "random repeats": f"{len(a.subject.repeats)} times {a.subject.half} tokens, twice",
        "intervals": "95%, Student's t over sequences; of B - A over the differences from sequence to sequence",
        "models": {side: each.subject.model for side, each in rankings.items()},
        "edits": edits,
    }


def roles_of(subject: Subject) -> Roles:
    """Results for a side's heads."""
    seen = {number: roles for number, each in enumerate(subject.sequences) if (roles := detection.seen(each))}
    losses = {head: detection.losses_of(subject.repeats, head) for head in subject.heads}
    known = {head: [each for each in every if each] for head, every in losses.items() if every and None not in every}
    return Roles(seen, known, detection.copying(subject.model))


def drawings(texts: Sequence[str], comparison: Comparison, chosen: Selection) -> Drawings:
    """Every head with its score, interval, rank and label; with a B on both sides, and the change."""
    rankings = rankings_of(texts, comparison, chosen)
    maps: dict[str, Ranking] = {**rankings}
    limit, score, numbers = limit_of([*rankings.values()]), SCORES[rankings["A"].score].title, table(rankings["A"])
    heading = f"Heads by {score.lower()}"
    if "B" in rankings:
        change = changed(rankings["A"], rankings["B"])
        maps[DIFFERENCE], numbers = change, changes_table(change)
        heading = f"Heads by how much {score.lower()} changes"
    drawn = []
    for side, scored in maps.items():
        scale, name = limit_of([scored]) if side == DIFFERENCE else limit, side if "B" in rankings else ""
        grid, on_its_side = head_map(scored, chosen, scale, name), cells(scored, scale, name)
        drawn.append(Drawing(grid, chosen.heads, "finder", on_paper=[on_its_side]))
    plots = [[Drawing(plot) for plot in row] for row in charts.rows(rankings)]
    runs = comparison if "B" in rankings else Comparison(comparison.a)
    said = "" if "B" in rankings else rankings["A"].sentence()
    rows = [drawn, *plots, [file_table(heading, numbers)]]
    return Drawings(
        f"Heads: {_over(rankings['A'], chosen)}", runs, rows, tokens=False, note=_icons(rankings), finding=said
    )


def _over(ranking: HeadRanking, chosen: Selection) -> str:
    """The score, and the sequences on which it is measured."""
    title = SCORES[ranking.score].title
    if ranking.score == "copying":
        return title
    kind = "random repeats" if chosen.choices_of(Choices).finder_data == "repeats" else "prompts"
    return f"{title} over {ranking.n_sequences:,} {kind}"


def _icons(rankings: Mapping[str, HeadRanking]) -> str:
    """Legend of the labels' icons."""
    kinds = dict.fromkeys(kind for scored in rankings.values() for kind in by_kind(scored.labels))
    return "   ".join(map(words, kinds))
