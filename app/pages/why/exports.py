"""What is taken along of the page *Why*: its script, its numbers, and a file of its maps and bars."""

from collections.abc import Mapping
from dataclasses import replace

import torch

from headlight.app.components import MapCell
from headlight.app.components.shared.mount import recorded
from headlight.app.exports.data import Data
from headlight.app.exports.html.document import document
from headlight.app.exports.html.signed_bars import signed_bars
from headlight.app.exports.script import names_of, opening, report, runs_made, written
from headlight.app.pages.why import by_features, panels, spelled
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why.by_features import Reader, wanted
from headlight.app.pages.why.chosen import query_place, question_of, sides_of
from headlight.app.pages.why.figures import condensed
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.pair import pair_of, place_of, said_of_cap
from headlight.app.parts.sides import DIFFERENCE, compared, compared_parts
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
    """A script that prints a cell's score in parts, its write, what cutting it changes, and who made the prediction."""
    question = question_of(comparison, chosen)
    layer, head = question.head
    purpose = f"Why head {head} of layer {layer} looks there, and what of it."
    if (reader := wanted(comparison, chosen, layer)) is not None:
        return _with_features(purpose, comparison, chosen, question, reader)
    return report(purpose, comparison, chosen.align, "why_tables", question=question)


def _with_features(
    purpose: str, comparison: Comparison, chosen: Selection, question: CellQuestion, reader: Reader
) -> str:
    """The same script, and then the score and what the head moves by features."""
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
    """Tables of both runs with B - A where there is such a thing, and the arrays that they are made of."""
    sides, pair = sides_of(comparison, chosen)[0], pair_of(comparison, chosen)
    labels = comparison.a.tokenizer.labels([pair.target, pair.distractor])
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


def page(comparison: Comparison, chosen: Selection) -> bytes:
    """A file in which every map and bar tells its numbers."""
    sides, pair = sides_of(comparison, chosen)[0], pair_of(comparison, chosen)
    scores, maps, layers, taken = (
        compared(sides, of)
        for of in (
            numbers.score_matrix,
            numbers.effect_map,
            numbers.by_layer,
            lambda at: numbers.by_source(comparison, at),
        )
    )
    effects = compared_parts(sides, effect_by_name)
    changes = numbers.changes_of(sides)
    target, distractor = comparison.a.tokenizer.labels([pair.target, pair.distractor])
    with recorded() as mounted:
        for side in scores:
            called = "" if comparison.b is None else f"{side}: "
            said = spelled.score(comparison, sides[side]) if side in sides else ""
            panels.score(scores, side, f"score {side}", f"{called}{panels.SCORE}", said)
            _cell(sides, side, called)
            changed = panels.outcome_rows(changes[side])
            signed_bars(changed, title=f"{called}{panels.CHANGE}", series=panels.SERIES, key=f"outcomes {side}")
            _attribution((maps, layers, taken), called, sides.get(side), side, head_of(comparison, chosen))
            fall = panels.fall_rows(effects[side], f"{called}{target} − {distractor}")
            signed_bars(fall, title=f"{called}{panels.EFFECT}", key=f"fall {side}")
        if (reader := by_features.wanted(comparison, chosen, head_of(comparison, chosen)[0])) is not None:
            _features(comparison, reader, sides)
    title = f"Why {target} and not {distractor}, and {head_name(head_of(comparison, chosen))}"
    return document(title, comparison, mounted, "plain", note=said_of_cap(comparison.runs))


def _features(comparison: Comparison, reader: by_features.Reader, sides: Mapping[str, Explained]) -> None:
    """The score by pairs of features, and what the head moves, of each side."""
    scores = by_features.score_matrices(reader, sides)
    moved = {each: condensed(of) for each, of in by_features.moved_matrices(comparison, reader, sides).items()}
    for side in scores:
        called = "" if comparison.b is None else f"{side}: "
        panels.score(scores, side, f"score by features {side}", f"{called}{panels.SCORE}, by features")
        axes = ("moved", "token")
        panels.plain_map(moved, side, axes, f"moved {side}", f"{called}what the head moves, {panels.EFFECT}")


def _cell(sides: Mapping[str, Explained], side: str, called: str) -> None:
    tokens, at = numbers.promoted_of(sides)[side], sides.get(side) or sides["B"]
    raised, lowered = (f"{called}the cell's write {title}" for title in panels.PROMOTES[side == DIFFERENCE])
    halves = ((raised, tokens.raised, tokens.raised_by), (lowered, tokens.lowered, tokens.lowered_by))
    for title, ids, by in halves:
        rows = panels.promoted_rows(at.run, ids.values.tolist(), by.values.tolist())
        signed_bars(rows, title=title, key=title)


def _attribution(
    tables: tuple[dict[str, Matrix], ...], called: str, at: Explained | None, side: str, head: Head
) -> None:
    effects, layers, taken = tables
    title, said = f"{called}{panels.EFFECT}", "" if at is None else spelled.effects(at)
    panels.effect_map(effects, side, MapCell(*head), 0, f"map {side}", title, said, choosable=False)
    panels.plain_map(layers, side, ("", "after layer"), f"layers {side}", f"{called}target − distractor (logits)")
    panels.plain_map(taken, side, ("head", "token"), f"source {side}", f"{called}{head_name(head)}'s {panels.EFFECT}")
