"""The chosen cell of a map: the head or the state of the stream that was patched, and the pages that explain it."""

from dataclasses import dataclass, replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Link, MapCell, Option
from headlight.app.frame.edits import drawer
from headlight.app.pages.patching.choices import Choices
from headlight.app.pages.patching.patches import PatchedMap, axes, measured_at
from headlight.app.parts import options
from headlight.app.parts.labels import number
from headlight.app.selection.chosen import Selection
from headlight.model.patching import PATHS
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import AblateHeads, Head, head_name

HEAD_PAGES = {"attention": "Attention", "inside": "Internals", "why": "Why"}
ABLATE = "Ablates this head in A and shows that as B on every page, in place of prompt B."


@dataclass(frozen=True)
class Subject:
    """Patched part of a cell: a head, or else the stream's state at `depth` (0 is the embedding); and its place."""

    head: Head | None
    depth: int
    place: int


def chosen_cell(patched: PatchedMap) -> MapCell | None:
    """The cell that is chosen, if this map has it."""
    cell = selection.current().choices_of(Choices).patch_cell
    down, across = patched.exact.values.shape
    return MapCell(*cell) if cell and cell[0] < down and cell[1] < across else None


def subject_of(comparison: Comparison, patched: PatchedMap, cell: MapCell) -> Subject:
    """Patched part of a cell of the map."""
    parts = patched.question.parts
    if parts.what == "z" or parts.what in PATHS:
        position = measured_at(comparison, selection.current())[0]
        return Subject((cell.row, cell.column), cell.row, comparison.place_of(comparison.a, position))
    into = comparison.b if patched.question.into == "B" and comparison.b else comparison.a
    place = comparison.place_of(into, cell.column)
    if parts.what == "z_by_position":
        return Subject((parts.layer, cell.row), parts.layer, place)
    return Subject(None, cell.row + (parts.what != "resid_pre"), place)


def draw(comparison: Comparison, patched: PatchedMap) -> None:
    """Draw the chosen cell's share, and links to its part; without a cell, a hint to choose one."""
    cell = chosen_cell(patched)
    if cell is None:
        st.caption("Click a cell, or a row of the largest effects, for links to pages that explain it.")
        return
    subject = subject_of(comparison, patched, cell)
    between = " at " if axes(patched.question)[1] == "position" else ""
    name = f"{patched.exact.rows[cell.row]}{between}{patched.exact.columns[cell.column]}"
    st.text(f"{name}: share {number(float(patched.exact.values[cell]))}")
    links = _of_state(subject) if subject.head is None else _of_head(subject.head, subject.place)
    options.row(*links, name="patched_cell", whole=True)


def _of_head(head: Head, place: int) -> list[Option]:
    links = options.to_head(HEAD_PAGES, head, place)
    return [*links, drawer.ablating("patched_ablate", AblateHeads((head,)), f"{ABLATE} ({head_name(head)})")]


def _of_state(subject: Subject) -> list[Option]:
    """To the pages that read the stream there."""

    def link(slug: str, title: str) -> Link:
        return Link(slug, title, None, lambda _: selection.ask(_at(selection.current(), subject), slug))

    return [link("lens", "Logit lens there"), link("residual", "Residual stream there")]


def _at(now: Selection, subject: Subject) -> Selection:
    return replace(now, layer=subject.depth, position=subject.place)
