"""Pictures of a direction: how well it predicts by layer, every token's projection, and the dose curve."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.app.components import TokenValues
from headlight.app.figures import Plot
from headlight.app.figures.layout import Axis
from headlight.app.figures.plots import COLOURS, Colour, Look, interval, lines, plain
from headlight.app.pages.directions.direction_view import DirectionView
from headlight.app.parts.sides import named
from headlight.model.directions.dosing import DoseCurve, MeanOf, mean_of
from headlight.model.directions.reading import fitting_sides, projections
from headlight.model.directions.study import DirectionStudy

METHOD, SHUFFLED, RANDOM = "direction", "shuffled", "random"  # one line of a legend on a phone
LOOKS: dict[str, Look] = {
    METHOD: ("blue", "solid"),
    SHUFFLED: ("grey", "dash"),
    RANDOM: ("light grey", "dot"),
}


def by_layer(study: DirectionStudy, layers: tuple[str, ...]) -> list[Plot]:
    """Held-out accuracy and AUROC by layer, each beside the means of the controls."""
    tested = study.held_out
    kinds = {
        "Held-out accuracy": (tested.accuracy, tested.shuffled, tested.random),
        "Held-out AUROC": (tested.auroc, tested.shuffled_auroc, tested.random_auroc),
    }
    return [
        lines(
            {
                METHOD: own.numpy(),
                SHUFFLED: shuffled.mean(1).numpy(),
                RANDOM: random.mean(1).numpy(),
            },
            layers,
            title=title,
            unit="share",
            looks=LOOKS,
        )
        for title, (own, shuffled, random) in kinds.items()
    ]


def projected(view: DirectionView) -> TokenValues:
    """Every token of the prompts, coloured by how far its stream lies along the direction."""
    comparison = view.comparison
    values = {}
    for side, run in fitting_sides(comparison, view.direction).items():
        own = projections(run, view.direction).values[view.layer].numpy()
        values[side] = np.array(
            [np.nan if at is None else own[at] for at in comparison.positions(run)], dtype=np.float32
        )
    after = comparison.a.layer_labels[view.layer]
    title = f"projection on {view.direction.name} after {after}, 1 = the direction's own length"
    lines, turns = named(comparison, values, ""), comparison.turns
    return TokenValues(comparison.labels, lines, title=title, signed=True, turns=turns)


def dose(curve: DoseCurve, toward: str) -> list[Plot]:
    """What was measured by factor, with its interval, beside a random vector; and the cost on neutral text."""
    factors = [f"{factor:g}" for factor in curve.factors]
    traces = [
        _curve(METHOD, [mean_of(row) for row in curve.values], "blue"),
        _curve(RANDOM, [mean_of(row) for row in curve.random], "grey"),
    ]
    along = Axis("factor", factors)
    plots = [Plot(f"Logit difference towards {toward}, by factor", along, Axis("logits"), traces)]
    if curve.cost is not None:
        cost = {"KL": curve.cost.kl.numpy(), "change of loss": (curve.cost.loss - _zero(curve)).numpy()}
        looks: dict[str, Look] = {"KL": ("blue", "solid"), "change of loss": ("violet", "dot")}
        plots.append(
            lines(cost, factors, title="Cost on neutral text, by factor", unit="nats", along="factor", looks=looks)
        )
    return plots


def _zero(curve: DoseCurve) -> float:
    assert curve.cost is not None
    return float(curve.cost.loss[curve.factors.index(0.0)])


def _curve(name: str, means: Sequence[MeanOf], colour: Colour) -> dict[str, Any]:
    values, low, high = (np.array([getattr(each, end) for each in means]) for end in ("mean", "low", "high"))
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(range(len(values))),
        "y": plain(values),
        "error_y": interval(values, low, high),
        "line": {"color": COLOURS[colour], "width": 2},
    }
