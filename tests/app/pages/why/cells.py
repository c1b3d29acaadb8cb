"""What the tests of the page *Why* share: the head that they look at, a run's edits, and how exact numbers are."""

from headlight.app.pages.why.chosen import question_of
from headlight.app.selection import Selection
from headlight.model.attribution.explanation import Explained, explain_side
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, CutEdge, Steer

HEAD = (1, 2)
EDITS = (AblateHeads(((0, 1),), "mean"), CutEdge(HEAD, 7, 3), Steer(1, "one two", "four", 1.5))
# Sums of the run's float32 activations, of size up to 30 and rounded to 6e-8 of themselves, a thousand at a time.
SUM = 1e-4
# Logits of size 1 from two passes of float32 whose sums are taken in another order.
LOGITS = 2e-5


def explained_of(comparison: Comparison, chosen: Selection, side: str) -> Explained:
    """What is chosen, in A or in B."""
    return explain_side(comparison, question_of(comparison, chosen), side)


def at_cell(comparison: Comparison, side: str = "A", **chosen: object) -> Explained:
    """A cell of the head in one run: the one chosen, or the strongest."""
    return explained_of(comparison, Selection(**{"heads": (HEAD,), **chosen}), side)  # type: ignore[arg-type]
