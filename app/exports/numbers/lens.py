"""The lens page in numbers: every layer's prediction at every place, and the ten best of the cell looked at."""

from dataclasses import dataclass

import torch

from app import runs
from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.residual import positions_of
from app.exports.numbers.sides import DIFFERENCE, columns, named, number, on_places, tokens_table
from app.run import Run
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.lens_cell import followed, read
from app.views.sides import layer_labels
from model.analysis import Measure
from model.analysis.alignment import on_axis
from model.analysis.lens import LogitLens
from model.errors import HeadlightError

MEASURES = ("probability", "entropy (nats)", "KL(final || layer) (nats)", "probability of the followed token")


@dataclass(frozen=True, eq=False)
class Reading:
    """What a run's lens reads: everything in short, and the followed token's probability [layer, pos]."""

    run: Run
    lens: LogitLens
    followed: Measure


def readings(shown: Shown, chosen: Selection) -> dict[str, Reading]:
    """Every run's lens, following the same token."""
    token = followed_token(shown, chosen)
    return {side: Reading(run, read(run), followed(run, token)) for side, run in shown.sides.items()}


def followed_token(shown: Shown, chosen: Selection) -> int:
    """The token typed into the page, or else A's prediction."""
    if chosen.target:
        try:
            return shown.a.tokenizer.to_single_token(chosen.target)
        except HeadlightError:  # the page says so, and goes on with the prediction
            pass
    return int(shown.a.next_logits.argmax())


def cell_of(shown: Shown, chosen: Selection) -> tuple[int, int]:
    """The layer and place looked at: the final prediction, unless another cell was chosen."""
    if chosen.layer is None or chosen.position is None:
        return len(layer_labels(shown)) - 1, shown.default_place
    return chosen.layer, chosen.position


def measures_of(shown: Shown, found: dict[str, Reading]) -> dict[str, dict[str, Measure]]:
    """Each of MEASURES [layer, place], of A, B and B - A."""
    by_run = {id(reading.run): reading for reading in found.values()}

    def laid(name: str) -> dict[str, Measure]:
        return on_places(shown, lambda run: _measure(by_run[id(run)], name))

    return {name: laid(name) for name in MEASURES}


def _measure(reading: Reading, name: str) -> Measure:
    lens = reading.lens
    best = Measure("probability of the top token", "probability", ("layer", "pos"), lens.top_probs.values[..., 0])
    return dict(zip(MEASURES, (best, lens.entropy, lens.kl_from_final, reading.followed), strict=True))[name]


def data(shown: Shown, chosen: Selection) -> Data:
    """The lens as a table, the ten best tokens of the cell looked at, and the followed token's way to it."""
    found = readings(shown, chosen)
    measures, (layer, place) = measures_of(shown, found), cell_of(shown, chosen)
    token = followed_token(shown, chosen)
    tables = {
        "tokens": tokens_table({side: run.labels for side, run in shown.sides.items()}, positions_of(shown)),
        "lens": _lens(shown, found, measures),
        "best": _best(shown, found, layer, place),
        "followed": _followed(shown, found, token, place),
    }
    arrays = {key: measure for name, found in measures.items() for key, measure in named(name, found).items()}
    for side, reading in found.items():
        arrays |= {f"{side} top tokens": reading.lens.top_tokens, f"{side} top probabilities": reading.lens.top_probs}
    shows = {
        "followed token": shown.a.tokenizer.labels([token])[0],
        "its id": token,
        "cell": {"after layer": layer_labels(shown)[layer], "place": place},
        "layers": layer_labels(shown),
    }
    return Data("lens", shows, tables, arrays)


def _lens(shown: Shown, found: dict[str, Reading], measures: dict[str, dict[str, Measure]]) -> Table:
    layers, rows = layer_labels(shown), list[tuple[Cell, ...]]()
    for side in measures[MEASURES[0]]:
        values = torch.stack([measures[name][side].values for name in MEASURES], -1)
        texts = [] if side == DIFFERENCE else _top_labels(shown, found[side])
        for layer, by_place in enumerate(values.tolist()):
            for place, numbers in enumerate(by_place):
                if not all(value != value for value in numbers):
                    text = texts[layer][place] if texts else None
                    rows.append((side, layers[layer], place, text, *map(number, numbers)))
    return columns(["run", "after layer", "place", "top token", *MEASURES], rows)


def _top_labels(shown: Shown, reading: Reading) -> list[list[str]]:
    best = on_axis(reading.lens.top_tokens.values[..., 0], shown.positions(reading.run), 0)
    return [reading.run.tokenizer.labels(ids) for ids in best]


def _best(shown: Shown, found: dict[str, Reading], layer: int, place: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, reading in found.items():
        position = shown.positions(reading.run)[place]
        if position is not None and layer < len(reading.run.layer_labels):
            labels = reading.run.tokenizer.labels(reading.lens.top_tokens.values[layer, position])
            probabilities = reading.lens.top_probs.values[layer, position].tolist()
            rows += [(side, rank + 1, *row) for rank, row in enumerate(zip(labels, probabilities, strict=True))]
    return columns(["run", "rank", "token", "probability"], rows)


def _followed(shown: Shown, found: dict[str, Reading], token: int, place: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, reading in found.items():
        position = shown.positions(reading.run)[place]
        if position is not None:
            ranks = runs.followed_ranks(reading.run, token, slice(position, position + 1)).values[:, 0]
            way = reading.followed.values[:, position].tolist()
            rows += [(side, *row) for row in zip(reading.run.layer_labels, way, ranks.tolist(), strict=True)]
    return columns(["run", "after layer", "probability", "rank"], rows)
