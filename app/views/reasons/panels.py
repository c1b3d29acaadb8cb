"""The pictures of the page *Why*, for the page and for a file: they take numbers and draw them."""

from collections.abc import Mapping, Sequence
from typing import Literal

from app.components import MapAxis, MapCell, SignedBar, signed_bars, signed_map
from app.run import Run
from app.views.reasons.numbers import SUM, Change, Matrix, Step, condensed, fall, limit_of
from app.views.steps.spelled import number
from app.views.tables import Columns

SCORE = "part of the score (nats)"
EFFECT = "direct effect on target − distractor (logits)"
CHANGE = "change of target − distractor (logits)"
PROMOTES = {
    False: ("promotes (logits)", "suppresses (logits)"),
    True: ("promotes more in B (logits)", "suppresses more in B (logits)"),
}
SERIES = ("direct, all else held still", "total, measured")


def score(sides: Mapping[str, Matrix], side: str, key: str, title: str = SCORE) -> None:
    """The score's strongest parts, row the query's and column the key's."""
    parts = {each: condensed(matrix) for each, matrix in sides.items()}
    shown = parts[side]
    signed_map(
        shown.values,
        MapAxis("query's part", shown.rows),
        MapAxis("key's part", shown.columns),
        title=title,
        limit=limit_of(parts, side),
        sums=True,
        key=key,
    )


def waterfall(effects: Mapping[str, float], total: str, key: str, title: str = EFFECT) -> None:
    """Each part's effect from where the one before it ended, down to their sum."""
    steps = fall(effects)
    bars = [
        SignedBar(step.name, [(step.start, step.end)], signed(step.end - step.start), _kind(step)) for step in steps
    ]
    end = steps[-1].end
    signed_bars([*bars, SignedBar(total, [(0.0, end)], signed(end), "sum")], title=title, key=key)


def _kind(step: Step) -> Literal["", "rest"]:
    return "rest" if step.name.startswith("the other ") else ""


def effect_map(
    sides: Mapping[str, Matrix],
    side: str,
    chosen: MapCell | None,
    epoch: int,
    key: str,
    title: str = EFFECT,
    caption: str = "",
    choosable: bool = True,
) -> MapCell | None:
    """Layer by head: what each adds directly."""
    matrix = sides[side]
    return signed_map(
        matrix.values,
        MapAxis("layer", matrix.rows),
        MapAxis("head", matrix.columns),
        title=title,
        caption=caption,
        limit=limit_of(sides, side),
        choosable=choosable,
        chosen=chosen,
        epoch=epoch,
        key=key,
    )


def plain_map(
    sides: Mapping[str, Matrix], side: str, names: tuple[str, str], key: str, title: str, caption: str = ""
) -> None:
    """A matrix as it is."""
    matrix = sides[side]
    rows, columns = MapAxis(names[0], matrix.rows), MapAxis(names[1], matrix.columns)
    signed_map(matrix.values, rows, columns, title=title, caption=caption, limit=limit_of(sides, side), key=key)


def promoted(run: Run, ids: Sequence[int], by: Sequence[float], title: str, key: str) -> None:
    """Tokens with what a write adds to their logits."""
    labels = run.tokenizer.labels(list(ids))
    bars = [SignedBar(label, [(0.0, value)], signed(value)) for label, value in zip(labels, by, strict=True)]
    signed_bars(bars, title=title, key=key)


def outcomes(changes: Sequence[Change], key: str, title: str = CHANGE) -> None:
    """What each intervention changes directly and in all, and how far the whole distribution moves."""
    bars = [
        SignedBar(
            each.name,
            [(0.0, each.direct), (0.0, each.total)],
            f"{signed(each.direct)}  {signed(each.total)}\nKL {number(each.kl)}{each.top and f'  → {each.top}'}",
        )
        for each in changes
    ]
    signed_bars(bars, title=title, series=SERIES, key=key)


def signed(value: float) -> str:
    """A number with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def outcome_columns(changes: Sequence[Change]) -> Columns:
    """The same as a table."""
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
        return {heading: [*(names[i] for i in order), SUM], "nats": [*sums[order], sums.sum()]}

    return columns("Query's part", matrix.rows, 1), columns("Key's part", matrix.columns, 0)
