"""The circuit of a set: what is asked of it, what is known, and what is said and drawn of that."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headlight.app.figures import Plot, bar_list
from headlight.app.figures.bar_list import Row
from headlight.app.figures.colours import BLUE, FAINT, ORANGE
from headlight.app.figures.graph import graph
from headlight.app.figures.layout import Axis
from headlight.app.figures.plots import interval, plain
from headlight.app.figures.text import hover
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.experiment import ReadRows, check_set
from headlight.app.pages.experiments.finding import METRICS, numbers
from headlight.app.parts.circuit_scene import METHODS, CircuitEdge, circuit_scene, component_of
from headlight.app.runs import circuits
from headlight.app.runs.circuits import CircuitPiece, CircuitQuestion
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.circuits.scoring import Unit
from headlight.model.circuits.selection import EdgeMask
from headlight.model.circuits.study import CircuitStudy, overlap_rows, unit_places
from headlight.model.circuits.wiring import wiring

MAX_DRAWN = 60  # edges in the picture, the largest
SURE = 0.9  # of the resamples
NONE_LEFT = "None of them lies on a way from the embeddings to the logits: choose a larger circuit, or Greedy."


@dataclass(frozen=True, eq=False)
class CircuitView:
    """The circuit of a set that is asked for, and what is known of it.

    `others` are the circuits that it is compared with; `notes` say which of them cannot be. A study that is `opened`
    from the command's folder stands in place of the question's answer.
    """

    read: ReadRows
    question: CircuitQuestion
    others: Mapping[str, CircuitQuestion]
    files: Mapping[str, EdgeMask]
    notes: tuple[str, ...]
    node: str
    opened: CircuitStudy | None = None

    @property
    def pieces(self) -> tuple[CircuitPiece, ...]:
        """All work, in the order in which it is done."""
        own = () if self.opened else circuits.pieces_of(self.question)
        return (*own, *(piece for other in self.others.values() for piece in circuits.pieces_of(other, ("score",))))

    @property
    def known(self) -> CircuitStudy | None:
        """The study, if it is done, with those of the other circuits that are.

        Raises:
            HeadlightError: the prompts' mean metric is the baseline's.
        """
        if self.opened is not None:
            return replace(self.opened, others=self._compared)
        return circuits.known(self.question, self._compared)

    def whole(self) -> CircuitStudy:
        """The study, of which what the cache has lost in the meantime is made again.

        Raises:
            HeadlightError: as `known`.
        """
        for piece in self.pieces:
            circuits.do(piece)
        return circuits.whole(self.question, self._compared)

    @property
    def _compared(self) -> dict[str, EdgeMask]:
        made = {name: circuits.circuit(question) for name, question in self.others.items()}
        return {**{name: edges for name, edges in made.items() if edges is not None}, **self.files}


def view_of(rows: Mapping[str, ReadRows], chosen: Selection) -> CircuitView:
    """What is asked of the first side's set, and the circuits to compare with.

    Raises:
        HeadlightError: this set has no such circuit.
    """
    own = chosen.choices_of(Choices)
    first, *more = rows.items()
    _, read = first
    opened = _opened(read, own.exp_results) if circuits.is_study(own.exp_results) else None
    n_edges = wiring(read.run.cfg).n_edges
    settings = opened.settings if opened else own.circuit_settings(n_edges, own.exp_metric, own.exp_only_correct)
    question = CircuitQuestion(read.rows.read, settings)
    if opened is None:
        circuits.plan(question)
    others, notes = dict[str, CircuitQuestion](), list[str]()
    if own.exp_circ_beside and own.exp_circ_beside != settings.method:
        unit: Unit = "edges" if own.exp_circ_beside == "flow" else settings.unit
        beside = replace(settings, method=own.exp_circ_beside, unit=unit)
        others[METHODS[own.exp_circ_beside]] = replace(question, settings=beside)
    for side, other in more:
        if wiring(other.run.cfg) is wiring(read.run.cfg):
            others[f"{side}: {_named(other)}"] = CircuitQuestion(other.rows.read, question.settings)
        else:
            notes.append(f"{side} has other components, so that its circuit is not compared.")
    for name, other_question in list(others.items()):
        try:
            circuits.plan(other_question)
        except HeadlightError as error:
            notes.append(f"Nothing is compared with {name}. {error}")
            del others[name]
    files = dict[str, EdgeMask]()
    if own.exp_circ_file:
        try:
            file = circuits.opened_file(own.exp_circ_file, read.run.source.name)
            files[circuits.title_of(own.exp_circ_file)] = file.edges
        except HeadlightError as error:
            notes.append(str(error))
    return CircuitView(read, question, others, files, tuple(notes), own.exp_circ_node, opened)


def _opened(read: ReadRows, folder: str) -> CircuitStudy:
    results = circuits.study_in(folder, read.run.source.name)
    check_set(read, results.set_name)
    return results.study


def _named(read: ReadRows) -> str:
    return f"{read.rows.read.known.prompt_set.name} on {read.run.source.name}"


def sentence(study: CircuitStudy) -> str:
    """The finding: what the circuit keeps of the metric on held-out rows, and how sure its parts are."""
    settings, result, place = study.settings, study.evaluation, study.place
    unit, n_chosen = settings.unit, int(study.chosen.sum())
    n_taken = int(settings.share * study.n_units)
    size = f"{100 * settings.share:g}% of the {unit} ({n_taken:,} of {study.n_units:,}"
    if unit == "edges" and n_chosen < n_taken:
        size += f", {n_chosen:,} of them on a way to the logits"
    if not n_chosen:
        return f"{size}). {NONE_LEFT}"
    low, high = (float(end[place]) for end in result.interval(result.alone))
    kept = numbers(float(result.faithfulness[place]), low, high, "")
    n_rows = len(result.numbers)
    rows = f"{n_rows:,} held-out row{'' if n_rows == 1 else 's'}"
    said = f"{size}) keep {kept} of the {METRICS[settings.metric]} on {rows}"
    if (sure := study.stability) is None:
        return f"{said}; too few rows to resample."
    n_sure = int((sure.frequency[study.chosen] >= SURE).sum())
    whole = "all" if n_sure == n_chosen else f"{n_sure:,} of"
    return f"{said}; {whole} {n_chosen:,} are in the circuits of at least {SURE:.0%} of resamples."


def said_of_rows(study: CircuitStudy, n_rows: int) -> str:
    """Which rows were scored, measured on and left out, and the two areas."""
    result = study.evaluation
    parts = [f"scored on {len(study.scores.numbers):,} rows, measured on {len(result.numbers):,} others"]
    parts.append(areas(study))
    if study.left_out:
        number, why = next(iter(study.left_out.items()))
        why = why.removeprefix(f"Row {number}: ")
        parts.append(f"{len(study.left_out):,} of {n_rows:,} rows are left out. Row {number}: {why}")
    if study.settings.only_correct:
        parts.insert(0, "rows that the model answers correctly")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}"


def areas(study: CircuitStudy) -> str:
    """MIB's two areas, with what is better."""
    result = study.evaluation
    return f"CPR {result.cpr:.2f} (more is better), CMD {result.cmd:.2f} (0 is best)".replace(" -", " −")


def edges_of(study: CircuitStudy) -> list[CircuitEdge]:
    """The circuit's edges, the largest first; none where nodes or neurons were chosen, whose edges have no scores."""
    if study.scores.unit != "edges":
        return []
    senders, receivers, sure = study.wires.senders, study.wires.receivers, study.stability
    return [
        CircuitEdge(
            senders[s].name,
            component_of(receivers[r]),
            receivers[r].read or "",
            float(study.scores.mean[r, s]),
            None if sure is None else float(sure.frequency[r, s]),
        )
        for r, s in unit_places(study)
    ]


def sizes_of(study: CircuitStudy) -> dict[str, float]:
    """The nodes of a circuit of nodes or neurons, with the sizes of their scores."""
    if study.scores.unit == "edges":
        return {}
    kept = study.scores.mean.abs() * study.chosen
    sizes = kept if kept.ndim == 1 else kept.sum(1)
    return {sender.name: float(size) for sender, size in zip(study.wires.senders, sizes, strict=True) if size > 0}


def picture(study: CircuitStudy, node: str = "") -> Plot:
    """The circuit's components by layer, with its largest edges."""
    edges, n_edges = edges_of(study), int(study.mask.edges.sum())
    listed = edges[:MAX_DRAWN]
    count = f"{len(listed):,} of {n_edges:,} edges, the largest" if len(edges) > MAX_DRAWN else f"{n_edges:,} edges"
    if not edges:
        count = f"{int(study.chosen.sum()):,} {study.scores.unit}"
    return graph(circuit_scene(listed, study.wires, node, f"Circuit: {count}", sizes_of(study)))


def curve(study: CircuitStudy) -> Plot:
    """Faithfulness with its interval, and completeness, by the circuit's size."""
    result = study.evaluation
    percent = [100 * share for share in result.shares]
    low, high = (end.numpy() for end in result.interval(result.alone))
    kept = result.faithfulness.numpy()
    names = [f"{share:g}% of the {study.settings.unit}" for share in percent]
    traces: list[dict[str, Any]] = [
        _line("the circuit alone (faithfulness)", percent, kept, BLUE, names, error_y=interval(kept, low, high)),
        _line("all but it (completeness)", percent, result.completeness.numpy(), ORANGE, names, dash="dash"),
    ]
    ends = {"x": [percent[study.place]] * 2, "y": [0, 1], "mode": "lines", "line": {"color": FAINT, "dash": "dot"}}
    traces.append({"type": "scatter", "name": "", "showlegend": False, "hoverinfo": "skip", **ends})
    title = f"On held-out rows: {areas(study)}"
    return Plot(
        title,
        Axis(f"share of the {study.settings.unit} (%)", kind="log"),
        Axis(f"share of the {METRICS[study.settings.metric]}"),
        traces,
        height=220,
    )


def _line(
    name: str, x: list[float], values: np.ndarray, colour: str, places: list[str], dash: str = "solid", **more: Any
) -> dict[str, Any]:
    said = (f"{name}: {value:.3f}".replace("-", "−") for value in values)
    texts = [hover([place, line]) for place, line in zip(places, said, strict=True)]
    line = {"color": colour, "width": 2, "dash": dash}
    look = {"type": "scatter", "mode": "lines+markers", "line": line, "marker": {"size": 6}}
    return {**look, "name": name, "x": x, "y": plain(values), "hovertext": texts, **more}


def overlaps(study: CircuitStudy) -> Plot | None:
    """The overlaps of the circuit with others; None where there are none."""
    rows = [Row(name, [(0.0, value)], f"{value:.0%}") for name, value in overlap_rows(study)]
    return bar_list.rows(rows, title="Overlap of circuits", unit="Jaccard", reach=1.0) if rows else None
