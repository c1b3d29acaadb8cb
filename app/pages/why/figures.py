"""The numbers that the page *Why* shows of a run, each by its name."""

from collections.abc import Mapping

import numpy as np

from headlight.app.figures.text import numbered_names
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sides import as_shown, placed
from headlight.model.attribution import tables
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.parts import Part
from headlight.model.attribution.tables import Change
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

BIAS, MLP, CONVOLUTION = "bias", "MLP", "convolution"


def score_matrix(at: Explained) -> Matrix:
    """All parts of a cell's score: row the query's, column the key's."""
    score = at.why
    return Matrix(score.query_names, score.key_names, score.parts.matrix.values.numpy())


def effect_map(at: Explained) -> Matrix:
    """The direct effect of every head, MLP and, where there is one, attention bias: row the layer."""
    cfg, effects = at.run.cfg, dict[tuple[int, str], float]()
    for part, value in zip(at.effects.parts, at.effects.values.values.tolist(), strict=True):
        if part.layer is not None:
            cell = part.layer, _column(part)
            effects[cell] = effects.get(cell, 0.0) + value  # experts share the MLPs' column
    present = {column for _, column in effects}
    columns = tuple(
        name for name in (*(f"H{head}" for head in range(cfg.n_heads)), BIAS, MLP, CONVOLUTION) if name in present
    )
    values = [[effects.get((layer, column), np.nan) for column in columns] for layer in range(cfg.n_layers)]
    return Matrix(tuple(f"L{layer}" for layer in range(cfg.n_layers)), columns, np.array(values))


def _column(part: Part) -> str:
    if part.head is not None:
        return f"H{part.head}"
    return next((name for name in (BIAS, CONVOLUTION) if part.name.endswith(name)), MLP)


def by_layer(at: Explained) -> Matrix:
    """Cumulative sum after each layer, and the lens reading there."""
    rows = np.stack([each.values.numpy() for each in (at.effects.accumulated, at.effects.lens)])
    return Matrix(("accumulated", "logit lens"), at.run.layer_labels, rows, absent=np.nan)


def by_source(comparison: Comparison, at: Explained) -> Matrix:
    """The head's effect by the token that it took it from, on the page's places."""
    values = placed(at.by_source.values.numpy()[None], comparison.positions(at.run), np.nan)
    places = tuple(numbered_names(comparison.labels))
    return Matrix((head_name(at.head),), places, values)


def promoted_of(sides: Mapping[str, Explained]) -> dict[str, Promoted]:
    """Tokens that each run's cell promotes and suppresses and, where there are both, the largest changes in B."""
    return as_shown(tables.promoted_of(sides))


def changes_of(sides: Mapping[str, Explained]) -> dict[str, list[Change]]:
    """Effects of each intervention in each run and, where there are both, B - A for interventions made in both."""
    return as_shown(tables.changes_of(sides))
