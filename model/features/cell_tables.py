"""An attention cell in tables by features of a dictionary of the head's input: its score and the head's effect."""

from collections.abc import Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution.explanation import CellQuestion, Explained, explain
from headlight.model.attribution.tables import NamedPart, pairs, parts_table
from headlight.model.features.effects import explain_cell_by_features, moved_by_features, moved_effects
from headlight.model.former_names import former_keywords
from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionary
from headlight.model.runs.tables import Tables, finite


@former_keywords(asked="question")
def why_feature_tables(comparison: Comparison, question: CellQuestion, dictionary: Dictionary) -> Tables:
    """Tabulate an attention cell by dictionary features: the score by feature pairs, and what the head moves.

    Args:
        comparison: one run, or two to compare.
        question: the cell and the prediction.
        dictionary: an autoencoder of the residual stream that the head's layer reads.

    Raises:
        InputError: the dictionary is of another activation.
    """
    return explained_by_features(comparison, explain(comparison, question)[0], dictionary)


def explained_by_features(comparison: Comparison, sides: Mapping[str, Explained], dictionary: Dictionary) -> Tables:
    """Scores and effects of the heads, by features of a dictionary of the stream that they read."""
    scores = {side: explain_cell_by_features(at.run, at.cell, dictionary) for side, at in sides.items()}
    return {
        "score by features": parts_table(
            ("run", "query's feature", "key's feature", "score"), {side: pairs(why) for side, why in scores.items()}
        ),
        "moved by features": parts_table(
            ("run", "moved", "place", "logits"),
            {side: _moved(comparison, at, dictionary) for side, at in sides.items()},
        ),
    }


def moved_by_part(
    at: Explained, dictionary: Dictionary, effects: Measure
) -> tuple[tuple[str, ...], Float[Tensor, "part pos"], Float[Tensor, " part"]]:
    """Effects of the head by part: by the position of origin, and those of no position."""
    moved = moved_by_features(at.run, at.head, at.question.position, dictionary)
    names = tuple(dict.fromkeys(part.name for part in moved.parts))
    rows = {name: row for row, name in enumerate(names)}
    values, constant = torch.zeros(len(names), len(at.run.tokens)), torch.zeros(len(names))
    for part, source, value in zip(moved.parts, moved.sources, effects.values.float().tolist(), strict=True):
        if source is None:
            constant[rows[part.name]] += value
        else:
            values[rows[part.name], source] += value
    return names, values, constant


def _moved(comparison: Comparison, at: Explained, dictionary: Dictionary) -> Iterator[NamedPart]:
    effects = moved_effects(at.run, at.head, dictionary, at.question)
    names, values, constant = moved_by_part(at, dictionary, effects)
    for (row, place), value in finite(on_axis(values, comparison.positions(at.run), float("nan"))):
        if value != 0:
            yield (names[row], place), value
    yield from (((name, None), value) for name, value in zip(names, constant.tolist(), strict=True) if value != 0)
