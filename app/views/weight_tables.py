"""What the page *Weights* shows, in columns: tokens by their labels, with what the circuit has there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from app import weights
from app.run import Run
from app.selection.chosen import CircuitKind, Head, Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.steps.chosen import head_of
from app.views.steps.spelled import number
from app.views.tables import Columns
from app.weights import Composed, Ends
from model.analysis.circuits import Directions, Pairs
from model.analysis.composition import Through

SIDES: dict[CircuitKind, tuple[str, str]] = {
    "qk": ("Query tokens", "Key tokens"),
    "ov": ("Source tokens", "Promoted tokens"),
}
TITLES = {
    "query token": "Query token",
    "key token": "Key token",
    "source token": "Source token",
    "promoted token": "Promoted token",
}
VALUES: dict[CircuitKind, str] = {"qk": "Score (nats)", "ov": "Logit"}
LETTERS: dict[Through, str] = {"query": "Q", "key": "K", "value": "V"}
COMPOSITION = "composition − that of random heads"
SIGNS = ("+", "−")


@dataclass(frozen=True, eq=False)
class Weights:
    """One circuit of one head of a run's model."""

    run: Run
    head: Head
    kind: CircuitKind

    @property
    def key(self) -> tuple[str, Head, CircuitKind]:
        """What tells it from every other."""
        return self.run.source.name, self.head, self.kind


def weights_of(shown: Shown, chosen: Selection) -> Weights:
    """The chosen head's circuit in A's model, or in B's where that is another and was chosen."""
    other = shown.b is not None and shown.b.model is not shown.a.model and chosen.side == "b"
    run = shown.b if other and shown.b is not None else shown.a
    return Weights(run, head_of(shown, chosen), chosen.circuit)


def token_of(run: Run, chosen: Selection) -> int | None:
    """The id of the token that is looked up, None where there is none.

    Raises:
        InputError: what was typed is not one token of the model's.
    """
    return run.tokenizer.to_single_token(chosen.circuit_token) if chosen.circuit_token else None


def folded(of: Weights) -> str:
    """What is counted in the reading, and what is not."""
    left_out = "Token embeddings alone: without positions, biases and what earlier layers write"
    if of.run.cfg.normalization_type is None:
        return f"{left_out}. This model has no LayerNorm."
    norms = "the LayerNorm before the head" if of.kind == "qk" else "the LayerNorms before the head and at the end"
    return (
        f"{left_out}, at a LayerNorm scale of 1. For this reading only, the centring and the gain of {norms} are "
        "folded into the weights; the model runs without that."
    )


def pairs_table(run: Run, found: Pairs) -> Columns:
    """One row a pair."""
    unit = found.values.unit
    return {
        TITLES[found.rows.name]: _labels(run, found.rows.values.tolist()),
        TITLES[found.columns.name]: _labels(run, found.columns.values.tolist()),
        VALUES["qk" if unit == "nats" else "ov"]: found.values.values.tolist(),
    }


def partners_tables(of: Weights, token: int) -> dict[str, Columns]:
    """One token's highest and lowest partners, as the row of the circuit and as its column, by what they say."""
    label = _labels(of.run, [token])[0]
    row, column = weights.partners(*of.key, token)
    said = {
        "qk": (f"{label} as query: keys that it scores", f"{label} as key: queries that score it"),
        "ov": (f"{label} attended to: tokens that it moves", f"{label} promoted: tokens that move it"),
    }
    return {text: _ends_table(of, ends) for text, ends in zip(said[of.kind], (row, column), strict=True)}


def _ends_table(of: Weights, ends: Ends) -> Columns:
    columns: Columns = {}
    for title, each in zip(("Highest", "Lowest"), (ends.highest, ends.lowest), strict=True):
        columns[title] = _labels(of.run, each.columns.values.tolist())
        columns[f"{title}: {VALUES[of.kind].lower()}"] = each.values.values.tolist()
    return columns


def directions_table(of: Weights, found: Directions) -> Columns:
    """Two rows a direction, one an end: the tokens there on both sides."""
    rows, columns = SIDES[of.kind]
    table: dict[str, list[Any]] = {"Direction": [], "Strength": [], "Share": [], rows: [], columns: []}
    for place, (strength, share) in enumerate(
        zip(found.strengths.values.tolist(), found.shares.values.tolist(), strict=True)
    ):
        for end, sign in enumerate(SIGNS):
            table["Direction"].append(f"{place + 1} {sign}")
            table["Strength"].append(strength)
            table["Share"].append(share)
            for side, tokens in ((rows, found.rows.tokens), (columns, found.columns.tokens)):
                table[side].append(_labels(of.run, tokens.values[place, end].tolist()))
    return dict(table)


def _labels(run: Run, tokens: list[int]) -> list[str]:
    return run.tokenizer.labels(tokens)


def above_random(found: Composed, through: Through) -> Float[np.ndarray, "layer head"]:
    """Each earlier head's score less the mean of random heads."""
    return (found.scores[through].values - float(found.random[through].mean.values)).numpy()


def farthest(found: Composed) -> float:
    """The largest distance from random heads, on either side, by whichever way of reading."""
    values = np.stack([above_random(found, through) for through in found.scores])
    return float(np.max(np.abs(values), initial=0.0, where=~np.isnan(values)))


def composition_table(found: Composed) -> Columns:
    """One row an earlier head, a column a way of reading, with what random heads score."""
    layers, heads = found.scores["key"].values.shape
    columns: Columns = {"Earlier head": [name((layer, head)) for layer in range(layers) for head in range(heads)]}
    for through, measure in found.scores.items():
        columns[LETTERS[through]] = measure.values.flatten().tolist()
        columns[f"{LETTERS[through]} of random heads"] = [float(found.random[through].mean.values)] * (layers * heads)
    return columns


def spelled_composition(found: Composed, through: Through) -> str:
    """The head that is read most, and what random heads score."""
    values, baseline = found.scores[through].values, found.random[through]
    if values.isnan().all():
        return "No earlier head writes anything, or this one reads nothing."
    best = int(values.nan_to_num(-1).argmax())
    head, score = divmod(best, values.shape[1]), float(values.flatten()[best])
    mean, sd = float(baseline.mean.values), float(baseline.sd.values)
    return f"Most: {name(head)} with {number(score)}. Random heads: {number(mean)} ± {number(sd)} (mean ± sd)."
