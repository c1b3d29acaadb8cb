"""The page *Weights* in numbers: pairs, the token looked up, singular directions, and composition."""

from itertools import product

from app import weights
from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import DIFFERENCE, columns, named, number
from app.run import Run
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.parts import name
from app.views.weight_tables import Weights, folded, token_of, weights_of
from model.analysis import Measure
from model.analysis.circuits import Directions, Pairs
from model.analysis.composition import Through
from model.errors import HeadlightError

ENDS = ("highest", "lowest")
PAIRS = ("end", "row token id", "row token", "column token id", "column token")
PARTNERS = ("looked up as", "end", "partner's token id", "partner")
DIRECTIONS = ("direction", "strength", "share", "side", "end", "token id", "token", "load")
STRENGTHS = ("of", "direction", "strength")
COMPOSITION = ("read by", "earlier head")


def data(shown: Shown, chosen: Selection) -> Data:
    """All tables and arrays; pairs that have not been looked for are looked for."""
    of = weights_of(shown, chosen)
    pairs, directions, token = weights.pairs(of.key), weights.directions(of.key), looked_up(of.run, chosen)
    composed = {side: weights.compositions(run.source.name, of.head) for side, run in of.models.items()}
    tables: dict[str, Table] = {
        "pairs": _pairs_table(of, dict(zip(ENDS, (pairs.highest, pairs.lowest), strict=True))),
        "directions": _directions_table(of.run, directions),
        "composition": _composition_table(composed),
    }
    if of.compares:
        tables["strengths"] = _strengths_table(of)
    if token is not None:
        tables["token"] = _partners_table(of, token)
    arrays: dict[str, Measure] = {"strengths": directions.strengths, "shares": directions.shares}
    for end, each in zip(ENDS, (pairs.highest, pairs.lowest), strict=True):
        arrays |= {f"{end} rows": each.rows, f"{end} columns": each.columns, f"{end} values": each.values}
    for side, found in (("row", directions.rows), ("column", directions.columns)):
        arrays |= {f"direction {side} tokens": found.tokens, f"direction {side} loads": found.loads}
    for through in weights.THROUGH:
        measures = {side: each.scores[through] for side, each in composed.items()}
        called = f"composition by {through}"
        arrays |= named(called, measures) if of.compares else {called: measures["A"]}
    shows = {
        "head": name(of.head),
        "circuit": {"qk": "QK: rows are query tokens, columns key tokens", "ov": "OV: source, promoted"}[of.kind],
        "unit": pairs.highest.values.unit,
        "weights of": {side: run.source.name for side, run in of.models.items()} if of.compares else of.key.model,
        "strongest in": listed(of),
        "reading": folded(of),
        "token looked up": None if token is None else of.run.tokenizer.labels([token])[0],
    }
    return Data("weights", shows, tables, arrays)


def listed(of: Weights) -> str:
    """The circuit whose strongest pairs are listed."""
    return of.listed if of.listed in of.models else DIFFERENCE


def values_heading(of: Weights) -> tuple[str, ...]:
    """The columns of a pair's entries: one, or A's, B's and their difference."""
    return ("A", "B", DIFFERENCE) if of.compares else ("value",)


def composition_heading(of_two: bool) -> tuple[str, ...]:
    """The columns of the table of compositions: what one model scores, or two."""
    of = ("score", "random heads, mean", "random heads, sd")
    return (*COMPOSITION, *((f"{what} in {side}" for side, what in product("AB", of)) if of_two else of))


def looked_up(run: Run, chosen: Selection) -> int | None:
    """The token that is looked up; none where what was typed is not one."""
    try:
        return token_of(run, chosen)
    except HeadlightError:
        return None


def _entries(of: Weights, found: Pairs) -> list[list[float]]:
    """The columns of entries."""
    if not of.compares:
        return [found.values.values.tolist()]
    return [weights.values_of(asked, found).values.tolist() for asked in of.asked.values()]


def _pairs_table(of: Weights, ends: dict[str, Pairs]) -> Table:
    """One row a pair, the outermost first."""
    rows: list[tuple[Cell, ...]] = []
    for end, found in ends.items():
        row_ids, column_ids = (each.values.tolist() for each in (found.rows, found.columns))
        row_labels, column_labels = map(of.run.tokenizer.labels, (row_ids, column_ids))
        cells = zip(row_ids, row_labels, column_ids, column_labels, *_entries(of, found), strict=True)
        rows += [(end, *each) for each in cells]
    return columns((*PAIRS, *values_heading(of)), rows)


def _partners_table(of: Weights, token: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, ends in zip(("row", "column"), weights.partners(of.key, token), strict=True):
        for end, found in zip(ENDS, (ends.highest, ends.lowest), strict=True):
            ids, own = found.columns.values.tolist(), found if side == "row" else found.turned
            cells = zip(ids, of.run.tokenizer.labels(ids), *_entries(of, own), strict=True)
            rows += [(side, end, *each) for each in cells]
    return columns((*PARTNERS, *values_heading(of)), rows)


def _strengths_table(of: Weights) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, asked in zip(("A", "B", DIFFERENCE), of.asked.values(), strict=True):
        strengths = weights.directions(asked).strengths.values.tolist()
        rows += [(side, place + 1, strength) for place, strength in enumerate(strengths)]
    return columns(STRENGTHS, rows)


def _directions_table(run: Run, found: Directions) -> Table:
    rows: list[tuple[Cell, ...]] = []
    measures = zip(found.strengths.values.tolist(), found.shares.values.tolist(), strict=True)
    for place, (strength, share) in enumerate(measures):
        for side, stand in (("row", found.rows), ("column", found.columns)):
            for end, sign in enumerate("+-"):
                ids, loads = (each.values[place, end].tolist() for each in (stand.tokens, stand.loads))
                for cells in zip(ids, run.tokenizer.labels(ids), loads, strict=True):
                    rows.append((place + 1, strength, number(share), side, sign, *cells))
    return columns(DIRECTIONS, rows)


def _composition_table(composed: dict[str, weights.Composed]) -> Table:
    """One row an earlier head that all models have."""
    rows: list[tuple[Cell, ...]] = []
    shapes = [each.scores["key"].values.shape for each in composed.values()]
    layers, heads = map(min, zip(*shapes, strict=True))
    for through, layer, head in product(weights.THROUGH, range(layers), range(heads)):
        cells = [cell for each in composed.values() for cell in _scores(each, through, layer, head)]
        rows.append((through, name((layer, head)), *cells))
    return columns(composition_heading(len(composed) > 1), rows)


def _scores(found: weights.Composed, through: Through, layer: int, head: int) -> tuple[float | None, ...]:
    random = found.random[through]
    score = float(found.scores[through].values[layer, head])
    return number(score), float(random.mean.values), float(random.sd.values)
