"""The heads that are looked at before the user has chosen any."""

from jaxtyping import Float
from torch import Tensor

from headlight.app.selection.chosen import Selection
from headlight.model.attention import fields
from headlight.model.attention.sinks import looks_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.run import LONG, Run

FIRST_HEADS = 3
SPREAD = 0.25  # a largest weight below it singles out no token
NOISE = 1e-6  # mean differences up to it are float32's rounding


def clearest(comparison: Comparison) -> tuple[Head, ...]:
    """The heads worth a first look on A's prompt: the best two at induction and the best at the previous token.

    Where no token occurs twice there is no induction, and the best three at the previous token are taken. Heads that
    rest at the last token, on the first token, on another sink or on itself, or that single out no token there, come
    after all others. A head that one of the runs lacks is none of them.
    """
    extent = comparison.n_layers, comparison.n_heads
    return comparison.a.keep(("clearest heads", extent), lambda: _clearest(comparison.a, *extent))


def _clearest(run: Run, n_layers: int, n_heads: int) -> tuple[Head, ...]:
    looks, scores = looks_of(run), _scores(run)
    says_little = looks.resting | (looks.largest < SPREAD)

    def ranked(name: str) -> list[Head]:
        order = scores[name][:n_layers, :n_heads].flatten().argsort(descending=True, stable=True)
        heads = [divmod(int(index), n_heads) for index in order]
        return sorted(heads, key=lambda head: bool(says_little[head]))

    repeats = not bool(scores["induction"].isnan().any())
    first = ranked("induction")[:2] if repeats else []
    return tuple(dict.fromkeys([*first, *ranked("previous_token")]))[:FIRST_HEADS]


def _scores(run: Run) -> dict[str, Float[Tensor, "layer head"]]:
    """Scores that the heads are ranked by; of a long prompt over some of its queries, for which no other head waits."""
    if len(run.tokens) < LONG:
        return {name: run.scores[name].values for name in ("induction", "previous_token")}
    return looks_of(run).scores


def most_changed(comparison: Comparison) -> tuple[Head, ...]:
    """The heads whose weights differ most between A and B; the clearest where none differ."""
    changes = comparison.keep("change of all heads", lambda: fields.change(comparison).values)
    if float(changes.max()) <= NOISE:
        return clearest(comparison)
    order = changes.flatten().argsort(descending=True, stable=True)[:FIRST_HEADS].tolist()
    return tuple(divmod(index, comparison.n_heads) for index in order)


def heads_of(comparison: Comparison, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those worth a first look: on one prompt the clearest, of two those that change most."""
    if chosen.heads is not None:
        return chosen.heads
    return clearest(comparison) if comparison.b is None else most_changed(comparison)


def head_of(comparison: Comparison, chosen: Selection) -> Head:
    """The first of the chosen heads, or the one with the clearest pattern."""
    return chosen.heads[0] if chosen.heads else clearest(comparison)[0]
