"""The circuit of a set as it is drawn: picture, curve, overlaps, and the list of what it is made of."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Link, Table, row_table
from headlight.app.frame import notices, progress
from headlight.app.pages.experiments import circuit, circuit_files
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.circuit import CircuitView
from headlight.app.pages.experiments.experiment import ReadRows
from headlight.app.parts import charts, options, tables
from headlight.app.parts.circuit_scene import LOGITS, METHODS, components
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.runs import circuits, jobs
from headlight.model.circuits.study import UNIT_COLUMNS, CircuitStudy, circuit_study_tables, unit_rows
from headlight.model.circuits.wiring import wiring
from headlight.model.runs.edits import Head

MAX_LISTED = 500  # edges; the csv file has all
KEY = (
    "Wider edges have larger scores, stronger ones are in the circuits of more resamples. Blue edges help the answer, "
    "orange ones work against it. Click a component for its edges and its head."
)
PAGES = {"attention": "Attention", "why": "Why", "inside": "Inside"}


def draw(rows: Mapping[str, ReadRows]) -> None:
    """The work that is left, and the circuit as soon as it is done."""
    view = circuit.view_of(rows, selection.current())
    for slot, note in enumerate(view.notes):
        notices.refused(note, f"circuit_note_{slot}")
    _work(view)
    if view.opened is not None:
        own = selection.current().choices_of(Choices)
        st.caption(plain(f"Results of {own.exp_results}: {METHODS[view.opened.settings.method]}"))
    study = view.known
    if study is None:
        return
    if selection.current().table:
        _say(view, study)
        for name, columns in circuit_study_tables(study).items():
            tables.draw(columns, name)
    else:
        _draw(view, study)
    circuit_files.draw(view, study)


def _say(view: CircuitView, study: CircuitStudy) -> None:
    """The finding, and what it is of."""
    with st.container(key="headlight-finding"):
        st.text(circuit.sentence(study))
    st.caption(plain(circuit.said_of_rows(study, len(view.read.rows.pairs))))


def _work(view: CircuitView) -> None:
    """Do what is missing: at once where that is quick, else on a click, with progress and a stop button."""
    work = jobs.get_jobs("circuits")
    missing = progress.missing(work, view.pieces, circuits.is_done, "circuit")
    progress.bar(work, "batches of rows done", "circuits")
    n_rows = sum(len(piece.numbers) for piece in missing)
    label = f"Score and measure {n_rows:,} row{'' if n_rows == 1 else 's'}" if n_rows else "Resample the rows"
    progress.offer(work, missing, label, "circuits", circuits.seconds(missing))


def _draw(view: CircuitView, study: CircuitStudy) -> None:
    listed, sizes = circuit.edges_of(study)[: circuit.MAX_DRAWN], circuit.sizes_of(study)
    parts = components(listed, study.wires, sizes)

    def chosen(places: list[int]) -> None:
        if places and places[0] < len(parts):
            selection.choose(Choices, exp_circ_node=parts[places[0]])

    if parts:
        plot = circuit.picture(study, view.node)
        charts.choosable(plot, plot.title, "exp_circuit_picture", chosen, is_wide=True)
        st.caption(KEY)
    _say(view, study)
    is_empty = not study.chosen.any()
    if is_empty:
        _offer_larger(study)
    plot = circuit.curve(study)
    charts.alone([[plot]], plot.title, "exp_circuit_curve")
    if (bars := circuit.overlaps(study)) is not None:
        charts.alone([[bars]], bars.title, "exp_circuit_overlaps")
    if not is_empty:
        _parts(view, study)


def _parts(view: CircuitView, study: CircuitStudy) -> None:
    """The list of edges, nodes or neurons, or those of the chosen node with its pages."""
    rows, names = unit_rows(study), UNIT_COLUMNS[study.scores.unit]
    known = {str(cell).partition(".")[0] for row in rows for cell in row[:2] if isinstance(cell, str)}
    node = view.node if view.node in known else ""
    if node:
        rows = [row for row in rows if node in {str(cell).partition(".")[0] for cell in row[:2]}]
    unit = study.scores.unit.capitalize()
    heading(f"{unit} of {node}" if node else f"{unit}, the largest first", "exp_circ_list", key="exp_circuit_list")
    if node:
        clear = options.button("exp_circ_clear", f"All {unit.lower()}", lambda: _choose(""))
        options.row(*_links(view, node), clear, name="exp_circuit_node", whole=True)
    columns = zip(*rows[:MAX_LISTED], strict=True)
    decimals = {"score": 4, "share of resamples": 2}
    place = row_table(
        Table(
            [
                Column(name, list(cells), decimals.get(name), signed=name == "score")
                for name, cells in zip(names, columns, strict=True)
                if any(cell is not None for cell in cells)
            ],
            title=f"{unit} of the circuit",
        ),
        epoch=selection.epoch(view.question, node),
        key=selection.widget_key("exp_circuit_list"),
    )
    if len(rows) > MAX_LISTED:
        st.caption(plain(f"The first {MAX_LISTED:,} of {len(rows):,} are listed; the files have all."))
    if place is not None:
        source, target = (str(cell).partition(".")[0] for cell in (rows[place][0], rows[place][1]))
        _choose(target if source == node and study.scores.unit == "edges" and target != LOGITS else source)
        st.rerun()


def _offer_larger(study: CircuitStudy) -> None:
    """A button for the smallest circuit that has any edges; the one of all edges has some."""
    result = study.evaluation
    share = next(share for share, count in zip(result.shares, result.n_edges, strict=True) if count)
    take = options.button(
        "exp_circ_larger", f"Take {100 * share:g}%", lambda: selection.choose(Choices, exp_circ_share=share)
    )
    options.row(take, name="exp_circuit_larger", whole=True)


def _choose(node: str) -> None:
    selection.choose(Choices, exp_circ_node=node)


def _links(view: CircuitView, node: str) -> list[Link]:
    """Links to the pages of a head, if the node is one."""
    senders = wiring(view.read.run.cfg).senders
    heads = {each.name: (each.layer, each.head) for each in senders if each.layer is not None and each.head is not None}
    return [_link(slug, title, heads[node]) for slug, title in PAGES.items()] if node in heads else []


def _link(slug: str, title: str, head: Head) -> Link:
    def open_page(_: object) -> None:
        now = selection.current()
        selection.ask(replace(now, heads=options.head_first(head, now.heads)), slug)

    return Link(f"exp_circuit_{slug}", title, None, open_page)
