"""The page's circuit mode: edges between the model's components behind A's prediction, scored and ablated."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headlight.app.figures.graph import Scene
from headlight.app.pages.graph.choices import Choices
from headlight.app.parts.circuit_scene import CircuitEdge, circuit_scene, component_of, components
from headlight.app.parts.labels import number
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import InputError
from headlight.model.circuits.of_runs import Against, EdgeCircuit, circuit_of
from headlight.model.circuits.selection import strongest
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

OTHERS = {"b": "from B", "mean": "at its mean over A's positions", "zero": "at zero"}


@dataclass(frozen=True, eq=False)
class CircuitView:
    """A circuit, its baseline, and the chosen component."""

    scored: EdgeCircuit
    against: Against
    n_layers: int
    n_heads: int
    node: str

    @cached_property
    def edges(self) -> list[CircuitEdge]:
        """The circuit's edges, the largest first."""
        wires, scored = self.scored.wires, self.scored
        return [
            CircuitEdge(
                wires.senders[s].name,
                component_of(wires.receivers[r]),
                wires.receivers[r].read or "",
                float(scored.scores[r, s]),
            )
            for r, s in strongest(scored.scores, scored.circuit.edges)
        ]

    @cached_property
    def parts(self) -> list[str]:
        """The parts that the circuit's edges join, in the order of writing."""
        return components(self.edges, self.scored.wires)


def measured_of(comparison: Comparison, chosen: Selection) -> LogitDifference:
    """Target − distractor at the position, in both runs of the comparison.

    Raises:
        InputError: a run has no token there.
    """
    pair, place = pair_of(comparison, chosen), place_of(comparison, chosen)
    runs = comparison.runs if against_of(comparison, chosen) == "b" else (comparison.a,)
    positions = [comparison.positions(run)[place] for run in runs]
    a, *b = positions
    if a is None or None in b:
        raise InputError("One of the runs has no token there. Choose another under Predicted after.")
    return LogitDifference(pair.target, pair.distractor, a, b[0] if b else None)


def against_of(comparison: Comparison, chosen: Selection) -> Against:
    """The baseline of A: the chosen one; without a B its means in place of that."""
    against = chosen.choices_of(Choices).circuit_against
    return "mean" if comparison.b is None and against == "b" else against


def find(comparison: Comparison, chosen: Selection) -> CircuitView:
    """The circuit of the current options.

    Raises:
        HeadlightError: there is none; it says why.
    """
    cfg, against = comparison.a.cfg, against_of(comparison, chosen)
    scored = circuit_of(comparison, *arguments_of(comparison, chosen).values())
    return CircuitView(scored, against, cfg.n_layers, cfg.n_heads, chosen.choices_of(Choices).graph_node)


def arguments_of(comparison: Comparison, chosen: Selection) -> dict[str, Any]:
    """What `circuit_of` and `edge_tables` are asked for, in their order.

    Raises:
        InputError: a run has no token at the position.
    """
    own = chosen.choices_of(Choices)
    return {
        "measured": measured_of(comparison, chosen),
        "steps": own.circuit_steps,
        "least": own.circuit_least,
        "against": against_of(comparison, chosen),
        "method": own.circuit_method,
        "n_edges": own.circuit_most,
    }


def scene_of(drawn: CircuitView) -> Scene:
    """The circuit's parts by layer and head, and its edges, or those of the chosen part."""
    circuit = drawn.scored.circuit
    title = f"circuit of {circuit.n_edges} edges, faithfulness {circuit.faithfulness:.2f}".replace("-", "−")
    return circuit_scene(drawn.edges, drawn.scored.wires, drawn.node, title)


def heads_of(drawn: CircuitView) -> dict[str, tuple[int, int]]:
    """The heads by their names."""
    heads = ((layer, head) for layer in range(drawn.n_layers) for head in range(drawn.n_heads))
    return {head_name(each): each for each in heads}


def spelled(drawn: CircuitView) -> str:
    """Describe the effect of the circuit, and of the rest without it."""
    circuit, n_all, other = drawn.scored.circuit, drawn.scored.wires.n_edges, OTHERS[drawn.against]
    said = (
        f"{circuit.n_edges:,} of {n_all:,} edges. Target − distractor is {number(circuit.a)} logits in A "
        f"and {number(circuit.b)} with every edge {other}; with only the circuit's edges from A it is "
        f"{number(circuit.alone)} (faithfulness {circuit.faithfulness:.2f}), with all but these "
        f"{number(circuit.without)} (completeness {round(circuit.completeness, 2) + 0.0:.2f}; 0 is complete)."
    )
    return said.replace("-", "−")
