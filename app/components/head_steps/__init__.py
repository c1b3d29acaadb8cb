"""The steps of one head: equations of matrices with their formulas and shapes, and one number followed through them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from headlight.app.components.shared.mount import component_value, mount, register

_render = register(__file__)

Axis = Literal["one", "query", "token", "key", "d_model", "d_head", "d_value"]
OF_TOKENS: tuple[Axis, ...] = (
    "token",
    "key",
)  # the same tokens: of the first the query is marked, of the other the key


@dataclass(frozen=True, eq=False)
class StepMatrix:
    """Named matrix, one token a row, with the meaning of its rows and columns.

    `cells` asks for its numbers to be written, where there are few. `transposed` is its name as a factor of the
    product that has its factors the other way round.
    """

    name: str
    rows: Axis
    columns: Axis
    values: Float[np.ndarray, "row column"]
    cells: bool = False
    transposed: str = ""

    @property
    def turned(self) -> "StepMatrix":
        """The matrix transposed: one token a column."""
        name = self.transposed or self.name
        return replace(self, name=name, rows=self.columns, columns=self.rows, values=self.values.T)


Term = StepMatrix | str


@dataclass(frozen=True, eq=False)
class HeadStep:
    """One step: its formula, its purpose, its equations, and the followed number's arithmetic, line by line.

    `term` names it in the glossary, whose entry is `help`.
    """

    title: str
    term: str
    help: str
    formula: str
    note: str
    equations: tuple[tuple[Term, ...], ...]
    spelled: tuple[str, ...]


@dataclass(frozen=True)
class StepKeys:
    """The keys that the matrices hold: place on the page's axis and label of each, and of how many they are taken.

    `query` is the place of the query, which is one of them.
    """

    places: Sequence[int]
    labels: Sequence[str]
    n_keys: int
    query: int


class Followed(NamedTuple):
    """The number that is followed: the place of a key, and a component of q, k, v and z."""

    key: int
    component: int


def followed(before: Followed, epoch: int, key: str) -> Followed:
    """The last click in the component if it is newer than `before`."""
    return Followed(*component_value(key, epoch, before))


@dataclass(frozen=True, eq=False)
class HeadSteps:
    """All steps, one under the other; `entry` is the entry of the stream that is marked.

    Where nobody hears a click, as in a file, `spelled` has each step's lines for the keys, by their places, that can be
    followed, and the component stays.
    """

    steps: Sequence[HeadStep]
    keys: StepKeys
    title: str
    entry: int | None
    spelled: Mapping[int, Sequence[Sequence[str]]] | None = None


def head_steps(drawn: HeadSteps, *, value: Followed, epoch: int, key: str) -> None:
    """Show the steps; a click on a key or a component follows that one, as `followed` then says."""
    arrays: dict[str, np.ndarray] = {}
    mount(
        _render,
        key=key,
        props={
            "title": drawn.title,
            "steps": [_props(step, drawn.keys, arrays) for step in drawn.steps],
            "places": list(drawn.keys.places),
            "labels": list(drawn.keys.labels),
            "query": drawn.keys.query,
            "entry": drawn.entry,
            "spelled": drawn.spelled and {str(at): list(map(list, lines)) for at, lines in drawn.spelled.items()},
        },
        arrays=arrays,
        value=list(value),
        epoch=epoch,
    )


def _props(step: HeadStep, keys: StepKeys, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A step without its numbers, which are put among the arrays."""
    equations = [[_term(term, keys, arrays) for term in equation] for equation in step.equations]
    return {**vars(step), "equations": equations}


def _term(term: Term, keys: StepKeys, arrays: dict[str, np.ndarray]) -> str | Mapping[str, Any]:
    if isinstance(term, str):
        return term
    name = f"matrix{len(arrays)}"
    arrays[name] = np.ascontiguousarray(term.values, np.float32)
    sizes = zip((term.rows, term.columns), term.values.shape, strict=True)
    shape = " × ".join(_size(size, keys.n_keys if axis in OF_TOKENS else size) for axis, size in sizes)
    about = {"name": term.name, "rows": term.rows, "columns": term.columns, "cells": term.cells}
    return {**about, "shape": shape, "array": name}


def _size(drawn: int, whole: int) -> str:
    """The length of an axis, of which a part may be drawn."""
    return f"{whole:,}" if drawn == whole else f"{drawn:,} of {whole:,}"
