"""The logit lens: every layer's prediction at every place, one cell's best tokens, and a followed token's way to it."""

from dataclasses import dataclass

import torch

from headlight.model.analysis import Measure
from headlight.model.analysis.alignment import on_axis
from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.analysis.lens import LogitLens
from headlight.model.comparison import Comparison
from headlight.model.explain.lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.reports.tables import Cell, Table, Tables, columns, number, tokens_of
from headlight.model.run import Run

MEASURES = ("probability", "entropy (nats)", "KL(final || layer) (nats)", "probability of the followed token")


@dataclass(frozen=True, eq=False)
class Reading:
    """What a run's lens reads: everything in short, and the followed token's probability [layer, pos]."""

    run: Run
    lens: LogitLens
    followed: Measure


def lens_tables(
    shown: Comparison, token: int | None = None, layer: int | None = None, place: int | None = None
) -> Tables:
    """The lens, the ten best tokens of one cell, and a token's (id) way to it through the layers.

    The token is by default A's prediction, the cell the last layer's at the last place that all runs have; layer 0 is
    the embedding.
    """
    token = int(shown.a.next_logits.argmax()) if token is None else token
    layer = len(shown.layer_labels) - 1 if layer is None else layer
    place = shown.default_place if place is None else place
    found = readings(shown, token)
    return {
        "tokens": tokens_of(shown),
        "lens": _lens(shown, found, measures_of(shown, found)),
        "best": _best(shown, found, layer, place),
        "followed": _followed(shown, found, token, place),
    }


def readings(shown: Comparison, token: int) -> dict[str, Reading]:
    """Every run's lens, following the same token."""
    return {
        side: Reading(run, logit_lens(run), followed_probabilities(run, token)) for side, run in shown.sides.items()
    }


def measures_of(shown: Comparison, found: dict[str, Reading]) -> dict[str, dict[str, Measure]]:
    """Each of MEASURES [layer, place], of A, B and B - A."""
    by_run = {id(reading.run): reading for reading in found.values()}

    def compared(name: str) -> dict[str, Measure]:
        return shown.measured_by_place(lambda run: _measure(by_run[id(run)], name))

    return {name: compared(name) for name in MEASURES}


def _measure(reading: Reading, name: str) -> Measure:
    lens = reading.lens
    best = Measure("probability of the top token", "probability", ("layer", "pos"), lens.top_probs.values[..., 0])
    return dict(zip(MEASURES, (best, lens.entropy, lens.kl_from_final, reading.followed), strict=True))[name]


def _lens(shown: Comparison, found: dict[str, Reading], measures: dict[str, dict[str, Measure]]) -> Table:
    layers, rows = shown.layer_labels, list[tuple[Cell, ...]]()
    for side in measures[MEASURES[0]]:
        values = torch.stack([measures[name][side].values for name in MEASURES], -1)
        texts = [] if side == DIFFERENCE else _top_labels(shown, found[side])
        for layer, by_place in enumerate(values.tolist()):
            for place, numbers in enumerate(by_place):
                if not all(value != value for value in numbers):
                    text = texts[layer][place] if texts else None
                    rows.append((side, layers[layer], place, text, *map(number, numbers)))
    return columns(["run", "after layer", "place", "top token", *MEASURES], rows)


def _top_labels(shown: Comparison, reading: Reading) -> list[list[str]]:
    best = on_axis(reading.lens.top_tokens.values[..., 0], shown.positions(reading.run), 0)
    return [reading.run.tokenizer.labels(ids) for ids in best]


def _best(shown: Comparison, found: dict[str, Reading], layer: int, place: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, reading in found.items():
        position = shown.positions(reading.run)[place]
        if position is not None and layer < len(reading.run.layer_labels):
            labels = reading.run.tokenizer.labels(reading.lens.top_tokens.values[layer, position])
            probabilities = reading.lens.top_probs.values[layer, position].tolist()
            rows += [(side, rank + 1, *row) for rank, row in enumerate(zip(labels, probabilities, strict=True))]
    return columns(["run", "rank", "token", "probability"], rows)


def _followed(shown: Comparison, found: dict[str, Reading], token: int, place: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, reading in found.items():
        position = shown.positions(reading.run)[place]
        if position is not None:
            ranks = followed_ranks(reading.run, token, position).values[:, 0]
            way = reading.followed.values[:, position].tolist()
            rows += [(side, *row) for row in zip(reading.run.layer_labels, way, ranks.tolist(), strict=True)]
    return columns(["run", "after layer", "probability", "rank"], rows)
