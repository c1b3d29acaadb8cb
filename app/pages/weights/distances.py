"""How a head's scores of token pairs change with how far apart they stand, where rotary positions make them."""

import numpy as np

from headlight.app.figures import Plot, plots
from headlight.app.pages.weights.analysis import circuit_of
from headlight.app.pages.weights.weight_tables import Weights, turns
from headlight.model.weights.qk_ov_circuits import Pairs

FARTHEST = 64  # tokens apart, in the plot
MAX_PAIRS = 5  # that have a line of their own


def turning(of: Weights) -> bool:
    """Whether the chosen circuit depends on the distance."""
    return of.kind == "qk" and any(turns(run, of.head) for run in of.models.values())


def over_distances(of: Weights, strongest: Pairs) -> Plot:
    """The strongest pairs' scores in the model that is listed, from next to each other to far apart."""
    scores = circuit_of(of.key).over_distances(strongest, FARTHEST).values.numpy()[:MAX_PAIRS]
    names = of.run.tokenizer.labels
    pairs = zip(names(strongest.rows.values.tolist()), names(strongest.columns.values.tolist()), strict=True)
    series = {f"{query} → {key}": line for (query, key), line in zip(pairs, scores, strict=False)}
    return plots.lines(
        {"": scores.mean(0)},
        [str(distance) for distance in range(FARTHEST)],
        title=f"Scores of the {len(series)} highest pairs",
        unit="score",
        along="distance",
        alone="their mean",
        faint=np.stack(list(series.values())),
        faint_name="each pair",
    )
