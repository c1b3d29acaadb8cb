"""The plots of the page *Generate*: how likely each written token was, and how undecided the model, step by step."""

from headlight.app.figures import several
from headlight.app.parts.charts import Rows
from headlight.app.parts.sides import named, with_difference
from headlight.model.decoding.compared import Continuations


def rows(continuations: Continuations) -> Rows:
    """Side by side; with a B under each other, of A, B and B − A for the steps that both have."""
    n = continuations.n_compared
    likely = with_difference({side: each.log_probs[:n].exp().numpy() for side, each in continuations.sides.items()})
    own = with_difference({side: each.entropies[0, :n].numpy() for side, each in continuations.sides.items()})
    b = {} if continuations.b is None else {"B": [f"B writes {label}" for label in continuations.b.labels[:n]]}
    plots = several.steps(
        named(continuations.comparison, likely, ""),
        named(continuations.comparison, own, ""),
        continuations.a.labels[:n],
        b,
    )
    return [plots] if continuations.b is None else [[plot] for plot in plots]
