"""The scores by which heads are sorted, listed and compared: one number a head."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from headlight.model.attention import fields
from headlight.model.attention.axis import Axis
from headlight.model.attention.sinks import sinks_of
from headlight.model.attention.tables import SCORES as TITLES
from headlight.model.runs.comparison import Comparison


@dataclass(frozen=True)
class Score:
    """Name of a score, its entry in the glossary, and whether it needs a run B."""

    title: str
    term: str
    needs_b: bool = False


TERMS = {"largest_write": "value_weighted"}  # those whose entry has another name
SCORES = {
    "divergence": Score("JS(A, B) (nats)", "divergence", needs_b=True),
    **{name: Score(title, TERMS.get(name, name)) for name, title in TITLES.items()},
}


def offered(comparison: Comparison) -> dict[str, Score]:
    """The scores that these runs have; on other sinks only where one of the runs has a sink in mid-prompt."""
    lacking = () if any(map(sinks_of, comparison.runs)) else ("other_sinks",)
    compares = comparison.b is not None
    return {name: each for name, each in SCORES.items() if each.needs_b <= compares and name not in lacking}


def score(comparison: Comparison, name: str, axis: Axis) -> Float[np.ndarray, "layer head"]:
    """Each head's score in A, or between A and B, for the layers and heads that both have."""
    if name == "divergence":
        return comparison.keep(("divergence", axis.labels), lambda: fields.divergence(comparison, axis).values.numpy())
    return fields.head_scores(comparison.a, name).numpy()[: comparison.n_layers, : comparison.n_heads]
