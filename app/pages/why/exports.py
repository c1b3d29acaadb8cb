"""Exports of the page *Why*: its script, its numbers, and a file of its maps and bars."""

from collections.abc import Mapping
from dataclasses import replace

import torch

from headlight.app.exports.data import Data
from headlight.app.exports.drawings import BarList, Drawing, Drawings
from headlight.app.exports.script import names_of, opening, report, runs_made, written
from headlight.app.pages.why import answer, by_features, spelled
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why.by_features import Reader, wanted
from headlight.app.pages.why.chosen import head_of, query_place, question_of, sides_of
from headlight.app.parts import part_maps
from headlight.app.parts.labels import said_of_heads
from headlight.app.parts.pair import Pair, pair_of, place_of, said_of_cap
from headlight.app.parts.sides import DIFFERENCE, compared, compared_parts, is_there, side_of
from headlight.app.parts.sums import condensed
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import CellQuestion, Explained
from headlight.model.attribution.tables import (
    capped_difference,
    effect_by_name,
    explained_tables,
)
from headlight.model.features.cell_tables import explained_by_features
from headlight.model.measure import Measure
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name


def script(comparison: Comparison, chosen: Selection) -> str:
    """Script that prints a cell's score in parts, its write, the effects of ablations, and direct attribution."""
    question = question_of(comparison, chosen)
    layer, head = question.head
    purpose = f"Why head {head} of layer {layer} looks there, and what of it."
    if (reader := wanted(comparison, chosen, layer)) is not None:
        return _with_features(purpose, comparison, chosen, question, reader)
    return report(purpose, comparison, chosen.align, "why_tables", question=question)


def _with_features(
    purpose: str, comparison: Comparison, chosen: Selection, question: CellQuestion, reader: Reader
) -> str:
    """The same script, followed by the score and the head's effect by features."""
    names = names_of(comparison) | {
        "open_dictionary",
        "CellQuestion",
        "print_tables",
        "why_feature_tables",
        "why_tables",
    }
    lines = [
        *runs_made(comparison, chosen.align),
        f"question = {question!r}",
        f"dictionary = {opening(reader.name, 'model')}[{reader.dictionary.layer}]",
        "print_tables(why_tables(comparison, question))",
        "print_tables(why_feature_tables(comparison, question, dictionary))",
    ]
    return written(purpose, names, lines)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """Tables of both runs with B - A where it is defined, and their arrays."""
    if comparison.a.cfg.output == "none":
        return _data_of_body(comparison, chosen)
    sides, pair = sides_of(comparison, chosen)[0], pair_of(comparison, chosen)
    labels = comparison.a.outputs.labels([pair.target, pair.distractor])
    shows = {
        "head": head_name(head_of(comparison, chosen)),
        "query is at place": query_place(comparison, chosen),
        "key is at position": {side: at.cell.key for side, at in sides.items()},
        "predicted after place": place_of(comparison, chosen),
        "target": {"token id": pair.target, "token": labels[0]},
        "distractor": {"token id": pair.distractor, "token": labels[1]},
        "the head's mean": {side: spelled.mean(at) for side, at in sides.items()},
        "the mean is over": list(chosen.mean_over) or "this prompt",
        "the other run's": {side: spelled.resampled(at) for side, at in sides.items()},
        "norms": "every scale is the run's own; nothing is folded or centred",
        "soft caps": {side: spelled.caps(at) for side, at in sides.items() if spelled.caps(at)},
        "names of the parts": {
            side: {"query": at.why.query_names, "key": at.why.key_names, "effects": at.effects.names}
            for side, at in sides.items()
        },
    }
    tables, arrays = explained_tables(comparison, sides), _arrays(sides)
    if (reader := wanted(comparison, chosen, head_of(comparison, chosen)[0])) is not None:
        tables |= explained_by_features(comparison, sides, reader.dictionary)
        shows |= {"dictionary": reader.name, "it reads": reader.dictionary.hook_in}
        arrays |= {f"{side} score by features": reader.why(at).parts.matrix for side, at in sides.items()}
    return Data("why", shows, tables, arrays)


def _data_of_body(comparison: Comparison, chosen: Selection) -> Data:
    """The cell's score alone, of a model without logits."""
    sides = sides_of(comparison, chosen)[0]
    shows = {
        "head": head_name(head_of(comparison, chosen)),
        "query is at place": query_place(comparison, chosen),
        "key is at position": {side: at.cell.key for side, at in sides.items()},
        "names of the parts": {
            side: {"query": at.why.query_names, "key": at.why.key_names} for side, at in sides.items()
        },
    }
    arrays = {f"{side} score parts": at.why.parts.matrix for side, at in sides.items()}
    arrays |= {f"{side} score": at.why.parts.score for side, at in sides.items()}
    return Data("why", shows, explained_tables(comparison, sides), arrays)


def _arrays(sides: Mapping[str, Explained]) -> dict[str, Measure]:
    arrays: dict[str, Measure] = {}
    for side, at in sides.items():
        capped = {}
        if at.why.capped is not None:
            score = Measure("score behind the soft cap", "score", (), torch.tensor(at.why.capped))
            capped["score behind the soft cap"] = score
        if at.run.cfg.output_logits_soft_cap is not None:
            difference = torch.tensor(capped_difference(at))
            capped["difference behind the soft cap"] = Measure("logit difference", "logits", (), difference)
        of_side = capped | {
            "score parts": at.why.parts.matrix,
            "score": replace(at.why.parts.score, name=spelled.score_name(at)),
            "score residual": at.why.parts.residual,
            "write norm": at.written.norm,
            "direct effects": at.effects.values,
            "difference": at.effects.difference,
            "difference residual": at.effects.residual,
            "accumulated": at.effects.accumulated,
            "lens": at.effects.lens,
            "by source": at.by_source,
            "interventions direct": at.outcomes.direct,
            "interventions total": at.outcomes.total,
            "interventions KL": at.outcomes.kl,
        }
        arrays |= {f"{side} {name}": measure for name, measure in of_side.items()}
    return arrays


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Score in parts, the cell's write and the effects of ablations, and direct attribution, by side."""
    sides, pair = sides_of(comparison, chosen)[0], pair_of(comparison, chosen)
    head = head_of(comparison, chosen)
    if comparison.a.cfg.output == "none":
        scores = compared(sides, numbers.score_matrix)
        maps = [Drawing(part_maps.score(scores, side, f"{side}: {part_maps.SCORE}")) for side in scores]
        return Drawings(f"Why {head_name(head)} looks there", comparison, [maps])
    columns = [_column(comparison, sides, side, head, pair) for side in compared(sides, numbers.score_matrix)]
    rows = [[each for each in row if each is not None] for row in zip(*columns, strict=True)]
    if comparison.b is None:  # two beside each other
        alone = [each for row in rows for each in row]
        rows = [alone[at : at + 2] for at in range(0, len(alone), 2)]
    if (reader := by_features.wanted(comparison, chosen, head[0])) is not None:
        rows += _by_features(comparison, reader, sides)
    target, distractor = comparison.a.outputs.labels([pair.target, pair.distractor])
    title = f"Why {target} and not {distractor}, and {head_name(head)}"
    side = side_of(comparison, chosen)
    said = answer.finding(comparison, pair, sides, side) if is_there(sides, side) else ""
    roles, note = said_of_heads(comparison, chosen, [head]), said_of_cap(comparison.runs)
    return Drawings(title, comparison, rows, note=note, finding=said, roles=roles)


def _column(
    comparison: Comparison, sides: Mapping[str, Explained], side: str, head: Head, pair: Pair
) -> list[Drawing | None]:
    """All results of one side, from the direct effects, which answer the question, down to what explains one head."""
    called, at = "" if comparison.b is None else f"{side}: ", sides.get(side)
    scores, effects = compared(sides, numbers.score_matrix), compared(sides, numbers.effect_map)
    layers = compared(sides, numbers.by_layer)
    sources = compared(sides, lambda explained: numbers.by_source(comparison, explained))
    score = "" if at is None else spelled.score(comparison, at)
    said = "" if at is None else spelled.effects(at)
    target, distractor = comparison.a.outputs.labels([pair.target, pair.distractor])
    difference, by_head = "target − distractor (logits)", f"{called}{head_name(head)}'s {part_maps.EFFECT}"
    rows = part_maps.outcome_rows(numbers.changes_of(sides)[side])
    fall = part_maps.fall_rows(compared_parts(sides, effect_by_name)[side], f"{called}{target} − {distractor}")
    return [
        Drawing(BarList(fall, f"{called}{part_maps.EFFECT}", "logits")),
        Drawing(part_maps.score(scores, side, f"{called}{part_maps.SCORE}", score)),
        *_promoted(sides, side, called),
        Drawing(BarList(rows, f"{called}{part_maps.CHANGE}", "logits", part_maps.SERIES)),
        Drawing(part_maps.effect_map(effects, side, f"{called}{part_maps.EFFECT}", said)),
        Drawing(part_maps.plain_map(layers, side, ("", "after layer"), f"{called}{difference}")),
        Drawing(part_maps.plain_map(sources, side, ("head", "token"), by_head)),
    ]


def _promoted(sides: Mapping[str, Explained], side: str, called: str) -> list[Drawing | None]:
    """Tokens that the cell's write promotes, and those that it suppresses; None where there are none."""
    tokens, at = numbers.promoted_of(sides)[side], sides.get(side) or sides["B"]
    halves = ((tokens.raised, tokens.raised_by), (tokens.lowered, tokens.lowered_by))
    return [
        Drawing(
            BarList(
                part_maps.promoted_rows(at.run.outputs, ids.values.tolist(), by.values.tolist()),
                f"{called}the cell's write {title}",
                "logits",
            )
        )
        if len(ids.values)
        else None
        for title, (ids, by) in zip(part_maps.PROMOTES[side == DIFFERENCE], halves, strict=True)
    ]


def _by_features(comparison: Comparison, reader: Reader, sides: Mapping[str, Explained]) -> list[list[Drawing]]:
    """Score by pairs of features, and the head's effect, of each side."""
    scores = by_features.score_matrices(reader, sides)
    moved = {side: condensed(matrix) for side, matrix in by_features.moved_matrices(comparison, reader, sides).items()}
    called = {side: "" if comparison.b is None else f"{side}: " for side in scores}
    moves = f"what the head moves, {part_maps.EFFECT}"
    return [
        [Drawing(part_maps.score(scores, side, f"{called[side]}{part_maps.SCORE}, by features")) for side in scores],
        [Drawing(part_maps.plain_map(moved, side, ("moved", "token"), f"{called[side]}{moves}")) for side in scores],
    ]
