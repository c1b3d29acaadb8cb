"""Exports of the page *Weights*: its script, its numbers, and a file of its tables and maps."""

from headlight.app.exports.data import Data, of_sides
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.script import Expression, loading, printing
from headlight.app.pages.weights.analysis import circuit_of
from headlight.app.pages.weights.view import called, composition_map
from headlight.app.pages.weights.weight_tables import (
    Weights,
    above_random,
    compositions_of,
    directions_table,
    farthest,
    folded,
    pairs_table,
    partners_tables,
    strengths_table,
    token_of,
    weights_of,
)
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.run import Run
from headlight.model.weights.head_circuit import THROUGH
from headlight.model.weights.tables import circuit_tables


def script(comparison: Comparison, chosen: Selection) -> str:
    """A script that prints a head's outermost pairs, its singular directions and its composition."""
    weights = weights_of(comparison, chosen)
    token = looked_up(weights.run, chosen)
    options: dict[str, object] = {"head": weights.head, "kind": weights.kind}
    lines = [f"model = {loading(weights.run)}"]
    if weights.compares:
        lines.append(f"model_b = {loading(weights.models['B'])}")
        options |= {"model_b": Expression("model_b"), "listed": listed(weights)}
    options |= {"distance": weights.key.distance} if weights.key.distance else {}
    options |= {} if token is None else {"token": token}
    purpose = f"What the weights of {head_name(weights.head)} do with tokens, by its {weights.kind.upper()} circuit."
    return printing(purpose, {"load"}, lines, "circuit_tables", "model", **options)


def data(comparison: Comparison, chosen: Selection) -> Data:
    """All tables and arrays; pairs that have not been looked for are looked for."""
    weights, token = weights_of(comparison, chosen), looked_up(comparison.a, chosen)
    model_b = weights.models["B"].model if weights.compares else None
    tables = circuit_tables(
        weights.run.model,
        weights.head,
        weights.kind,
        model_b,
        listed(weights),
        token,
        weights.run.host,
        weights.key.distance,
    )
    circuit, composed = circuit_of(weights.key), compositions_of(weights)
    pairs, directions = circuit.pairs(), circuit.directions()
    arrays: dict[str, Measure] = {"strengths": directions.strengths, "shares": directions.shares}
    for end, each in (("highest", pairs.highest), ("lowest", pairs.lowest)):
        arrays |= {f"{end} rows": each.rows, f"{end} columns": each.columns, f"{end} values": each.values}
    for side, vectors in (("row", directions.rows), ("column", directions.columns)):
        arrays |= {f"direction {side} tokens": vectors.tokens, f"direction {side} loads": vectors.loads}
    for through in THROUGH:
        measures = {side: each.scores[through] for side, each in composed.items()}
        called = f"composition by {through}"
        arrays |= of_sides(called, measures) if weights.compares else {called: measures["A"]}
    shows = {
        "head": head_name(weights.head),
        "circuit": {"qk": "QK: rows are query tokens, columns key tokens", "ov": "OV: source, promoted"}[weights.kind],
        "unit": pairs.highest.values.unit,
        "weights of": {side: run.source.name for side, run in weights.models.items()}
        if weights.compares
        else weights.key.model,
        "strongest in": listed(weights),
        "reading": folded(weights),
        "tokens between query and key": weights.key.distance,
        "token looked up": None if token is None else weights.run.tokenizer.labels([token])[0],
    }
    return Data("weights", shows, tables, arrays)


def listed(weights: Weights) -> str:
    """The circuit whose strongest pairs are listed."""
    return weights.listed if weights.listed in weights.models else DIFFERENCE


def looked_up(run: Run, chosen: Selection) -> int | None:
    """Token to look up; None where the typed text is not one token."""
    try:
        return token_of(run, chosen)
    except HeadlightError:
        return None


def drawings(comparison: Comparison, chosen: Selection) -> Drawings:
    """Every pair and every direction in tables, and the maps of earlier heads."""
    weights = weights_of(comparison, chosen)
    pairs, token = circuit_of(weights.key).pairs(), looked_up(weights.run, chosen)
    where = f" in {listed(weights)}" if weights.compares else ""
    directions = directions_table(weights, circuit_of(weights.key).directions())
    tables = {
        f"Highest pairs of all{where}": pairs_table(weights, pairs.highest),
        f"Lowest pairs of all{where}": pairs_table(weights, pairs.lowest),
        **({} if token is None else partners_tables(weights, token)),
        **({"Singular values": strengths_table(weights)} if weights.compares else {}),
    }
    rows = [[table(title, columns)] for title, columns in tables.items()]
    rows.append([table(f"Singular directions{where}", directions, in_picture=True)])
    if weights.head[0]:
        above = above_random(compositions_of(weights))
        limit = farthest(above)
        rows += [
            [Drawing(composition_map(maps[through], called(through, side, weights), limit)) for through in THROUGH]
            for side, maps in above.items()
        ]
    title = f"Weights of {head_name(weights.head)}, {weights.kind.upper()} circuit,"
    return Drawings(title, comparison if weights.compares else Comparison(comparison.a), rows, tokens=False)
