"""Maps of the page *Features*: the strongest features by token, and the reconstruction error at each token."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from headlight.app.components import CellAxis, CellMap
from headlight.app.pages.features.feature_view import FeatureView
from headlight.app.parts.sides import DIFFERENCE, by_side
from headlight.model.features.tables import activations, missed, moved

GROUP = "features"
Sides = Mapping[str, Float[np.ndarray, "row place"]]


def active(view: FeatureView) -> Sides:
    """Activations of the listed features at each place, of each side."""
    return by_side(activations(view.comparison, view.opened, view.layer, view.listed))


def feature_map(view: FeatureView, sides: Sides, side: str) -> CellMap:
    """The strongest features by token."""
    called = "" if view.comparison.b is None else f"{side}: "
    is_change, own = side == DIFFERENCE, [sides[run] for run in view.comparison.sides]
    scale = " (colours up to the largest after the first token)" if not is_change and _exceeds(own) else ""
    return CellMap(
        sides[side],
        CellAxis("feature", [str(feature) for feature in view.listed]),
        CellAxis("token", view.comparison.labels, numbered=True),
        title=f"{called}{'change of activation' if is_change else 'activation'}{scale}",
        scale="signed" if is_change else "linear",
        ends=None if is_change else (0.0, _largest(own) or 1.0),
        lacks="not in both runs" if is_change else "not in this run",
    )


def missed_map(view: FeatureView) -> CellMap:
    """Unexplained share of the norm at each token of each run, with the KL divergence of the spliced run."""
    subject = view.comparison, view.opened, view.layer
    every, apart = by_side(missed(*subject)), by_side(moved(*subject))
    shares = np.stack([every[side] for side in view.comparison.sides])
    return CellMap(
        shares,
        CellAxis(
            "missed", [f"error{'' if view.comparison.b is None else f' {side}'}" for side in view.comparison.sides]
        ),
        CellAxis("token", view.comparison.labels, numbered=True),
        title="reconstruction error, share of the norm",
        ends=(0.0, max(1.0, float(np.nanmax(shares, initial=0.0)))),
        lacks="not in this run",
        details={"KL(run ‖ dictionary spliced in), nats": np.stack([apart[side] for side in view.comparison.sides])},
    )


def _largest(sides: Sequence[Float[np.ndarray, "row place"]]) -> float:
    """The largest activation after the first token, which may exceed all others by far; or else that."""
    later, all_places = (max(float(np.nanmax(values[:, first:], initial=0.0)) for values in sides) for first in (1, 0))
    return later or all_places


def _exceeds(sides: Sequence[Float[np.ndarray, "row place"]]) -> bool:
    return any(float(np.nanmax(values, initial=0.0)) > _largest(sides) for values in sides)
