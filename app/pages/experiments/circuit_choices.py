"""What can be chosen of the circuit of a set."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import count, number
from headlight.model.circuits.evaluation import SHARES
from headlight.model.circuits.preparing import Baseline
from headlight.model.circuits.scoring import DEFAULT_STEPS, Method, Unit
from headlight.model.circuits.selection import Selection
from headlight.model.circuits.settings import CircuitSettings

STEPS = 1, 50
HELD_OUT = 0.1, 0.9
ROWS = 2, 1_000_000
AUTO, LEAST_SHARE, ENOUGH_EDGES = 0.0, 0.01, 40  # how large a circuit is unless its size is chosen
Beside = Literal["", "eap", "eap_ig_inputs", "eap_ig_activations", "clean_corrupted", "exact", "flow"]


@dataclass(frozen=True)
class CircuitChoices(PageChoices):
    """Whether a circuit is looked at in place of a measure, how it is scored, and its node that is looked at.

    `exp_circ_beside` is a method and `exp_circ_file` an uploaded file whose circuits it is compared with.
    """

    exp_circuit: bool = False
    exp_circ_method: Method = "eap_ig_inputs"
    exp_circ_baseline: Baseline = "pair"
    exp_circ_unit: Unit = "edges"
    exp_circ_share: Annotated[float, number(AUTO, SHARES[-1])] = AUTO
    exp_circ_selection: Selection = "top"
    exp_circ_steps: Annotated[int, count(*STEPS)] = DEFAULT_STEPS
    exp_circ_held_out: Annotated[float, number(*HELD_OUT)] = 0.5
    exp_circ_rows: Annotated[int, count(*ROWS)] = 200
    exp_circ_beside: Beside = ""
    exp_circ_file: str = ""
    exp_circ_node: str = ""

    def circuit_settings(self, n_edges: int, metric: str, only_correct: bool) -> CircuitSettings:
        """The settings of the command that score the same in a model of so many edges."""
        return CircuitSettings(
            method=self.exp_circ_method,
            baseline=self.exp_circ_baseline,
            unit=self.exp_circ_unit,
            share=self._share(n_edges),
            selection=self.exp_circ_selection,
            steps=self.exp_circ_steps,
            metric="prob_diff" if metric == "prob_diff" else "logit_diff",
            held_out=self.exp_circ_held_out,
            only_correct=only_correct,
            rows=self.exp_circ_rows,
        )

    def _share(self, n_edges: int) -> float:
        """The chosen size, or the least that leaves a small model edges enough to reach the logits."""
        if self.exp_circ_share == AUTO:
            enough = max(LEAST_SHARE, ENOUGH_EDGES / n_edges)
            return next((each for each in SHARES if each >= enough), SHARES[-1])
        return min(SHARES, key=lambda each: abs(each - self.exp_circ_share))
