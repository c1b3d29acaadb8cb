"""A head's weights in tables: its circuit's outermost pairs, one token's partners, singular directions, composition."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from headlight.model.base.errors import InputError
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.run import tokenizer_of
from headlight.model.runs.tables import Rows, Table, Tables, columns, number
from headlight.model.weights.composition import Through
from headlight.model.weights.head_circuit import THROUGH, CircuitKind, Composed, HeadCircuit, compositions
from headlight.model.weights.pair_search import Ends
from headlight.model.weights.qk_ov_circuits import Directions, Pairs

ENDS = ("highest", "lowest")
PAIRS = ("end", "row token id", "row token", "column token id", "column token")
PARTNERS = ("looked up as", "end", "partner's token id", "partner")
DIRECTIONS = ("direction", "strength", "share", "side", "end", "token id", "token", "load")
STRENGTHS = ("of", "direction", "strength")
COMPOSITION = ("read by", "earlier head")


def circuit_tables(
    model: Transformer,
    head: Head,
    kind: CircuitKind = "qk",
    model_b: Transformer | None = None,
    listed: str = DIFFERENCE,
    token: int | None = None,
    host: Host = HERE,
    distance: int = 0,
) -> Tables:
    """Tabulate a head's QK or OV circuit over the vocabulary: extreme token pairs, singular directions, scores.

    Args:
        model: model A.
        head: (layer, head).
        kind: "qk" or "ov".
        model_b: model B to compare with.
        listed: whose pairs and directions are listed: "A", "B" or their difference.
        token: token id to look up as the circuit's row and as its column.
        host: runs the search and may cache results.
        distance: with rotary positions, how many tokens the key is before the query in a QK circuit.

    Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".

    Raises:
        InputError: `listed` is none of these.
    """
    models = {"A": model} if model_b is None else {"A": model, "B": model_b}
    made = {side: HeadCircuit(each, head, kind, host=host, distance=distance) for side, each in models.items()}
    if model_b is not None:
        made[DIFFERENCE] = HeadCircuit(model_b, head, kind, model, host, distance)
    which = listed if len(made) > 1 else "A"
    if which not in made:
        raise InputError(f"There is no “{listed}” to list: it can be {', '.join(made)}.")
    tables = {
        "pairs": _pairs_table(made, made[which].pairs()),
        "directions": _directions_table(made[which], made[which].directions()),
        "composition": _composition_table({side: compositions(each, head, host) for side, each in models.items()}),
    }
    if len(made) > 1:
        tables["strengths"] = _strengths_table(made)
    if token is not None:
        tables["token"] = _partners_table(made, made[which].partners(token))
    return tables


def _labels(circuit: HeadCircuit, tokens: Sequence[int]) -> list[str]:
    return tokenizer_of(circuit.model).labels(tokens)


def _values(made: Mapping[str, HeadCircuit], pairs: Pairs) -> list[list[float]]:
    """Each circuit's entries at pairs of tokens, one column per circuit."""
    if len(made) == 1:
        return [pairs.values.values.tolist()]
    return [each.entries(pairs).values.tolist() for each in made.values()]


def _values_heading(made: Mapping[str, HeadCircuit]) -> tuple[str, ...]:
    return tuple(made) if len(made) > 1 else ("value",)


def _ends(ends: Ends) -> Iterator[tuple[str, Pairs]]:
    return zip(ENDS, (ends.highest, ends.lowest), strict=True)


def _pairs_table(made: Mapping[str, HeadCircuit], ends: Ends) -> Table:
    """One row a pair, the outermost first."""
    rows = Rows()
    for end, pairs in _ends(ends):
        row_ids, column_ids = (each.values.tolist() for each in (pairs.rows, pairs.columns))
        row_labels, column_labels = (_labels(made["A"], ids) for ids in (row_ids, column_ids))
        cells = zip(row_ids, row_labels, column_ids, column_labels, *_values(made, pairs), strict=True)
        rows += [(end, *each) for each in cells]
    return columns((*PAIRS, *_values_heading(made)), rows)


def _partners_table(made: Mapping[str, HeadCircuit], both: tuple[Ends, Ends]) -> Table:
    """One row a partner of the token that is looked up, as the circuit's row and as its column."""
    rows = Rows()
    for side, ends in zip(("row", "column"), both, strict=True):
        for end, partners in _ends(ends):
            ids, own = partners.columns.values.tolist(), partners if side == "row" else partners.turned
            cells = zip(ids, _labels(made["A"], ids), *_values(made, own), strict=True)
            rows += [(side, end, *each) for each in cells]
    return columns((*PARTNERS, *_values_heading(made)), rows)


def _strengths_table(made: Mapping[str, HeadCircuit]) -> Table:
    rows = Rows()
    for side, each in made.items():
        strengths = each.directions().strengths.values.tolist()
        rows += [(side, place + 1, strength) for place, strength in enumerate(strengths)]
    return columns(STRENGTHS, rows)


def _directions_table(circuit: HeadCircuit, directions: Directions) -> Table:
    """One row a token at an end of a direction, on the side of the circuit's rows or of its columns."""
    rows = Rows()
    measures = zip(directions.strengths.values.tolist(), directions.shares.values.tolist(), strict=True)
    for place, (strength, share) in enumerate(measures):
        for side, stand in (("row", directions.rows), ("column", directions.columns)):
            for end, sign in enumerate("+-"):
                ids, loads = (each.values[place, end].tolist() for each in (stand.tokens, stand.loads))
                for cells in zip(ids, _labels(circuit, ids), loads, strict=True):
                    rows.append((place + 1, strength, number(share), side, sign, *cells))
    return columns(DIRECTIONS, rows)


def _composition_table(composed: Mapping[str, Composed]) -> Table:
    """One row an earlier head that all models have."""
    rows = Rows()
    shapes = [each.scores["key"].values.shape for each in composed.values()]
    layers, heads = map(min, zip(*shapes, strict=True))
    for through, layer, head in product(THROUGH, range(layers), range(heads)):
        cells = [cell for each in composed.values() for cell in _scores(each, through, layer, head)]
        rows.append((through, head_name((layer, head)), *cells))
    score_columns = ("score", "random heads, mean", "random heads, sd")
    scores = (
        score_columns
        if len(composed) == 1
        else tuple(f"{what} in {side}" for side, what in product("AB", score_columns))
    )
    return columns((*COMPOSITION, *scores), rows)


def _scores(composed: Composed, through: Through, layer: int, head: int) -> tuple[float | None, ...]:
    random = composed.random[through]
    score = float(composed.scores[through].values[layer, head])
    return number(score), float(random.mean.values), float(random.sd.values)
