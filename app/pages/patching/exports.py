"""Exports of the page *Patching*: its script, its numbers, and a file of its maps."""

import torch

from headlight.app.exports.data import Data
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import report
from headlight.app.pages.patching.choices import Choices
from headlight.app.pages.patching.patches import axes, finished, question_of, said_after, said_of_b, title
from headlight.app.pages.patching.patches import table as cells_table
from headlight.app.pages.patching.view import drawn, patch_map
from headlight.app.parts.pair import said_of_cap
from headlight.app.runs import patching
from headlight.app.selection.chosen import Selection
from headlight.model.measure import Measure
from headlight.model.patching import PATHS
from headlight.model.patching.tables import map_tables
from headlight.model.runs.comparison import Comparison

PURPOSE = "What parts of one run change in another."


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that recomputes the map, with its gradient estimate if that is on."""
    question = question_of(comparison, chosen)
    options: dict[str, object] = {"measured": question.measured, "parts": question.parts, "into": question.into}
    if chosen.choices_of(Choices).patch_estimate and question.parts.what not in PATHS:
        options["estimate"] = True
    return report(PURPOSE, comparison, chosen.align, "patching_tables", **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """The map as a table and an array; missing cells are computed."""
    patched = finished(comparison, chosen)
    question, measured = patched.question, patched.question.measured
    target, distractor = comparison.a.outputs.labels([measured.target, measured.distractor])
    matrices = {"exact": patched.exact} | ({} if patched.estimate is None else {"estimate": patched.estimate})
    arrays = {
        name: Measure("share of the logit difference", "share", axes(question), torch.tensor(matrix.values))
        for name, matrix in matrices.items()
    }
    tables = map_tables(comparison, patching.cells_of(question), arrays["exact"], arrays.get("estimate"))
    shows = {
        "map": title(question),
        "share": "0 = the logit difference of A, 1 = that of B; not clipped",
        "target": target,
        "distractor": distractor,
        "predicted after": said_after(comparison, chosen),
        "soft cap": said_of_cap(comparison.runs) or None,
        "nothing patched": patched.unpatched,
        "of B": said_of_b(comparison, chosen),
        "estimate": None if patched.estimate is None else "attribution patching",
        "rank correlation with the estimate": None if patched.agreement != patched.agreement else patched.agreement,
    }
    return Data("patching", shows, tables, arrays)


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Every cell's share, with the estimate where one was asked for."""
    patched = finished(comparison, chosen)
    rows = [[Drawing(patch_map(patched, matrix, called))] for matrix, called in drawn(patched)]
    cells = table("Cells, that which moves the prediction most first", cells_table(patched))
    note = said_of_cap(comparison.runs)
    return Drawings(f"Patching, {title(patched.question)},", comparison, [*rows, [cells]], note=note)
