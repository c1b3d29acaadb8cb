"""The target and distractor tokens, their position, and the cell that is explained, in A or in B."""

from headlight.app.parts.first_heads import head_of
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import CellQuestion, Explained, explain
from headlight.model.runs.comparison import Comparison


def query_place(comparison: Comparison, chosen: Selection) -> int:
    """The place of the cell's query: the first that is pinned, or where the prediction is measured."""
    return chosen.queries[0] if chosen.queries else place_of(comparison, chosen)


def question_of(comparison: Comparison, chosen: Selection) -> CellQuestion:
    """Head, cell, tokens and place: chosen ones, or defaults."""
    pair = pair_of(comparison, chosen)
    return CellQuestion(
        head=head_of(comparison, chosen),
        query=query_place(comparison, chosen),
        key=chosen.keys[0] if chosen.keys else None,
        target=pair.target,
        distractor=pair.distractor,
        place=place_of(comparison, chosen),
        mean_over=chosen.mean_over,
    )


def sides_of(comparison: Comparison, chosen: Selection) -> tuple[dict[str, Explained], dict[str, str]]:
    """The choice in every run that has it, and the reason for every run that lacks it."""
    return explain(comparison, question_of(comparison, chosen))
