"""The target and distractor tokens, their position, and the cell that is explained, in A or in B."""

from headlight.app.parts.first_heads import clearest
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection.chosen import Selection
from headlight.model.attribution.explanation import CellQuestion, Explained, explain, run_with
from headlight.model.attribution.logits import Question, logit_attribution
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.linear import no_logits


def head_of(comparison: Comparison, chosen: Selection) -> Head:
    """The first of the chosen heads, or the one with the largest direct effect on the prediction."""
    return chosen.heads[0] if chosen.heads else _strongest(comparison, chosen)


def _strongest(comparison: Comparison, chosen: Selection) -> Head:
    """Of the heads that all runs have, by its effect in the first run with the place; the clearest without logits."""
    pair = pair_of(comparison, chosen)
    run, position = run_with(comparison, place_of(comparison, chosen))
    if no_logits(run.model):
        return clearest(comparison)[0]
    effects = logit_attribution(run, Question(pair.target, pair.distractor, position))
    sizes = {
        (part.layer, part.head): abs(float(value))
        for part, value in zip(effects.parts, effects.values.values, strict=False)
        if part.layer is not None and part.head is not None
    }
    shared = [head for head in sizes if head[0] < comparison.n_layers and head[1] < comparison.n_heads]
    return max(shared, key=sizes.__getitem__) if shared else clearest(comparison)[0]


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
