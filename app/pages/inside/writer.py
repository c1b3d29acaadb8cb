"""Notation of a head's steps: formulas and matrices, with one token a row or one token a column."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from headlight.app.components import HeadStep, StepMatrix
from headlight.app.components.head_steps import Axis, Term
from headlight.app.glossary import TERMS
from headlight.app.pages.inside import spelled
from headlight.app.pages.inside.choices import Convention, Inside
from headlight.model.runs.linear import BiasName

Projection = Literal["Q", "K", "V"]
BIASES: dict[Projection, BiasName] = {"Q": "b_Q", "K": "b_K", "V": "b_V"}


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes equations about one run's head in one convention."""

    at: Inside
    convention: Convention

    def step(
        self, title: str, term: str, formula: tuple[str, str], note: str, *equations: tuple[Term, ...]
    ) -> HeadStep:
        """A step whose numbers `spelled` has under its term; `formula` is for rows and for columns."""
        chosen = formula[self.convention == "column"]
        return HeadStep(title, term, TERMS[term], chosen, note, equations, tuple(SPELLED[term](self.at)))

    def line(self, *terms: Term) -> tuple[Term, ...]:
        """Element by element: in either convention in the same order."""
        if self.convention == "row":
            return terms
        return tuple(replace(term.turned, name=term.name) if isinstance(term, StepMatrix) else term for term in terms)

    def product(self, left: StepMatrix, right: StepMatrix, *rest: Term) -> tuple[Term, ...]:
        """Product of matrices and the rest of its line."""
        if self.convention == "row":
            return left, "·", right, *rest
        return right.turned, "·", left.turned, *self.line(*rest)

    def projection(self, name: str, read: str, letter: Projection) -> tuple[str, str]:
        """Projection of the input to queries, keys or values: in rows, and in columns."""
        bias = f" + {BIASES[letter]}" if self.at.has_bias(BIASES[letter]) else ""
        return f"{name} = {read} W_{letter}{bias}", f"{name} = W_{letter}ᵀ {read}{bias}"

    def bias(self, letter: Projection, columns: Axis, values: Float[np.ndarray, " column"]) -> tuple[Term, ...]:
        """Term of a projection's bias in its equation; empty where the model has none."""
        return ("+", row(BIASES[letter], columns, values, "one")) if self.at.has_bias(BIASES[letter]) else ()


SPELLED = {
    "residual": spelled.stream,
    "layer_norm": spelled.norm,
    "rms_norm": spelled.norm,
    "query": spelled.query,
    "key": spelled.key,
    "compared": spelled.compared,
    "dot_product": spelled.dots,
    "attn_scale": spelled.scale,
    "position_bias": spelled.bias,
    "soft_cap": spelled.cap,
    "mask": spelled.mask,
    "softmax": spelled.softmax,
    "value": spelled.value,
    "weighted_sum": spelled.weighted,
    "head_output": spelled.output,
}


def row(
    name: str, columns: Axis, values: Float[np.ndarray, " column"], rows: Axis = "query", cells: bool = False
) -> StepMatrix:
    """A vector as a matrix of one row."""
    return StepMatrix(name, rows, columns, values[None], cells)


def scalar(name: str, value: float) -> StepMatrix:
    """A number as a matrix of one cell."""
    return StepMatrix(name, "one", "one", np.array([[value]], np.float32), cells=True)
