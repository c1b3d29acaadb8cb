"""Score and effect of a head by features of a dictionary of the stream that it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import cell_map
from headlight.app.components.options.kinds import Link
from headlight.app.figures.text import numbered_names
from headlight.app.glossary import TERMS
from headlight.app.pages.why import spelled
from headlight.app.pages.why.choices import Choices
from headlight.app.parts import needs, options, part_maps, tables
from headlight.app.parts.labels import number, signed
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import DIFFERENCE, compared, placed
from headlight.app.parts.sums import condensed
from headlight.app.runs import dictionaries
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.score import Why
from headlight.model.features.carried import carried
from headlight.model.features.cell_tables import moved_by_part
from headlight.model.features.effects import explain_cell_by_features, moved_effects
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionary
from headlight.model.runs.edits import head_name

MAX_LINKS, MAX_MOVED = 4, 10
FROM_NOWHERE = "whatever it looks at"


@dataclass(frozen=True, eq=False)
class Reader:
    """A dictionary of the stream that the explained heads read, and its name on the page."""

    name: str
    dictionary: Dictionary

    def why(self, at: Explained) -> Why:
        """The cell's score by pairs of features."""
        return explain_cell_by_features(at.run, at.cell, self.dictionary)


def reader_of(comparison: Comparison, chosen: Selection, layer: int) -> Reader | None:
    """Dictionary of the stream that a layer's heads read in all runs: the chosen one, or the first available."""
    if any(run.cfg.pools_mean for run in comparison.runs):  # a head then counts at every token, not at one
        return None
    opened = dictionaries.of_stream(chosen.dictionary, layer, comparison.runs)
    return None if opened is None else Reader(*opened)


def wanted(comparison: Comparison, chosen: Selection, layer: int) -> Reader | None:
    """The same where the score is to be split by features."""
    return reader_of(comparison, chosen, layer) if chosen.choices_of(Choices).why_by == "features" else None


def score_matrix(reader: Reader, at: Explained) -> Matrix:
    """Score by part of the query's and of the key's stream."""
    score = reader.why(at)
    return Matrix(score.query_names, score.key_names, score.parts.matrix.values.numpy())


def moved_matrix(comparison: Comparison, reader: Reader, at: Explained) -> Matrix:
    """Head's effect on target minus distractor: rows are features that it changes, columns the tokens read."""
    effects = moved_effects(at.run, at.head, reader.dictionary, at.question)
    names, values, constant = moved_by_part(at, reader.dictionary, effects)
    on_places = placed(values.numpy(), comparison.positions(at.run), 0.0)
    places = tuple(numbered_names(comparison.labels))
    return Matrix(names, (*places, FROM_NOWHERE), np.concatenate([on_places, constant.numpy()[:, None]], axis=1))


def draw_score(comparison: Comparison, reader: Reader, sides: Mapping[str, Explained], side: str) -> None:
    """The strongest pairs, that their sum is the score, and a link to each of the strongest features."""
    matrices = score_matrices(reader, sides)
    cell_map(part_maps.score(matrices, side), key=selection.widget_key("score_features"))
    if side == DIFFERENCE:
        return
    at, why = sides[side], reader.why(sides[side])
    names = (comparison.token_at(at.run, position) for position in (at.cell.query, at.cell.key))
    off = float(why.parts.residual.values)
    st.text(
        f"{' looks at '.join(names)}:  score {spelled.value(at, why)}, weight {number(why.weight)}, by "
        f"{len(why.query_names)} parts of the query and {len(why.key_names)} of the key. Decomposition error: "
        f"{spelled.rounding(off)}."
    )
    _links(comparison, reader, at, matrices[side])


def draw_tables(comparison: Comparison, reader: Reader, sides: Mapping[str, Explained], side: str) -> None:
    """Draw the same in numbers: the score by part of the query and of the key, and the head's effect."""
    scores, moved = score_matrices(reader, sides), moved_matrices(comparison, reader, sides)
    titles = "The score by feature of the query", "The score by feature of the key"
    for columns, title in zip(part_maps.side_columns(scores[side]), titles, strict=True):
        heading(title)
        tables.draw(columns, title)
    title, sums = "What the head moves, by feature", moved[side].values.sum(1)
    heading(title)
    tables.draw({"Moved": list(moved[side].rows), "logits": sums}, title)


def score_matrices(reader: Reader, sides: Mapping[str, Explained]) -> dict[str, Matrix]:
    """The scores of the runs by features and, where there are two, their change."""
    return compared(sides, lambda at: score_matrix(reader, at))


def moved_matrices(comparison: Comparison, reader: Reader, sides: Mapping[str, Explained]) -> dict[str, Matrix]:
    """The heads' effects by feature for each run and, where there are two, the change."""
    return compared(sides, lambda at: moved_matrix(comparison, reader, at))


def _links(comparison: Comparison, reader: Reader, at: Explained, matrix: Matrix) -> None:
    """To the pages of the features that count most, at the query or at the key."""
    places = {position: place for place, position in enumerate(comparison.positions(at.run)) if position is not None}
    sums = [(name, "query", float(value)) for name, value in zip(matrix.rows, matrix.values.sum(1), strict=True)]
    sums += [(name, "key", float(value)) for name, value in zip(matrix.columns, matrix.values.sum(0), strict=True)]
    features = [each for each in sums if each[0].startswith("feature ")]
    links = []
    for name, half, value in sorted(features, key=lambda each: -abs(each[2]))[:MAX_LINKS]:
        feature, place = int(name.split()[1]), places[at.cell.query if half == "query" else at.cell.key]
        links.append(_link(reader, feature, place, f"{name} of the {half} {signed(value)}"))
    if links:
        options.row(*links, name="why_features", whole=True)


def _link_moved(comparison: Comparison, reader: Reader, matrix: Matrix) -> None:
    """To the pages of the features whose moving does most, where the head takes most of each from."""
    rows = [slot for slot, name in enumerate(matrix.rows) if name.startswith("feature ")]
    order = sorted(rows, key=lambda slot: -abs(float(matrix.values[slot].sum())))[:MAX_LINKS]
    links = []
    for slot in order:
        place = int(np.abs(matrix.values[slot, :-1]).argmax())
        label = f"moved {matrix.rows[slot]} at {matrix.columns[place]} {signed(float(matrix.values[slot].sum()))}"
        links.append(_link(reader, int(matrix.rows[slot].split()[1]), place, label))
    if links:
        options.row(*links, name="moved_features", whole=True)


def _link(reader: Reader, feature: int, place: int, label: str) -> Link:
    def open_feature(_: None) -> None:
        now, which = selection.current(), (reader.dictionary.layer, feature)
        selection.ask(replace(now, dictionary=reader.name, feature=which, position=place), "features")

    return Link(label, label, None, open_feature)


def link_to_carriers(comparison: Comparison, at: Explained) -> None:
    """Button to the last stream's features with the largest direct effects, where a dictionary is of that stream."""
    if needs.sums(comparison):
        return
    reader = reader_of(comparison, selection.current(), at.run.cfg.n_layers)
    place = comparison.positions(at.run).index(at.question.position)
    if reader is None or (carriers := carried(at.run, reader.dictionary, at.question)) is None:
        return
    first = carriers.strongest(1)

    def open_features() -> None:
        which = (reader.dictionary.layer, first[0]) if first else None
        selected = replace(selection.current(), dictionary=reader.name, feature=which, position=place)
        selection.ask(replace(selected, features_by="effect"), "features")

    st.button(
        "Features behind this prediction",
        icon=":material/subdirectory_arrow_right:",
        key=selection.widget_key("carriers"),
        on_click=open_features,
        help=TERMS["why_carriers"],
    )


def draw_moved(comparison: Comparison, reader: Reader, sides: Mapping[str, Explained], side: str) -> None:
    """Draw the head's effect by the feature that it changes and the token that it reads."""
    matrices = moved_matrices(comparison, reader, sides)
    head = head_name(next(iter(sides.values())).head)
    strongest = {each: condensed(matrix, MAX_MOVED) for each, matrix in matrices.items()}
    if side != DIFFERENCE:
        _link_moved(comparison, reader, matrices[side])
    said = f"Direct effect of {head} by feature moved and source token, with sums."
    moved = part_maps.plain_map(strongest, side, ("moved", "token"), part_maps.EFFECT, said)
    cell_map(moved, key=selection.widget_key("moved_features"))
