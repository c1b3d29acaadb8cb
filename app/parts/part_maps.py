"""Maps and bars of the parts of a score or a logit, and of the effects of ablations."""

from collections.abc import Mapping, Sequence
from typing import Literal

from headlight.app.components import CellAxis, CellMap
from headlight.app.figures import Row
from headlight.app.figures.text import alike, token_name
from headlight.app.parts.labels import nats, signed
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.sums import SUM, Step, condensed, fall, limit_of
from headlight.app.parts.tables import Columns
from headlight.model.attribution.tables import Change
from headlight.model.text.outputs import Outputs

SCORE = "part of the score"
EFFECT = "direct effect on target − distractor (logits)"
CHANGE = "change of target − distractor (logits)"
PROMOTES = {
    False: ("promotes (logits)", "suppresses (logits)"),
    True: ("promotes more in B (logits)", "suppresses more in B (logits)"),
}
SERIES = ("direct effect (all else frozen)", "total effect (measured)")


def score(sides: Mapping[str, Matrix], side: str, title: str = SCORE, caption: str = "") -> CellMap:
    """The score's strongest parts, row the query's and column the key's."""
    parts = {each: condensed(matrix) for each, matrix in sides.items()}
    side_parts = parts[side]
    return CellMap(
        side_parts.values,
        CellAxis("query's part", side_parts.rows),
        CellAxis("key's part", side_parts.columns),
        title=title,
        caption=caption,
        scale="signed",
        ends=(0, limit_of(parts, side)),
        sums=True,
    )


def fall_rows(effects: Mapping[str, float], total: str) -> list[Row]:
    """Each part's effect from where the one before it ended, down to their sum."""
    steps = fall(effects)
    *texts, last = alike([*(step.end - step.start for step in steps), steps[-1].end], signed=True)
    rows = [
        Row(step.name, [(step.start, step.end)], text, _kind(step)) for step, text in zip(steps, texts, strict=True)
    ]
    return [*rows, Row(total, [(0.0, steps[-1].end)], last, "sum")]


def _kind(step: Step) -> Literal["", "rest"]:
    return "rest" if step.name.startswith("the other ") else ""


def effect_map(sides: Mapping[str, Matrix], side: str, title: str = EFFECT, caption: str = "") -> CellMap:
    """Direct effects by layer and head."""
    return plain_map(sides, side, ("layer", "head"), title, caption)


def plain_map(sides: Mapping[str, Matrix], side: str, names: tuple[str, str], title: str, caption: str = "") -> CellMap:
    """A matrix as it is."""
    matrix = sides[side]
    rows, columns = CellAxis(names[0], matrix.rows), CellAxis(names[1], matrix.columns)
    ends = 0, limit_of(sides, side)
    return CellMap(matrix.values, rows, columns, title=title, caption=caption, scale="signed", ends=ends)


def promoted_rows(names: Outputs, ids: Sequence[int], by: Sequence[float]) -> list[Row]:
    """Tokens with a write's effect on their logits."""
    labels = [token_name(label, 1) for label in names.labels(list(ids))]
    texts = alike(by, signed=True)
    return [Row(label, [(0.0, value)], text) for label, value, text in zip(labels, by, texts, strict=True)]


def outcome_rows(changes: Sequence[Change]) -> list[Row]:
    """Direct and total effect of each intervention, and the divergence of the whole distribution."""
    return [
        Row(
            each.name,
            [(0.0, each.direct), (0.0, each.total)],
            f"{signed(each.direct)}  {signed(each.total)}\nKL {nats(each.kl)}{each.top and f'  → {each.top}'}",
        )
        for each in changes
    ]


def outcome_columns(changes: Sequence[Change]) -> Columns:
    """Effects of each intervention, as a table."""
    return {
        "What is done": [each.name for each in changes],
        "direct (logits)": [each.direct for each in changes],
        "total (logits)": [each.total for each in changes],
        "KL (nats)": [each.kl for each in changes],
        "then predicted": [each.top for each in changes],
    }


def side_columns(matrix: Matrix) -> tuple[Columns, Columns]:
    """The score's sums by part of the query, and by part of the key, largest first."""

    def columns(heading: str, names: Sequence[str], axis: int) -> Columns:
        sums = matrix.values.sum(axis)
        order = (-abs(sums)).argsort(kind="stable").tolist()
        return {heading: [*(names[i] for i in order), SUM], "score": [*sums[order], sums.sum()]}

    return columns("Query's part", matrix.rows, 1), columns("Key's part", matrix.columns, 0)
