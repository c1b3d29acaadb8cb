"""The scores by which heads are sorted, listed and compared: one number a head."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from app import fields, runs
from app import shown as pages
from app.axis import Axis
from app.run import Run
from app.selection.chosen import Head
from app.shown import Shown


@dataclass(frozen=True)
class Score:
    """What a score is called, the glossary's entry for it, and whether it needs a run B."""

    title: str
    term: str
    needs_b: bool = False


SCORES = {
    "divergence": Score("A and B apart (nats)", "divergence", needs_b=True),
    "entropy": Score("Entropy (nats)", "entropy"),
    "mean_distance": Score("Distance (tokens)", "mean_distance"),
    "previous_token": Score("Previous token", "previous_token"),
    "induction": Score("Induction", "induction"),
    "duplicate_token": Score("Same token", "duplicate_token"),
    "first_token": Score("First token", "first_token"),
    "current_token": Score("Current token", "current_token"),
    "largest_write": Score("Largest write (norm)", "value_weighted"),
}


def score(shown: Shown, name: str, axis: Axis) -> Float[np.ndarray, "layer head"]:
    """Each head's score in A, or between A and B, for the layers and heads that both have."""
    if name == "divergence":
        return pages.kept(shown, ("divergence", axis.labels), lambda: fields.divergence(shown, axis).values.numpy())
    return of_run(shown.a, name)[: shown.n_layers, : shown.n_heads]


def of_run(run: Run, name: str) -> Float[np.ndarray, "layer head"]:
    """Each head's score in one run."""
    if name in run.scores:
        return run.scores[name].values.numpy()
    layers, heads = range(run.cfg.n_layers), range(run.cfg.n_heads)
    return np.array([[of_head(run, name, (layer, head)) for head in heads] for layer in layers], np.float32)


def of_head(run: Run, name: str, head: Head) -> float:
    """One head's score in one run; the largest write takes its pattern, so it is computed for the heads asked for."""
    if name in run.scores:
        return float(run.scores[name].values[head])
    return runs.kept(run, (name, head), lambda: fields.largest_write(run, head))
