"""The page *Weights* in numbers: pairs, the token looked up, singular directions, and composition."""

from app import weights
from app.csv_files import Cell
from app.exports.numbers.data import Data, Table
from app.exports.numbers.sides import columns, number
from app.run import Run
from app.selection.chosen import Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.weight_tables import Weights, folded, token_of, weights_of
from model.analysis import Measure
from model.analysis.circuits import Directions, Pairs
from model.errors import HeadlightError

ENDS = ("highest", "lowest")
PAIRS = ("end", "row token id", "row token", "column token id", "column token", "value")
PARTNERS = ("looked up as", "end", "partner's token id", "partner", "value")
DIRECTIONS = ("direction", "strength", "share", "side", "end", "token id", "token", "load")
COMPOSITION = ("read by", "earlier head", "score", "random heads, mean", "random heads, sd")


def data(shown: Shown, chosen: Selection) -> Data:
    """All tables and arrays; pairs that have not been looked for are looked for."""
    of = weights_of(shown, chosen)
    pairs, directions = weights.pairs(*of.key), weights.directions(*of.key)
    composed = weights.compositions(of.run.source.name, of.head)
    token = looked_up(of.run, chosen)
    tables: dict[str, Table] = {
        "pairs": pairs_table(of.run, dict(zip(ENDS, (pairs.highest, pairs.lowest), strict=True))),
        "directions": _directions_table(of.run, directions),
        "composition": _composition_table(composed),
    }
    if token is not None:
        tables["token"] = _partners_table(of, token)
    arrays: dict[str, Measure] = {"strengths": directions.strengths, "shares": directions.shares}
    for end, each in zip(ENDS, (pairs.highest, pairs.lowest), strict=True):
        arrays |= {f"{end} rows": each.rows, f"{end} columns": each.columns, f"{end} values": each.values}
    for side, found in (("row", directions.rows), ("column", directions.columns)):
        arrays |= {f"direction {side} tokens": found.tokens, f"direction {side} loads": found.loads}
    arrays |= {f"composition by {through}": measure for through, measure in composed.scores.items()}
    shows = {
        "head": name(of.head),
        "circuit": {"qk": "QK: rows are query tokens, columns key tokens", "ov": "OV: source, promoted"}[of.kind],
        "unit": pairs.highest.values.unit,
        "weights of": of.run.source.name,
        "reading": folded(of),
        "token looked up": None if token is None else of.run.tokenizer.labels([token])[0],
    }
    return Data("weights", shows, tables, arrays)


def looked_up(run: Run, chosen: Selection) -> int | None:
    """The token that is looked up; none where what was typed is not one."""
    try:
        return token_of(run, chosen)
    except HeadlightError:
        return None


def pairs_table(run: Run, ends: dict[str, Pairs]) -> dict[str, list[Cell]]:
    """One row a pair, the outermost first."""
    rows: list[tuple[Cell, ...]] = []
    for end, found in ends.items():
        ids = [each.values.tolist() for each in (found.rows, found.columns)]
        labels = map(run.tokenizer.labels, ids)
        (row_ids, column_ids), (row_labels, column_labels) = ids, labels
        values = found.values.values.tolist()
        rows += [(end, *cells) for cells in zip(row_ids, row_labels, column_ids, column_labels, values, strict=True)]
    return columns(PAIRS, rows)


def _partners_table(of: Weights, token: int) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for side, ends in zip(("row", "column"), weights.partners(*of.key, token), strict=True):
        for end, found in zip(ENDS, (ends.highest, ends.lowest), strict=True):
            ids = found.columns.values.tolist()
            labels, values = of.run.tokenizer.labels(ids), found.values.values.tolist()
            rows += [(side, end, *cells) for cells in zip(ids, labels, values, strict=True)]
    return columns(PARTNERS, rows)


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


def _composition_table(found: weights.Composed) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for through, measure in found.scores.items():
        by_chance = (float(each.values) for each in (found.random[through].mean, found.random[through].sd))
        own = tuple(by_chance)
        for layer, scores in enumerate(measure.values.tolist()):
            rows += [(through, name((layer, head)), number(score), *own) for head, score in enumerate(scores)]
    return columns(COMPOSITION, rows)
