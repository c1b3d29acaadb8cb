"""The heads that are looked at before the user has chosen any."""

from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.edits import Head
from headlight.model.run import Run

FIRST_HEADS = 3


def clearest(run: Run) -> tuple[Head, ...]:
    """The heads worth a first look on this prompt: the best two at induction and the best at the previous token.

    Where no token occurs twice there is no induction, and the best three at the previous token are taken.
    """
    return run.keep("clearest heads", lambda: _clearest(run))


def _clearest(run: Run) -> tuple[Head, ...]:
    repeats = not bool(run.scores["induction"].values.isnan().any())
    first = _ranked(run, "induction")[:2] if repeats else []
    return tuple(dict.fromkeys([*first, *_ranked(run, "previous_token")]))[:FIRST_HEADS]


def _ranked(run: Run, name: str) -> list[Head]:
    order = run.scores[name].values.flatten().argsort(descending=True)
    return [divmod(int(index), run.cfg.n_heads) for index in order]


def heads_of(shown: Comparison, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those that are looked at first."""
    return clearest(shown.a) if chosen.heads is None else chosen.heads


def head_of(shown: Comparison, chosen: Selection) -> Head:
    """The first of the chosen heads, or the one with the clearest pattern."""
    return chosen.heads[0] if chosen.heads else clearest(shown.a)[0]
