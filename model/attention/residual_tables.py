"""Residual stream in tables: its norm and change of direction at every layer, and each component's write."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch

from headlight.model.attention import residual
from headlight.model.attention.sentence_cosine import no_cosine, sentence_cosine
from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.difference import DIFFERENCE, by_name, subtract, union
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.linear import no_split
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Rows, Table, Tables, columns, finite, number, tokens_of


def residual_tables(comparison: Comparison, place: int | None = None) -> Tables:
    """Tabulate the residual stream: norms at every layer and place, cosines between layers, and components.

    Args:
        comparison: one run, or two to compare.
        place: where the components are listed, by default the last place that all runs have.
    """
    place = comparison.default_place if place is None else place
    sentences = {} if no_cosine(comparison) else {"sentence cosine": cosine_table(comparison)}
    return sentences | {
        "tokens": tokens_of(comparison),
        "norms": _norms(comparison, stream_norms(comparison)),
        "cosines": _cosines(comparison, layer_cosines(comparison)),
        "components": _components(comparison, component_norms(comparison), component_shares(comparison), place),
    }


def cosine_table(comparison: Comparison) -> Table:
    """Contribution of each head, token and other part of A, and of B, to the cosine between the two sentences."""
    rows = Rows()
    for side, parts in sentence_cosine(comparison).items():
        run = comparison.sides[side]
        rows += [(side, "cosine", "", float(parts.cosine.values))]
        rows += [(side, "head", head_name((layer, head)), value) for (layer, head), value in finite(parts.heads.values)]
        rows += [(side, "part", *each) for each in zip(parts.rest_names, parts.rest.values.tolist(), strict=True)]
        rows += [(side, "token", f"{at} {run.labels[at]}", value) for (at,), value in finite(parts.tokens.values)]
    return columns(["run", "kind", "name", "part of the cosine"], rows)


def stream_norms(comparison: Comparison) -> dict[str, Measure]:
    """The stream's norm [layer, place] of A, B and B - A."""
    return comparison.measured_by_place(lambda run: run.keep("norms", lambda: residual.stream_norms(run.streams())))


def layer_cosines(comparison: Comparison) -> dict[str, Measure]:
    """The cosine between every two layers' streams [layer, other layer] of A, B and B - A."""
    return comparison.measured(lambda run: run.keep("cosine", lambda: residual.layer_cosine(run.streams())))


def component_norms(comparison: Comparison) -> dict[str, Measure]:
    """L2 norm of each component's write [component, place], of A, B and B - A."""
    return _by_component(comparison, lambda parts: parts.norms)


def component_shares(comparison: Comparison) -> dict[str, Measure]:
    """Each component's share of the final stream [component, place], of A, B and B - A."""
    return _by_component(comparison, lambda parts: parts.shares)


def component_names(comparison: Comparison) -> tuple[str, ...]:
    """Names of the components of any run's residual stream, in the order of writing."""
    first, *others = (decomposition(run).components for run in comparison.runs)
    return union(first, others[0]) if others else first


def _by_component(
    comparison: Comparison, measure_of: Callable[[residual.Decomposition], Measure]
) -> dict[str, Measure]:
    """A measure [component, place] of A, B and B - A under the `component_names`.

    A component that a run lacks is NaN there, and counts as 0 in B - A.
    """
    names = component_names(comparison)

    def named(run: Run, absent: float) -> Measure:
        parts = decomposition(run)
        measure = measure_of(parts)
        absent = torch.nan if bool(measure.values.isnan().all()) else absent  # as shares are where there are none
        values = by_name(measure.values.float(), parts.components, names, absent)
        placed = on_axis(values, comparison.positions(run), torch.nan)
        return Measure(measure.name, measure.unit, ("component", "place"), placed)

    sides = {side: named(run, torch.nan) for side, run in comparison.sides.items()}
    if comparison.b is None:
        return sides
    return {**sides, DIFFERENCE: subtract(named(comparison.a, 0.0), named(comparison.b, 0.0))}


def decomposition(run: Run) -> residual.Decomposition:
    """Every component's norm and share, in the order of writing; no shares where the stream is no sum of them."""

    def decompose() -> residual.Decomposition:
        *_, final = run.streams()
        parts = residual.decompose(dict(run.writes()), final)
        if not no_split(run.model):
            return parts
        shares = parts.shares.values
        return replace(parts, shares=replace(parts.shares, values=torch.full_like(shares, torch.nan)))

    return run.keep("decomposition", decompose)


def _norms(comparison: Comparison, norms: Mapping[str, Measure]) -> Table:
    layers = comparison.layer_labels
    rows = [
        (side, layers[layer], place, value)
        for side, measure in norms.items()
        for (layer, place), value in finite(measure.values)
    ]
    return columns(["run", "after layer", "place", "L2 norm"], rows)


def _cosines(comparison: Comparison, cosines: Mapping[str, Measure]) -> Table:
    layers = comparison.layer_labels
    rows = [
        (side, layers[layer], layers[other], value)
        for side, measure in cosines.items()
        for (layer, other), value in finite(measure.values)
    ]
    return columns(["run", "after layer", "other layer", "cosine"], rows)


def _components(
    comparison: Comparison, norms: Mapping[str, Measure], shares: Mapping[str, Measure], place: int
) -> Table:
    names = component_names(comparison)
    rows = Rows()
    for side, measure in norms.items():
        pairs = torch.stack([measure.values[:, place], shares[side].values[:, place]], -1).tolist()
        rows += [(side, name, number(norm), number(share)) for name, (norm, share) in zip(names, pairs, strict=True)]
    return columns(["run", "component", "L2 norm", "share of the final stream"], rows)
