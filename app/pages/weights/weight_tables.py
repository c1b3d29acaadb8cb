"""Tables of the page *Weights*: tokens by their labels, with their values in the circuit."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from headlight.app.pages.weights import analysis
from headlight.app.pages.weights.analysis import circuit_of
from headlight.app.pages.weights.choices import Choices
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.sides import DIFFERENCE, SIDES, compared
from headlight.app.parts.tables import Columns
from headlight.app.selection.chosen import Selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.linear import has_any_bias
from headlight.model.runs.run import Run
from headlight.model.weights.composition import Through
from headlight.model.weights.head_circuit import CircuitKind, Composed, compositions
from headlight.model.weights.pair_search import Ends
from headlight.model.weights.qk_ov_circuits import Directions, Pairs

AXES: dict[CircuitKind, tuple[str, str]] = {
    "qk": ("Query tokens", "Key tokens"),
    "ov": ("Source tokens", "Promoted tokens"),
}
VALUES: dict[CircuitKind, str] = {"qk": "Score", "ov": "Logit"}
LETTERS: dict[Through, str] = {"query": "Q", "key": "K", "value": "V"}
COMPOSITION = "composition − that of random heads"
SIGNS = ("+", "−")


@dataclass(frozen=True, eq=False)
class Weights:
    """One circuit of one head: of A's model, or of two models that are compared; `listed` is whose tokens are listed.

    `models` are the runs by the names of their models on the page, and `circuits` the keys: A's, or A's and
    B's and B − A.
    """

    models: dict[str, Run]
    circuits: dict[str, analysis.CircuitKey]
    listed: str

    @property
    def run(self) -> Run:
        """The run by whose tokenizer ids are read, which is that of all."""
        return self.models["A"]

    @property
    def key(self) -> analysis.CircuitKey:
        """The circuit whose tokens are listed."""
        return self.circuits[self.listed]

    @property
    def head(self) -> Head:
        """The head."""
        return self.key.head

    @property
    def kind(self) -> CircuitKind:
        """Kind of circuit."""
        return self.key.kind

    @property
    def compares(self) -> bool:
        """Whether there are two models."""
        return len(self.models) > 1


def weights_of(comparison: Comparison, chosen: Selection) -> Weights:
    """The chosen head's circuit in A's model, beside B's where that is another."""
    two = comparison.b is not None and not comparison.b.same_model(comparison.a)
    sides = comparison.sides if two else {"A": comparison.a}
    head, kind = head_of(comparison, chosen), chosen.choices_of(Choices).circuit
    apart = (
        chosen.choices_of(Choices).distance if kind == "qk" and any(turns(run, head) for run in sides.values()) else 0
    )
    circuits = {side: analysis.CircuitKey(run.source.name, head, kind, distance=apart) for side, run in sides.items()}
    if two:
        circuits[DIFFERENCE] = analysis.CircuitKey(circuits["B"].model, head, kind, circuits["A"].model, apart)
    return Weights(sides, circuits, SIDES[chosen.side or "difference"] if two else "A")


def turns(run: Run, head: Head) -> bool:
    """Whether rotary positions turn a head's queries and keys, so that its QK circuit depends on their distance."""
    cfg = run.cfg
    return cfg.positional_embedding_type == "rotary" and head[0] not in cfg.no_rope_layers


def unchanged(comparison: Comparison) -> str:
    """Why B's weights are left out, where B is a run of the same model."""
    if comparison.b is None or not comparison.b.same_model(comparison.a):
        return ""
    if comparison.b.edits:
        return "Edits change a run, not the weights: A and B have the same weights, ablated heads included."
    return "Weights do not depend on the prompt: A and B are the same model."


def token_of(run: Run, chosen: Selection) -> int | None:
    """The id of the token that is looked up, None where there is none.

    Raises:
        InputError: what was typed is not one token of the model's.
    """
    typed = chosen.choices_of(Choices).circuit_token
    return run.tokenizer.to_single_token(typed) if typed else None


def folded(weights: Weights) -> str:
    """Say which parts of the model are included in the read-out, and which are not."""
    has_bias = any(has_any_bias(run.model) for run in weights.models.values())
    biases = ", biases and" if has_bias else " and"
    left_out = f"Token embeddings alone: without positions{biases} what earlier layers write"
    if weights.kind == "qk" and any(turns(run, weights.head) for run in weights.models.values()):
        apart = f"{weights.key.distance} token{'' if weights.key.distance == 1 else 's'}"
        biases = "biases and " if has_bias else ""
        left_out = f"Token embeddings alone, keys {apart} before their query: without {biases}earlier layers"
    with_norm = [side for side, run in weights.models.items() if run.cfg.normalization_type is not None]
    if not with_norm:
        return f"{left_out}. {'These models have' if weights.compares else 'This model has'} no norms."
    layer_norm = all((run.cfg.normalization_type or "LN").startswith("LN") for run in weights.models.values())
    norm = "LayerNorm" if layer_norm else "norm"
    norms = f"the {norm} before the head" if weights.kind == "qk" else f"the {norm}s before the head and at the end"
    folded_in = "the centring and the gain" if layer_norm else "gains, and centring where there is any,"
    where = "the model runs" if not weights.compares else "the models run"
    only_one = "" if len(with_norm) == len(weights.models) else f" ({with_norm[0]} alone has them)"
    return (
        f"{left_out}, at a {norm} scale of 1. For this reading only, {folded_in} of {norms} are "
        f"folded into the weights{only_one}; {where} without that."
    )


def pairs_table(weights: Weights, pairs: Pairs) -> Columns:
    """One row a pair, with its entry in each of the circuits."""
    return {
        pairs.rows.name.capitalize(): weights.run.tokenizer.labels(pairs.rows.values.tolist()),
        pairs.columns.name.capitalize(): weights.run.tokenizer.labels(pairs.columns.values.tolist()),
    } | _values(weights, pairs)


def _values(weights: Weights, pairs: Pairs) -> Columns:
    """Their entries: in the one circuit, or in A's, B's and their difference."""
    if not weights.compares:
        return {VALUES[weights.kind]: pairs.values.values.tolist()}
    return {side: circuit_of(circuit).entries(pairs).values.tolist() for side, circuit in weights.circuits.items()}


def partners_tables(weights: Weights, token: int) -> dict[str, Columns]:
    """Highest and lowest partners of one token, as a row and as a column of the circuit."""
    label = weights.run.tokenizer.labels([token])[0]
    row, column = circuit_of(weights.key).partners(token)
    said = {
        "qk": (f"{label} as query: keys that it scores", f"{label} as key: queries that score it"),
        "ov": (f"{label} attended to: tokens that it moves", f"{label} promoted: tokens that move it"),
    }
    first, second = said[weights.kind]
    if weights.compares:
        return {first: _compared(weights, row), second: _compared(weights, column, turned=True)}
    return {first: _ends_table(weights, row), second: _ends_table(weights, column)}


def _ends_table(weights: Weights, ends: Ends) -> Columns:
    columns: Columns = {}
    for title, each in zip(("Highest", "Lowest"), (ends.highest, ends.lowest), strict=True):
        columns[title] = weights.run.tokenizer.labels(each.columns.values.tolist())
        columns[f"{title}: {VALUES[weights.kind].lower()}"] = each.values.values.tolist()
    return columns


def _compared(weights: Weights, ends: Ends, turned: bool = False) -> Columns:
    """The highest partners, and under them the lowest, with their entries in each circuit."""
    columns: dict[str, list[Any]] = {"End": [], "Token": []} | {side: [] for side in weights.circuits}
    for title, each in (("highest", ends.highest), ("lowest", ends.lowest)):
        columns["End"] += [title] * len(each.values.values)
        columns["Token"] += weights.run.tokenizer.labels(each.columns.values.tolist())
        for side, values in _values(weights, each.turned if turned else each).items():
            columns[side] += values
    return dict(columns)


def strengths_table(weights: Weights) -> Columns:
    """The strongest singular values of each circuit, one row a place in their order."""
    strengths = {
        side: circuit_of(circuit).directions().strengths.values.tolist() for side, circuit in weights.circuits.items()
    }
    n = max(map(len, strengths.values()))
    filled = {side: [*values, *[float("nan")] * (n - len(values))] for side, values in strengths.items()}
    return {"Direction": list(range(1, n + 1)), **filled}


def directions_table(weights: Weights, directions: Directions) -> Columns:
    """Two rows a direction, one an end: the tokens there on both sides."""
    rows, columns = AXES[weights.kind]
    table: dict[str, list[Any]] = {"Direction": [], "Strength": [], "Share": [], rows: [], columns: []}
    for place, (strength, share) in enumerate(
        zip(directions.strengths.values.tolist(), directions.shares.values.tolist(), strict=True)
    ):
        for end, sign in enumerate(SIGNS):
            table["Direction"].append(f"{place + 1} {sign}")
            table["Strength"].append(strength)
            table["Share"].append(share)
            for side, tokens in ((rows, directions.rows.tokens), (columns, directions.columns.tokens)):
                table[side].append(weights.run.tokenizer.labels(tokens.values[place, end].tolist()))
    return dict(table)


Compositions = dict[str, dict[Through, Float[np.ndarray, "layer head"]]]


def compositions_of(weights: Weights) -> dict[str, Composed]:
    """The head's composition with earlier heads in each model."""
    return {side: compositions(run.model, weights.head, run.host) for side, run in weights.models.items()}


def above_random(composition: dict[str, Composed]) -> Compositions:
    """Each earlier head's score less the mean of random heads, by model and way of reading; with two models B − A."""
    return compared(composition, lambda composed: {through: _above(composed, through) for through in composed.scores})


def _above(composition: Composed, through: Through) -> Float[np.ndarray, "layer head"]:
    return (composition.scores[through].values - float(composition.random[through].mean.values)).numpy()


def farthest(above: Compositions) -> float:
    """The largest distance from random heads, on either side, in any map."""
    every = [np.abs(values).ravel() for maps in above.values() for values in maps.values()]
    return float(np.nanmax(np.concatenate([*every, [0.0]])))


def composition_table(composition: dict[str, Composed]) -> Columns:
    """Row for each earlier head, column for each way of reading, with random heads' scores; of two models both."""
    shapes = [composed.scores["key"].values.shape for composed in composition.values()]
    layers, heads = map(min, zip(*shapes, strict=True))
    columns: Columns = {"Earlier head": [head_name((layer, head)) for layer in range(layers) for head in range(heads)]}
    for through, letter in LETTERS.items():
        for side, composed in composition.items():
            called = letter if len(composition) == 1 else f"{letter} in {side}"
            columns[called] = composed.scores[through].values[:layers, :heads].flatten().tolist()
            columns[f"{called} of random heads"] = [float(composed.random[through].mean.values)] * (layers * heads)
    return columns


def spelled_composition(composition: Composed, through: Through) -> str:
    """Sentence on the head with the largest composition, and random heads' scores."""
    values, baseline = composition.scores[through].values, composition.random[through]
    if values.isnan().all():
        return "The circuits of this head or of all earlier heads are zero."
    best = int(values.nan_to_num(-1).argmax())
    head, score = divmod(best, values.shape[1]), float(values.flatten()[best])
    mean, sd = float(baseline.mean.values), float(baseline.sd.values)
    digits = max(3, -math.floor(math.log10(sd))) if sd > 0 else 3  # a spread that is not zero does not read as zero
    return f"Most: {head_name(head)} with {score:.3f}. Random heads: {mean:.{digits}f} ± {sd:.{digits}f} (mean ± sd)."
