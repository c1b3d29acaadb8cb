"""The options of the circuit of a set."""

from collections.abc import Iterator
from typing import Any

from headlight.app import selection
from headlight.app.components import Choice, Listed, Number, Option, Slider
from headlight.app.pages.experiments.choices import Choices
from headlight.app.pages.experiments.circuit_choices import AUTO, HELD_OUT, ROWS, STEPS
from headlight.app.parts import options
from headlight.app.parts.circuit_scene import METHODS
from headlight.app.runs import circuits
from headlight.model.circuits.evaluation import SHARES
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import Unit

TITLE = "Circuit"
BASELINES: dict[Baseline, str] = {
    "pair": "corrupted prompt",
    "mean": "mean over the set",
    "mean_by_position": "mean by position",
    "zero": "zero",
}
UNITS: dict[Unit, str] = {"edges": "Edges", "nodes": "Nodes", "neurons": "Neurons"}
SIZES = {AUTO: "auto", **{share: f"{100 * share:g}%" for share in SHARES}}
SELECTIONS = {"top": "Largest", "greedy": "Greedy"}
NONE = "none"


def is_chosen(own: Choices) -> bool:
    """Whether a circuit is looked at: one that is scored here, or one that the command has written."""
    return own.exp_circuit or circuits.is_study(own.exp_results)


def options_for(own: Choices) -> Iterator[Option]:
    """How a circuit is scored, how large it is, and what it is compared with."""
    yield _bind(Listed, "exp_circ_method", "Method", options=METHODS, width=180)
    yield _bind(Listed, "exp_circ_baseline", "Baseline", options=BASELINES, width=150)
    if own.exp_circ_method != "flow":
        yield _bind(Choice, "exp_circ_unit", "Of", options=UNITS)
    yield _bind(Listed, "exp_circ_share", "Size", options=SIZES, width=80)
    beside = {"": NONE} | {name: title for name, title in METHODS.items() if name != own.exp_circ_method}
    yield _bind(Listed, "exp_circ_beside", "Compare with", options=beside, width=180, folded=True)
    if files := circuits.files():
        listed = {"": NONE, **files}
        yield _bind(Listed, "exp_circ_file", "and the file", options=listed, width=180, folded=True)
    if own.exp_circ_unit == "edges":
        yield _bind(Choice, "exp_circ_selection", "Take", options=SELECTIONS, folded=True)
    if own.exp_circ_method.startswith("eap_ig"):
        yield _bind(Number, "exp_circ_steps", "Gradients", least=STEPS[0], most=STEPS[1], step=1, folded=True)
    yield _bind(Slider, "exp_circ_held_out", "Held out", least=HELD_OUT[0], most=HELD_OUT[1], step=0.05, folded=True)
    yield _bind(Number, "exp_circ_rows", "Rows at most", least=ROWS[0], most=ROWS[1], step=50, folded=True)


def _bind(kind: Any, field: str, label: str, **look: Any) -> Any:
    return options.bind(kind, field, label, page=Choices, change=_choose, **look)


def _choose(page: type[Choices], **chosen: Any) -> None:
    """Another circuit has other nodes; information flow routes score edges alone."""
    if chosen.get("exp_circ_method") == "flow":
        chosen["exp_circ_unit"] = "edges"
    selection.choose(page, **chosen, exp_circ_node="")
