"""The page *Head roles* as a file: the map of all heads, and the heads as a table that can be sorted."""

from collections.abc import Sequence

from headlight.app.components.shared.mount import recorded
from headlight.app.exports.html.document import document
from headlight.app.exports.html.file_table import file_table
from headlight.app.pages.heads.found import Scored, changed, changes_table, table
from headlight.app.pages.heads.head_map import draw_map, limit_of
from headlight.app.pages.heads.numbers import found_of
from headlight.app.parts.labels import SCORES
from headlight.app.parts.sides import DIFFERENCE
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison


def page(texts: Sequence[str], shown: Comparison, chosen: Selection) -> bytes:
    """A file in which every head tells its score, interval, rank and label; with a B on both sides, and the change."""
    found = found_of(texts, shown, chosen)
    maps: dict[str, Scored] = {**found}
    limit, title, numbers = limit_of([*found.values()]), SCORES[found["A"].score].title.lower(), table(found["A"])
    if "B" in found:
        change = changed(found["A"], found["B"])
        maps[DIFFERENCE], numbers = change, changes_table(change)
    with recorded() as mounted:
        for side, each in maps.items():
            scale = limit_of([each]) if side == DIFFERENCE else limit
            draw_map(each, chosen, 0, f"finder {side}", scale, side if "B" in found else "")
        file_table(f"Heads by {title}" if "B" not in found else f"Heads by how much {title} changes", numbers)
    return document("Heads", shown if "B" in found else Comparison(shown.a), mounted, "plain", tokens=False)
