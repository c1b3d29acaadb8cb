"""What is taken along of the circuit of a set: its script, its numbers, and a file of its pictures and tables."""

from collections.abc import Sequence
from functools import partial

import torch

from headlight.app.exports.data import Count, Data
from headlight.app.exports.drawings import Drawing, Drawings, table
from headlight.app.exports.export import Export
from headlight.app.exports.script import Expression, call, loading, printing
from headlight.app.pages.experiments import circuit
from headlight.app.pages.experiments.circuit import CircuitView
from headlight.app.pages.experiments.experiment import rows_of
from headlight.app.runs import comparisons, prompt_sets
from headlight.app.runs.circuits import CircuitQuestion
from headlight.app.runs.prompt_sets import KnownSet
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.circuits.study import CircuitStudy, circuit_study_tables
from headlight.model.circuits.units import AXES
from headlight.model.measure import Measure, Unit
from headlight.model.runs.comparison import Comparison

PURPOSE = "The circuit of a set of prompts: scored, measured on held-out rows, and resampled."
MAX_LISTED = 500  # edges in the html file; the csv file has all


def export(known: Sequence[KnownSet], chosen: Selection) -> Export | None:
    """The files of the circuit, once it is done; they are made later, outside the session."""
    try:
        view = circuit.view_of(rows_of(known, comparisons.for_selection(chosen), chosen), chosen)
        if view.known is None:
            return None
    except HeadlightError:
        return None
    return Export("circuit", partial(script, view), partial(data, view), partial(drawings, view), has_plots=True)


def script(view: CircuitView, comparison: Comparison, chosen: Selection) -> str:
    """A script that scores the same circuit and prints its tables."""
    names = {"load", "study_circuit", "CircuitSettings"}
    sources = {run.source.name: run for run in comparison.runs}
    models: dict[str, str] = {}
    sets: dict[str, str] = {}
    lines = list[str]()

    def studied(question: CircuitQuestion) -> str:
        nonlocal names
        name, known = question.read.model, question.read.known
        if name not in models:
            models[name] = "model_b" if models else "model"
            lines.append(f"{models[name]} = {loading(sources[name])}")
        if known.digest not in sets:
            sets[known.digest] = "prompt_set_b" if sets else "prompt_set"
            names |= prompt_sets.names_in_script(known)
            lines.append(f"{sets[known.digest]} = {prompt_sets.in_script(known)}")
        arguments = models[name], sets[known.digest], repr(question.settings), repr(question.read.bos)
        return call("study_circuit", *arguments)

    own = studied(view.question)
    others = {name: Expression(f"{studied(question)}.mask.edges") for name, question in view.others.items()}
    opened = {name: Expression(f"read_circuit({name!r}, model.cfg).edges") for name in view.files}
    names |= {"read_circuit"} if opened else set()
    if others or opened:
        lines.append(f"others = {{**{others!r}, **{opened!r}}}")
        own = f"{own[:-1].rstrip().rstrip(',')}, others=others)"
    return printing(PURPOSE, names, [*lines, f"study = {own}"], "circuit_study_tables", "study")


def data(view: CircuitView, comparison: Comparison, chosen: Selection) -> Data:
    """The tables, every row's scores, how often resamples have each unit, and each row's metric by size."""
    study = view.whole()
    settings, result, axes = study.settings, study.evaluation, AXES[study.scores.unit]
    unit: Unit = "probability" if settings.metric == "prob_diff" else "logits"
    arrays: dict[str, Measure | Count] = {
        "scores": Measure("score", unit, ("row", *axes), study.scores.by_row),
        "circuit": Count("in the circuit", study.scores.unit, axes, study.chosen.to(torch.int64)),
        "clean": Measure("metric of the prompts", unit, ("row",), result.clean),
        "baseline": Measure("metric with every edge from the baseline", unit, ("row",), result.other),
        "alone": Measure("metric with the circuit alone", unit, ("size", "row"), result.alone),
        "without": Measure("metric with all but the circuit", unit, ("size", "row"), result.without),
    }
    if study.stability is not None:
        arrays["frequency"] = Measure("share of resamples", "share", axes, study.stability.frequency)
    shows = {
        "set": view.question.read.known.prompt_set.name,
        "model": view.question.read.model,
        "settings": settings.as_dict(),
        "senders": [each.name for each in study.wires.senders],
        "receivers": [each.name for each in study.wires.receivers],
        "scored rows": list(study.scores.numbers),
        "held-out rows": list(result.numbers),
        "left out": {str(number): why for number, why in study.left_out.items()},
        "sizes (share)": list(result.shares),
    }
    return Data("circuit", shows, circuit_study_tables(study), arrays)


def drawings(view: CircuitView, comparison: Comparison, chosen: Selection) -> Drawings:
    """The circuit, its curve and its overlaps, and the lists of its parts and of the rows."""
    study = view.whole()
    plots = [circuit.picture(study, view.node), circuit.curve(study), circuit.overlaps(study)]
    tables = circuit_study_tables(study)
    parts = {name: list(cells)[:MAX_LISTED] for name, cells in tables["circuit"].items()}
    sheets = [[table(_title(study), parts)]] if any(parts.values()) else []
    note = f"{circuit.sentence(study)} {circuit.said_of_rows(study, len(view.read.rows.pairs))}"
    name = view.question.read.known.prompt_set.name
    rows = [*([Drawing(plot)] for plot in plots if plot is not None), *sheets, [table("Rows", tables["rows"])]]
    return Drawings(f"Circuit, {name},", Comparison(comparison.a), rows, tokens=False, note=note)


def _title(study: CircuitStudy) -> str:
    more = f", the first {MAX_LISTED:,}" if int(study.chosen.sum()) > MAX_LISTED else ""
    return f"{study.scores.unit.capitalize()} of the circuit{more}"
