"""The page *Patching* in numbers: the map, cell by cell, and its estimate where one was asked for."""

import torch

from headlight.app.analyses import patching
from headlight.app.exports.data import Data
from headlight.app.pages.patching.patches import axes, finished, said_of_b, title
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.comparison import Comparison
from headlight.model.reports.patching import map_tables


def data(shown: Comparison, chosen: Selection) -> Data:
    """The map as a table and an array; what of it has not been done is done."""
    found = finished(shown, chosen)
    asked, measured = found.asked, found.asked.measured
    target, distractor = shown.a.tokenizer.labels([measured.target, measured.distractor])
    matrices = {"exact": found.exact} | ({} if found.estimate is None else {"estimate": found.estimate})
    arrays = {
        name: Measure("share of the logit difference", "share", axes(asked), torch.tensor(matrix.values))
        for name, matrix in matrices.items()
    }
    tables = map_tables(shown, patching.cells_of(asked), arrays["exact"], arrays.get("estimate"))
    shows = {
        "map": title(asked),
        "share": "0 = the logit difference of A, 1 = that of B; not clipped",
        "target": target,
        "distractor": distractor,
        "position": measured.position if measured.position == measured.in_b else [measured.position, measured.in_b],
        "nothing patched": found.unpatched,
        "of B": said_of_b(shown, chosen),
        "estimate": None if found.estimate is None else "attribution patching",
        "rank correlation with the estimate": None if found.agreement != found.agreement else found.agreement,
    }
    return Data("patching", shows, tables, arrays)
