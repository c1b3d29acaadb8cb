"""The residual page in numbers: lengths, directions, and what each part of the model writes at one place."""

import torch

from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import columns, finite, named, number, on_places, sides, tokens_table
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.residual import decompose
from app.views.sides import layer_labels
from model.analysis import Measure, residual


def data(shown: Shown, chosen: Selection) -> Data:
    """Norms at every layer and place, cosines between layers, and the components at the place looked at."""
    place = place_of(shown, chosen)
    norms, cosines = norms_of(shown), cosines_of(shown)
    component_norms, shares = components_of(shown)
    tables = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        "norms": _norms(shown, norms),
        "cosines": _cosines(shown, cosines),
        "components": _components(shown, component_norms, shares, place),
    }
    arrays = named("norms", norms) | named("cosines", cosines)
    arrays |= named("component norms", component_norms) | named("component shares", shares)
    shows = {"components are at place": place, "components": component_names(shown), "layers": layer_labels(shown)}
    return Data("residual", shows, tables, arrays)


def place_of(shown: Shown, chosen: Selection) -> int:
    """The place looked at: the last that all runs have, unless another was chosen."""
    return shown.default_place if chosen.position is None else chosen.position


def positions_of(shown: Shown) -> dict[str, tuple[int | None, ...]]:
    """Each place's position in each run."""
    return {side: shown.positions(run) for side, run in shown.sides.items()}


def component_names(shown: Shown) -> tuple[str, ...]:
    """What writes to the residual stream, in the order of writing, of the run that has more of it."""
    return max((tuple(name for name, _ in run.writes()) for run in shown.runs), key=len)


def norms_of(shown: Shown) -> dict[str, Measure]:
    """The stream's norm [layer, place] of A, B and B - A."""
    return on_places(shown, lambda run: residual.stream_norms(run.streams()))


def cosines_of(shown: Shown) -> dict[str, Measure]:
    """The cosine between every two layers [layer, other layer] of A, B and B - A."""
    return sides(shown, lambda run: residual.layer_cosine(run.streams()))


def components_of(shown: Shown) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """Each component's norm and share [component, place] of A, B and B - A."""
    parts = {side: decompose(run) for side, run in shown.sides.items()}
    by_run = dict(zip(map(id, shown.runs), parts.values(), strict=True))
    return (
        on_places(shown, lambda run: by_run[id(run)].norms),
        on_places(shown, lambda run: by_run[id(run)].shares),
    )


def _norms(shown: Shown, norms: dict[str, Measure]) -> Table:
    layers = layer_labels(shown)
    rows = [
        (side, layers[layer], place, value)
        for side, measure in norms.items()
        for (layer, place), value in finite(measure.values)
    ]
    return columns(["run", "after layer", "place", "L2 norm"], rows)


def _cosines(shown: Shown, cosines: dict[str, Measure]) -> Table:
    layers = layer_labels(shown)
    rows = [
        (side, layers[layer], layers[other], value)
        for side, measure in cosines.items()
        for (layer, other), value in finite(measure.values)
    ]
    return columns(["run", "after layer", "other layer", "cosine"], rows)


def _components(shown: Shown, norms: dict[str, Measure], shares: dict[str, Measure], place: int) -> Table:
    names = component_names(shown)
    rows: list[tuple[Cell, ...]] = []
    for side, measure in norms.items():
        pairs = torch.stack([measure.values[:, place], shares[side].values[:, place]], -1).tolist()
        rows += [(side, name, number(norm), number(share)) for name, (norm, share) in zip(names, pairs, strict=False)]
    return columns(["run", "component", "L2 norm", "share of the final stream"], rows)
