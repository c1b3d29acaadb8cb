"""The page *Patching* in numbers: the map, cell by cell, and its estimate where one was asked for."""

import numpy as np
import torch

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.residual import positions_of
from app.exports.numbers.sides import columns, tokens_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.patches import Patched, axes, finished, said_of_b, title
from model.analysis import Measure

MEASURED = ("run", "target less distractor (logits)")


def data(shown: Shown, chosen: Selection) -> Data:
    """The map as a table and an array; what of it has not been done is done."""
    found = finished(shown, chosen)
    asked = found.asked
    target, distractor = shown.a.tokenizer.labels([asked.target, asked.distractor])
    tables: dict[str, Table] = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        "measured": columns(MEASURED, [("A", found.a), ("B", found.b)]),
        "map": cells_table(found),
    }
    matrices = {"exact": found.exact} | ({} if found.estimate is None else {"estimate": found.estimate})
    arrays = {
        name: Measure("share of the logit difference", "share", axes(asked), torch.tensor(matrix.values))
        for name, matrix in matrices.items()
    }
    shows = {
        "map": title(asked),
        "share": "0 = the logit difference of A, 1 = that of B; not clipped",
        "target": target,
        "distractor": distractor,
        "position": asked.position if asked.position == asked.position_b else [asked.position, asked.position_b],
        "nothing patched": found.unpatched,
        "of B": said_of_b(shown, chosen),
        "estimate": None if found.estimate is None else "attribution patching",
        "rank correlation with the estimate": None if found.agreement != found.agreement else found.agreement,
    }
    return Data("patching", shows, tables, arrays)


def cells_table(found: Patched) -> Table:
    """One row a cell, in reading order."""
    rows, across = found.exact.rows, found.exact.columns
    heading: tuple[str, ...] = (*axes(found.asked), "share")
    listed: list[tuple[Cell, ...]] = [
        (row, column, _share(found.exact.values[i, j])) for i, row in enumerate(rows) for j, column in enumerate(across)
    ]
    if found.estimate is not None:
        heading = (*heading, "estimate")
        estimates = found.estimate.values.ravel().tolist()
        listed = [(*cells, _share(estimate)) for cells, estimate in zip(listed, estimates, strict=True)]
    return columns(heading, listed)


def _share(value: float) -> float | None:
    """A cell's share; none where its position is not matched."""
    return None if np.isnan(value) else float(value)
