"""The page's circuit mode: edges between the model's components behind A's prediction, scored and ablated."""

from dataclasses import dataclass
from functools import cached_property

from headlight.app.figures.graph import Line, Mark, Scene
from headlight.app.pages.graph.choices import Choices
from headlight.app.parts.labels import number
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import InputError
from headlight.model.circuits.of_runs import Against, EdgeCircuit, circuit_of
from headlight.model.circuits.selection import strongest
from headlight.model.circuits.wiring import Receiver, Sender
from headlight.model.patching.sides import LogitDifference
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name

ENDS = "embeddings", "logits"


@dataclass(frozen=True, eq=False)
class CircuitView:
    """A circuit, its baseline, and the chosen component."""

    scored: EdgeCircuit
    against: Against
    n_layers: int
    n_heads: int
    has_mlps: bool
    node: str

    @cached_property
    def lines(self) -> list[tuple[str, str, str, float]]:
        """Edges as sender, receiver, input read, and score, the largest first."""
        wires, scored = self.scored.wires, self.scored
        return [
            (
                wires.senders[s].name,
                part_of(wires.receivers[r]),
                wires.receivers[r].read or "",
                float(scored.scores[r, s]),
            )
            for r, s in strongest(scored.scores, scored.circuit.edges)
        ]

    @cached_property
    def parts(self) -> list[str]:
        """The parts that the circuit's edges join, in the order of writing."""
        named = {name for source, target, *_ in self.lines for name in (source, target)}
        order = [each.name for each in self.scored.wires.senders] + [ENDS[1]]
        return [name for name in order if name in named]


def part_of(receiver: Receiver) -> str:
    """The part that a receiver is one of the inputs of, as a sender is called."""
    if receiver.layer is None:
        return ENDS[1]
    return Sender(receiver.layer, receiver.head).name


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
    """The baseline of A: the chosen one where there is a B."""
    return chosen.choices_of(Choices).circuit_against if comparison.b is not None else "mean"


def find(comparison: Comparison, chosen: Selection) -> CircuitView:
    """The circuit of the current options.

    Raises:
        HeadlightError: there is none; it says why.
    """
    own = chosen.choices_of(Choices)
    against, cfg = against_of(comparison, chosen), comparison.a.cfg
    scored = circuit_of(comparison, measured_of(comparison, chosen), own.circuit_steps, own.circuit_least, against)
    return CircuitView(scored, against, cfg.n_layers, cfg.n_heads, not cfg.attn_only, own.graph_node)


def scene_of(drawn: CircuitView) -> Scene:
    """Parts by layer and head, both ends before the heads, and the edges between them, or those of the chosen part."""
    rows = [ENDS[0]]
    for layer in range(drawn.n_layers):
        rows += [f"L{layer} heads", *([f"L{layer} MLP"] if drawn.has_mlps else [])]
    rows.append(ENDS[1])
    columns = ["", *(f"H{head}" for head in range(drawn.n_heads)), *(["MLP"] if drawn.has_mlps else [])]
    places = {name: slot for slot, name in enumerate(drawn.parts)}
    sums = {name: sum(abs(s) for a, b, _, s in drawn.lines if name in (a, b)) for name in drawn.parts}
    largest = max(sums.values(), default=1.0) or 1.0
    marks = [_mark(drawn, name, rows, columns, sums[name] / largest) for name in drawn.parts]
    chosen = places.get(drawn.node)
    lines = [Line(places[a], places[b], -1 if score > 0 else 1) for a, b, _, score in drawn.lines]
    ours = [line for line in lines if chosen is None or chosen in (line.source, line.target)]
    of = drawn.scored.circuit
    title = f"circuit of {of.n_edges} edges, faithfulness {of.faithfulness:.2f}".replace("-", "−")
    return Scene(marks, lines, ours, chosen, columns, rows, "head", title)


def _mark(drawn: CircuitView, name: str, rows: list[str], columns: list[str], share: float) -> Mark:
    edges = [
        f"{a} → {b}{f'.{read}' if read else ''}  {number(score)}" for a, b, read, score in drawn.lines if name in (a, b)
    ]
    lines = [name, *edges[:8], *([f"and {len(edges) - 8} more"] if len(edges) > 8 else [])]
    if name in ENDS:
        return Mark("token" if name == ENDS[0] else "logit", 0, rows.index(name), share**0.5, 0, lines)
    if name.endswith("MLP"):
        return Mark("neuron", len(columns) - 1, rows.index(name), share**0.5, 0, lines)
    layer, head = heads_of(drawn)[name]
    return Mark("head", head + 1, rows.index(f"L{layer} heads"), share**0.5, 0, lines)


def heads_of(drawn: CircuitView) -> dict[str, tuple[int, int]]:
    """The heads by their names."""
    heads = ((layer, head) for layer in range(drawn.n_layers) for head in range(drawn.n_heads))
    return {head_name(each): each for each in heads}


def spelled(drawn: CircuitView) -> str:
    """Describe the effect of the circuit, and of the rest without it."""
    of, n_all = drawn.scored.circuit, drawn.scored.wires.n_edges
    other = "from B" if drawn.against == "b" else "at its mean over A's positions"
    said = (
        f"{of.n_edges:,} of {n_all:,} edges. Target − distractor is {number(of.a)} logits in A and {number(of.b)} "
        f"with every edge {other}; with only the circuit's edges from A it is {number(of.alone)} "
        f"(faithfulness {of.faithfulness:.2f}), with all but these {number(of.without)} "
        f"(completeness {of.completeness:.2f}; 0 is complete)."
    )
    return said.replace("-", "−")
