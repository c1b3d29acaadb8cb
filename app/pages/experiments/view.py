"""Experiments: one measure at a time over a set of prompts, with intervals, and the rows behind each cell."""

from collections.abc import Mapping, Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.components import MapCell, cell_map
from headlight.app.frame import notices, progress
from headlight.app.pages.experiments import (
    cell,
    circuit_options,
    circuit_view,
    descriptions,
    measure_options,
    set_table,
    sets,
    writer,
)
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.descriptions import map_of, plot_of, tables_of
from headlight.app.pages.experiments.experiment import (
    Experiment,
    ReadRows,
    metric_of,
    of_results,
    of_rows,
    rows_note,
    rows_of,
)
from headlight.app.parts import charts, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.runs import circuits, experiments, jobs, prompt_sets
from headlight.app.runs.prompt_sets import KnownSet
from headlight.app.server import boundary
from headlight.model.runs.comparison import Comparison

WIDTHS = [2, 3]
AT_ONCE = 10.0  # seconds by estimate: a set that is opened shows something


def render(comparison: Comparison) -> None:
    """The set and the measure in the title's line; under it the set's rows, and what is measured of them."""
    line = title_row("Experiments", "experiments", level=1)
    known = None
    with boundary.guard(lambda reason: notices.refused(reason, "set")):
        known = sets.chosen(comparison)
    with line:
        measure_options.draw(comparison, has_set=known != ())
        sets.uploader()
        writer.draw(comparison.a.source.name, is_first=known == ())
    sets.say_what_went_wrong()
    if known:
        _draw_set(known, comparison)
    elif known is not None:
        _say_what_is_needed(comparison)


def _say_what_is_needed(comparison: Comparison) -> None:
    """What a set is, where none of those on offer fits the model."""
    model = comparison.a.source.short_name
    with st.container(key="headlight-missing"):
        st.info(
            plain(
                f"None of the sets that come with Headlight fits {model}: their answers are no single tokens of its "
                "tokenizer. A set has rows of a prompt and its answer, one token with its space; most measures also "
                "take a wrong answer, and a corrupted prompt of as many tokens. Write a set from a template, or upload "
                "a file."
            )
        )


def _draw_set(known: Sequence[KnownSet], comparison: Comparison) -> None:
    """The rows of the set, and what is measured of them; work that is not done yet goes on."""
    with st.container(key="headlight-set-and-measure"):  # style.css has the measure first where there is one column
        left, right = st.columns(WIDTHS, gap="large")
    rows: dict[str, ReadRows] = {}
    with left, boundary.guard(lambda reason: notices.refused(reason, "set")):
        rows = rows_of(known, comparison, selection.current())
        _set(rows)
    with right, boundary.guard(lambda reason: notices.refused(reason, "experiment")):
        if rows and circuit_options.is_chosen(selection.current().choices_of(Choices)):
            circuit_view.draw(rows)
        elif rows:
            _measure(_experiment(rows, comparison))
    progress.go_on(jobs.get_jobs("set answers"), prompt_sets.do_performance)
    progress.go_on(jobs.get_jobs("experiments"), experiments.do)
    progress.go_on(jobs.get_jobs("circuits"), circuits.do)


def _experiment(rows: Mapping[str, ReadRows], comparison: Comparison) -> Experiment:
    """What the command has written into a folder that is open, or what is measured here."""
    now = selection.current()
    folder = now.choices_of(Choices).exp_results
    if not folder:
        return of_rows(rows, comparison, now)
    results = experiments.results(folder)
    experiment = of_results(results, rows, now)
    n_done = len(results.measurement.rows)
    st.caption(plain(f"Results of {folder}: {results.model_name}, {n_done:,} of {results.n_rows:,} rows measured"))
    return experiment


def _set(sides: Mapping[str, ReadRows]) -> None:
    """Each side's rows, with the model's answers to them as far as they are known."""
    _answer(sides)
    for place, (side, read) in enumerate(sides.items()):
        title, about = sets.title_of(read.rows.read.known)
        heading(f"{side}: {title}" if side else title, "prompt_set", more=about, key=f"set{side}")
        st.caption(plain(set_table.said(read.rows)))
        for slot, note in enumerate(read.rows.tokens.notes):
            notices.refused(note, f"set_note{side}{slot}")
        if fails := set_table.failure(read.rows):
            notices.refused(fails, f"set_fails{side}")
        if place == 0:
            set_table.filters()
        set_table.draw(read.rows, read.run, side)


def _answer(sides: Mapping[str, ReadRows]) -> None:
    """Ask the models for their answers: at once where that is quick, else on a click."""
    work, metric = jobs.get_jobs("set answers"), metric_of(selection.current())
    sets_read = [read.rows.read for read in sides.values()]
    pieces = [piece for read in sets_read for piece in prompt_sets.performance_pieces(read, metric)]
    missing = progress.missing(work, pieces, prompt_sets.is_performed, "answers")
    progress.bar(work, "batches of rows answered", "answers")
    n_rows = sum(len(piece.numbers) for piece in missing)
    seconds = sum(prompt_sets.seconds_of_pieces([each for each in missing if each.read == read]) for read in sets_read)
    if progress.offer(work, missing, f"Ask the model for {n_rows:,} answers", "answers", seconds, AT_ONCE):
        st.rerun()


def _measure(experiment: Experiment) -> None:
    _work(experiment)
    if not experiment.is_measured:
        return
    if selection.current().table:
        _say(experiment)
        for name, columns in tables_of(experiment).items():
            tables.draw(columns, name)
        return
    _draw(experiment)
    _say(experiment)
    cell.draw(experiment)


def _say(experiment: Experiment) -> None:
    """The findings, and what the means are over."""
    with st.container(key="headlight-finding"):
        st.text("\n".join(descriptions.findings(experiment)))
    for name, side in experiment.sides.items():
        if line := rows_note(side, experiment.settings):
            st.caption(plain(f"{name}: {line}" if name else line))


def _work(experiment: Experiment) -> None:
    """Measure what is missing: at once where that is quick, else on a click, with progress and a stop button."""
    work = jobs.get_jobs("experiments")
    pieces = [piece for side in experiment.sides.values() for piece in side.pieces]
    missing = progress.missing(work, pieces, experiments.is_done, "measuring")
    progress.bar(work, "batches of rows measured", "experiments")
    n_rows = sum(len(piece.numbers) for piece in missing)
    label = f"Measure {n_rows:,} row{'' if n_rows == 1 else 's'}"
    progress.offer(work, missing, label, "experiments", experiments.seconds(missing), AT_ONCE)


def _draw(experiment: Experiment) -> None:
    """Each side's means as a map or as points; a cell is chosen by a click."""
    if places := list(measure_options.place_of_map(experiment)):
        options.row(*places, name="exp_places", whole=True)
    assert experiment.laid is not None  # it is measured
    if experiment.laid.rows is None:
        charts.choosable(
            plot_of(experiment), plot_of(experiment).title, "experiment_plot", lambda places: _choose((0, *places[:1]))
        )
        return
    before = experiment.cell
    for name in experiment.summaries:
        chosen = cell_map(
            map_of(experiment, name),
            choosable=True,
            chosen=None if before is None else MapCell(*before),
            epoch=selection.epoch(experiment.first.rows.read, experiment.settings),
            group="experiment",
            key=selection.widget_key(f"experiment{name}"),
        )
        if chosen is not None and tuple(chosen) != before:
            _choose(tuple(chosen))
            st.rerun()


def _choose(chosen: tuple[int, ...]) -> None:
    if len(chosen) == 2:
        selection.choose(Choices, exp_cell=chosen)
