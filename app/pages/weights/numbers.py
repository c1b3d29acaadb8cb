"""The page *Weights* in numbers: pairs, the token looked up, singular directions, and composition."""

from headlight.app.analyses.weights import circuit_of
from headlight.app.exports.data import Data
from headlight.app.exports.sides import named
from headlight.app.pages.weights.weight_tables import Weights, compositions_of, folded, token_of, weights_of
from headlight.app.selection.chosen import Selection
from headlight.model.analysis import Measure
from headlight.model.analysis.difference import DIFFERENCE
from headlight.model.comparison import Comparison
from headlight.model.edits import head_name
from headlight.model.errors import HeadlightError
from headlight.model.explain.circuits import THROUGH
from headlight.model.reports import circuit_tables
from headlight.model.run import Run


def data(shown: Comparison, chosen: Selection) -> Data:
    """All tables and arrays; pairs that have not been looked for are looked for."""
    of, token = weights_of(shown, chosen), looked_up(shown.a, chosen)
    model_b = of.models["B"].model if of.compares else None
    tables = circuit_tables(of.run.model, of.head, of.kind, model_b, listed(of), token, of.run.host, of.key.distance)
    circuit, composed = circuit_of(of.key), compositions_of(of)
    pairs, directions = circuit.pairs(), circuit.directions()
    arrays: dict[str, Measure] = {"strengths": directions.strengths, "shares": directions.shares}
    for end, each in (("highest", pairs.highest), ("lowest", pairs.lowest)):
        arrays |= {f"{end} rows": each.rows, f"{end} columns": each.columns, f"{end} values": each.values}
    for side, found in (("row", directions.rows), ("column", directions.columns)):
        arrays |= {f"direction {side} tokens": found.tokens, f"direction {side} loads": found.loads}
    for through in THROUGH:
        measures = {side: each.scores[through] for side, each in composed.items()}
        called = f"composition by {through}"
        arrays |= named(called, measures) if of.compares else {called: measures["A"]}
    shows = {
        "head": head_name(of.head),
        "circuit": {"qk": "QK: rows are query tokens, columns key tokens", "ov": "OV: source, promoted"}[of.kind],
        "unit": pairs.highest.values.unit,
        "weights of": {side: run.source.name for side, run in of.models.items()} if of.compares else of.key.model,
        "strongest in": listed(of),
        "reading": folded(of),
        "tokens between query and key": of.key.distance,
        "token looked up": None if token is None else of.run.tokenizer.labels([token])[0],
    }
    return Data("weights", shows, tables, arrays)


def listed(of: Weights) -> str:
    """The circuit whose strongest pairs are listed."""
    return of.listed if of.listed in of.models else DIFFERENCE


def looked_up(run: Run, chosen: Selection) -> int | None:
    """The token that is looked up; none where what was typed is not one."""
    try:
        return token_of(run, chosen)
    except HeadlightError:
        return None
