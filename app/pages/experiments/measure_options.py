"""The options that say what is measured over the set, each own_options where it means something."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headlight.app import selection
from headlight.app.components import Choice, Listed, Option, Switch, Text
from headlight.app.pages.experiments import circuit_options, sets
from headlight.app.pages.experiments.choices import Choices, parts_of
from headlight.app.pages.experiments.experiment import Experiment
from headlight.app.parts import options
from headlight.app.runs import models
from headlight.model.experiments.settings import HEAD_PARTS, NEEDS_CORRUPTED, MeasureKind, Part
from headlight.model.runs.comparison import Comparison

CIRCUIT = "circuit"
MEASURES: dict[MeasureKind, str] = {
    "dla": "Direct logit attribution",
    "patching": "Activation patching",
    "attribution": "Attribution patching (estimate)",
    "path": "Paths into a head",
    "lens": "Logit lens of the answer",
    "patterns": "Attention between positions",
    "ablation": "Ablation",
}
PARTS: dict[Part, str] = {
    "all": "All components",
    "z": "Heads (z)",
    "q": "Queries",
    "k": "Keys",
    "v": "Values",
    "pattern": "Patterns",
    "resid_pre": "Residual stream",
    "attn_out": "Attention outputs",
    "mlp_out": "MLP outputs",
}
DIRECTIONS = {"denoise": "Clean into corrupted", "noise": "Corrupted into clean"}
BY = {"head": "Whole", "position": "By position"}
POSITIONS = {"auto": "automatic", "names": "by name", "tokens": "every token", "from_end": "from the end"}
METRICS = {"logit_diff": "Logit difference", "prob_diff": "Probability difference"}
READS = {"q": "Query", "k": "Key", "v": "Value"}
ABLATIONS = {"zero": "Zero", "mean": "Mean over the set", "resample": "Another row"}
PROMPTS = {"clean": "Clean", "corrupted": "Corrupted"}
INTERVALS = {"bootstrap": "Bootstrap", "t": "Student's t"}
WITH_PART = ("patching", "attribution", "ablation", "dla")


def draw(comparison: Comparison, has_set: bool) -> None:
    """The row of options: the set, and what is measured of it where there is one."""
    own = selection.current().choices_of(Choices)
    own_options = circuit_options.options_for(own) if circuit_options.is_chosen(own) else _measure(comparison, own)
    measure = (_which(own), *own_options, *_how(own), options.as_tables()) if has_set else ()
    options.row(sets.option(comparison), *measure, *([sets.option_b()] if has_set else []), name="exp")


def _which(own: Choices) -> Listed:
    """The measure, or the circuit in the place of all measures."""

    def change(new: str) -> None:
        if new == CIRCUIT:
            _choose(Choices, exp_circuit=True, exp_results="")
        else:
            _choose(Choices, exp_circuit=False, exp_measure=new, exp_results="")

    offered: dict[Any, str] = {**MEASURES, CIRCUIT: circuit_options.TITLE}
    value = CIRCUIT if circuit_options.is_chosen(own) else own.exp_measure
    return options.tie(Listed, "exp_measure", "Measure", value, change, options=offered, width=210)


def _measure(comparison: Comparison, own: Choices) -> Iterator[Option]:
    cfg, measure = comparison.a.cfg, own.exp_measure
    if measure in WITH_PART:
        parts = {part: PARTS[part] for part in parts_of(measure) if part != "mlp_out" or not cfg.attn_only}
        change = _change("exp_part")
        yield options.tie(Listed, "exp_part", "Of", own.part, change, options=parts, width=150)
    if measure in NEEDS_CORRUPTED:
        yield _choice("exp_direction", "Direction", DIRECTIONS)
    if measure == "path":
        receivers = options.heads(range(1, cfg.n_layers), cfg.n_heads)
        last = (cfg.n_layers - 1, 0)
        yield options.tie(
            Listed,
            "exp_receiver",
            "Into",
            own.exp_receiver or last,
            _change("exp_receiver"),
            options=receivers,
            width=90,
        )
        yield _choice("exp_read", "Its", READS)
        yield options.bind(Switch, "exp_through_mlps", "Through MLPs", page=Choices, change=_choose)
    if measure == "ablation":
        yield _choice("exp_ablation", "By", ABLATIONS)
    if measure == "lens" or (measure in WITH_PART and own.part in HEAD_PARTS):
        yield _choice("exp_by", "Cells", BY)
    if measure not in NEEDS_CORRUPTED:
        yield _choice("exp_prompt", "Prompts", PROMPTS)


def _how(own: Choices) -> Iterator[Option]:
    is_circuit = circuit_options.is_chosen(own)
    yield options.bind(Switch, "exp_only_correct", "Right rows only", page=Choices, change=_choose)
    if not is_circuit:
        yield _listed("exp_positions", "Positions", POSITIONS, 110, folded=True)
    if is_circuit or own.exp_measure != "dla":
        yield _choice("exp_metric", "Metric", METRICS, folded=True)
    if not is_circuit:
        yield _choice("exp_interval", "Interval", INTERVALS, folded=True)
    if models.any_model_allowed():
        hint = "a folder that the command has written"
        yield options.bind(
            Text, "exp_results", "Results", page=Choices, change=_choose, placeholder=hint, width=230, folded=True
        )


def place_of_map(experiment: Experiment) -> Iterator[Option]:
    """The options that fix an axis that the map has no room for."""
    laid, side = experiment.laid, experiment.first
    if laid is None or side.measurement is None:
        return
    for slot, (axis, place) in enumerate(laid.fixed.items()):
        labels = dict(enumerate(side.measurement.axis_labels(axis)))

        def change(new: int, slot: int = slot) -> None:
            places = list(laid.fixed.values())
            places[slot] = new
            selection.choose(Choices, exp_place=tuple(places), exp_cell=None)

        yield options.tie(Listed, f"exp_place_{slot}", axis.capitalize(), place, change, options=labels, width=150)


def _listed(field: str, label: str, titles: Mapping[Any, str], width: int, folded: bool = False) -> Listed:
    now = getattr(selection.current().choices_of(Choices), field)
    return options.tie(Listed, field, label, now, _change(field), options=titles, width=width, folded=folded)


def _choice(field: str, label: str, titles: Mapping[Any, str], folded: bool = False) -> Choice:
    now = getattr(selection.current().choices_of(Choices), field)
    return options.tie(Choice, field, label, now, _change(field), options=titles, folded=folded)


def _change(field: str) -> Callable[[Any], None]:
    return lambda new: _choose(Choices, **{field: new})


def _choose(page: type[Choices], **chosen: Any) -> None:
    """Another measure has other cells."""
    selection.choose(page, **chosen, exp_cell=None, exp_place=())
