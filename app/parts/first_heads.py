"""The heads that are looked at before the user has chosen any."""

from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.run import Run

FIRST_HEADS = 3


def clearest(comparison: Comparison) -> tuple[Head, ...]:
    """The heads worth a first look on A's prompt: the best two at induction and the best at the previous token.

    Where no token occurs twice there is no induction, and the best three at the previous token are taken. A head that
    one of the runs lacks is none of them.
    """
    extent = comparison.n_layers, comparison.n_heads
    return comparison.a.keep(("clearest heads", extent), lambda: _clearest(comparison.a, *extent))


def _clearest(run: Run, n_layers: int, n_heads: int) -> tuple[Head, ...]:
    def ranked(name: str) -> list[Head]:
        order = run.scores[name].values[:n_layers, :n_heads].flatten().argsort(descending=True)
        return [divmod(int(index), n_heads) for index in order]

    repeats = not bool(run.scores["induction"].values.isnan().any())
    first = ranked("induction")[:2] if repeats else []
    return tuple(dict.fromkeys([*first, *ranked("previous_token")]))[:FIRST_HEADS]


def heads_of(comparison: Comparison, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or the defaults."""
    return clearest(comparison) if chosen.heads is None else chosen.heads


def head_of(comparison: Comparison, chosen: Selection) -> Head:
    """The first of the chosen heads, or the one with the clearest pattern."""
    return chosen.heads[0] if chosen.heads else clearest(comparison)[0]
