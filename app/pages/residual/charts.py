"""The residual page's plots: how the norm grows, component norms at one token, and how the direction changes."""

import re
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from headlight.app.figures import Bars, Plot, cosines, plots
from headlight.app.figures.text import token_name
from headlight.app.parts import needs, tables
from headlight.app.parts.charts import Rows
from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import DIFFERENCE, by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.attention.residual_tables import (
    component_names,
    component_norms,
    component_shares,
    layer_cosines,
    stream_norms,
)
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import EDITED, EMBEDDINGS, NORMALISED

Norms = Mapping[str, Float[np.ndarray, "layer place"]]
Parts = Mapping[str, Float[np.ndarray, "component place"]]
COLOURS: dict[str, plots.Colour] = {  # of what writes to the stream, in the order in which bars stand
    "embeddings": "light grey",
    **dict(zip(EMBEDDINGS, ("light grey", "grey", "blue"), strict=True)),
    "attention": "violet",
    "MLP": "teal",
    "convolution": "orange",
    EDITED: "blue",
    NORMALISED: "blue",
}
BEHIND = {EDITED: "edits", NORMALISED: "norms"}
LAYERED = re.compile(r"(?P<layer>L\d+) (?P<kind>.+)")


def rows(comparison: Comparison, chosen: Selection) -> Rows:
    """Two by two for A; with a B the bars of both in rows of their own, and B − A beside or under them."""
    growth, added, shares, turns = _plots(comparison, chosen)
    if comparison.b is None:
        return [growth + added, shares + turns]
    return [growth, added[:1], shares[:1], added[1:] + shares[1:], turns]


def rows_on_paper(comparison: Comparison, chosen: Selection) -> Rows:
    """The same, and with a B three by three: all of A and B beside each other, under them what changes."""
    if comparison.b is None:
        return rows(comparison, chosen)
    *of_token, turns = _plots(comparison, chosen)
    return [[each[0] for each in of_token if each], [plot for each in of_token for plot in each[1:]], turns]


def _plots(comparison: Comparison, chosen: Selection) -> tuple[list[Plot], ...]:
    """Of the norm, the components' norms and shares, and the cosines: the plot of A and B, and that of B − A."""
    place = place_of(comparison, chosen)
    at = token_name(comparison.labels[place], place)
    growth = _growth(comparison, by_side(stream_norms(comparison)), place)
    added = _written(comparison, by_side(component_norms(comparison)), place, f"Component norms at {at}", "L2 norm")
    shares = []
    if not needs.split(comparison):
        shares = _written(
            comparison, by_side(component_shares(comparison)), place, f"Share of the final stream at {at}", "share"
        )
    turns = [
        cosines(values, comparison.layer_labels, side)
        for side, values in named(comparison, by_side(layer_cosines(comparison)), "").items()
    ]
    return growth, added, shares, turns


def written(comparison: Comparison, parts: Parts, place: int) -> dict[str, Float[np.ndarray, " component"]]:
    """Write of each component at a place, for the runs that have it."""
    of_runs = {side: parts[side][:, place] for side in comparison.sides}
    return {side: values for side, values in of_runs.items() if np.isfinite(values).any()}


def _growth(comparison: Comparison, norms: Norms, place: int) -> list[Plot]:
    layers, at = comparison.layer_labels, token_name(comparison.labels[place], place)
    whole = {side: tables.filled(norms[side], len(layers)) for side in comparison.sides}
    of_runs = plots.lines(
        named(comparison, {side: values[:, place] for side, values in whole.items()}, ""),
        layers,
        title=f"Residual stream norm at {at}",
        unit="L2 norm",
        alone=at,
        faint=np.concatenate([values.T for values in whole.values()]),
        faint_name="every token",
        log=True,
    )
    if comparison.b is None:
        return [of_runs]
    change = {DIFFERENCE: tables.filled(norms[DIFFERENCE][:, place], len(layers))}
    title = f"Residual stream norm at {at}, {DIFFERENCE}"
    return [of_runs, plots.lines(change, layers, title=title, unit="L2 norm", what="change")]


def places_of(comparison: Comparison) -> tuple[str, ...]:
    """Places of the bars of components: the embedding, each layer, and behind them those of no layer."""
    return (*comparison.layer_labels, *(BEHIND[name] for name in component_names(comparison) if name in BEHIND))


def by_kind(comparison: Comparison, values: Float[np.ndarray, " component"]) -> dict[str, Float[np.ndarray, " place"]]:
    """Values of the components by kind, such as attention or an embedding, NaN at places without one."""
    places, sizes = places_of(comparison), dict[str, Float[np.ndarray, " place"]]()
    for name, value in zip(component_names(comparison), values.tolist(), strict=True):
        if (layered := LAYERED.fullmatch(name)) is not None:
            place, kind = places.index(layered["layer"]), layered["kind"]
        else:
            place, kind = places.index(BEHIND[name]) if name in BEHIND else 0, name
        sizes.setdefault(kind, np.full(len(places), np.nan))[place] = value
    return {kind: at for kind, at in sizes.items() if np.isfinite(at).any()}


def _written(comparison: Comparison, parts: Parts, place: int, title: str, unit: str) -> list[Plot]:
    of_runs = {side: by_kind(comparison, values) for side, values in written(comparison, parts, place).items()}
    named = {side: "" if comparison.b is None else f", {side}" for side in of_runs}
    beside = [  # A's beside B's
        Bars(f"{_short(kind)}{named[side]}", of_run[kind], COLOURS[kind], hatched=side == "B")
        for kind in COLOURS
        for side, of_run in of_runs.items()
        if kind in of_run
    ]
    panels = [plots.bars(beside, places_of(comparison), title=title, unit=unit)]
    if len(of_runs) == 2:
        kinds = by_kind(comparison, parts[DIFFERENCE][:, place])
        change = [Bars(_short(kind), kinds[kind], COLOURS[kind]) for kind in COLOURS if kind in kinds]
        panels.append(plots.bars(change, places_of(comparison), title=f"{title}, {DIFFERENCE}", unit=unit))
    return panels


def _short(kind: str) -> str:
    """A kind of component in a legend, which a phone has room for: token, position, attention."""
    return kind.removesuffix(" embedding")
