"""The residual page's plots: how the norm grows, component norms at one token, and how the direction changes."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from headlight.app.figures import Bars, Plot, cosines, plots
from headlight.app.parts import needs, tables
from headlight.app.parts.charts import Rows
from headlight.app.parts.pair import place_of
from headlight.app.parts.sides import DIFFERENCE, by_side, named
from headlight.app.selection.chosen import Selection
from headlight.model.comparison import Comparison
from headlight.model.reports.residual import component_norms, component_shares, layer_cosines, stream_norms

Norms = Mapping[str, Float[np.ndarray, "layer place"]]
Parts = Mapping[str, Float[np.ndarray, "component place"]]
EMBEDDINGS: tuple[plots.Colour, ...] = ("light grey", "grey", "purple")
KINDS: dict[str, plots.Colour] = {"attention": "blue", "MLP": "orange"}


def rows(shown: Comparison, chosen: Selection) -> Rows:
    """Two by two for A; with a B the bars of both in rows of their own, and B − A beside or under them."""
    place = place_of(shown, chosen)
    at = shown.labels[place]
    growth = _growth(shown, by_side(stream_norms(shown)), place)
    added = _written(shown, by_side(component_norms(shown)), place, f"Component norms at {at}", "L2 norm")
    shares = []
    if not needs.split(shown):
        shares = _written(shown, by_side(component_shares(shown)), place, f"Share of the final stream at {at}", "share")
    turns = [
        cosines(values, shown.layer_labels, side)
        for side, values in named(shown, by_side(layer_cosines(shown)), "").items()
    ]
    if shown.b is None:
        return [growth + added, shares + turns]
    return [growth, added[:1], shares[:1], added[1:] + shares[1:], turns]


def written(shown: Comparison, parts: Parts, place: int) -> dict[str, Float[np.ndarray, " component"]]:
    """What each component writes at a place, for the runs that have it."""
    of_runs = {side: parts[side][:, place] for side in shown.sides}
    return {side: values for side, values in of_runs.items() if np.isfinite(values).any()}


def _growth(shown: Comparison, norms: Norms, place: int) -> list[Plot]:
    layers, at = shown.layer_labels, shown.labels[place]
    whole = {side: tables.filled(norms[side], len(layers)) for side in shown.sides}
    of_runs = plots.lines(
        named(shown, {side: values[:, place] for side, values in whole.items()}, ""),
        layers,
        title=f"Residual stream norm at {at}",
        unit="L2 norm",
        alone=at,
        faint=np.concatenate([values.T for values in whole.values()]),
        faint_name="every token",
        log=True,
    )
    if shown.b is None:
        return [of_runs]
    change = {DIFFERENCE: tables.filled(norms[DIFFERENCE][:, place], len(layers))}
    title = f"Residual stream norm at {at}, {DIFFERENCE}"
    return [of_runs, plots.lines(change, layers, title=title, unit="L2 norm", what="change")]


def _written(shown: Comparison, parts: Parts, place: int, title: str, unit: str) -> list[Plot]:
    of_runs = {side: _bars(shown, side, values) for side, values in written(shown, parts, place).items()}
    kinds = dict.fromkeys(kind for bars in of_runs.values() for kind in bars)  # some are in one of two models alone
    beside = [bars[kind] for kind in kinds for bars in of_runs.values() if kind in bars]  # A's beside B's
    found = [plots.bars(beside, shown.layer_labels, title=title, unit=unit)]
    if len(of_runs) == 2:
        a, b = of_runs["A"], of_runs["B"]
        both = [kind for kind in kinds if kind in a and kind in b]
        change = [Bars(kind, b[kind].values - a[kind].values, a[kind].colour) for kind in both]
        found.append(plots.bars(change, shown.layer_labels, title=f"{title}, {DIFFERENCE}", unit=unit))
    return found


def _bars(shown: Comparison, side: str, values: Float[np.ndarray, " component"]) -> dict[str, Bars]:
    """By kind a run's embeddings at the first place, and what the parts of each layer write at that layer's."""
    run, n_places = shown.sides[side], len(shown.layer_labels)
    cfg, begun = run.cfg, [name for name, _ in run.embeddings()]
    others = values.tolist()[len(begun) :]
    n_kinds = 1 if cfg.attn_only else 2
    end = n_kinds * cfg.n_layers  # behind it is what edits of the stream add

    def bars(kind: str, colour: plots.Colour, first: int, numbers: list[float]) -> Bars:
        at = np.full(n_places, np.nan)
        at[first : first + len(numbers)] = numbers
        return Bars(kind if shown.b is None else f"{kind}, {side}", at, colour, hatched=side == "B")

    embedded = zip(begun, values.tolist(), EMBEDDINGS, strict=False)
    return {name: bars(name, colour, 0, [value]) for name, value, colour in embedded} | {
        kind: bars(kind, colour, 1, others[slot:end:n_kinds] if slot < n_kinds else [])
        for slot, (kind, colour) in enumerate(KINDS.items())
    }
