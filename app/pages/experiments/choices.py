"""What can be chosen on the page *Experiments* alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self, get_args

from headlight.app.pages.experiments.circuit_choices import CircuitChoices
from headlight.app.selection.choices import Extent
from headlight.app.selection.codecs import PROMPT
from headlight.model.experiments.settings import (
    By,
    Direction,
    ExperimentSettings,
    IntervalKind,
    MeasureKind,
    MetricKind,
    Part,
    Positions,
    ReadAs,
    Replacement,
)
from headlight.model.experiments.settings import Side as RunPrompt
from headlight.model.runs.edits import Head, head_name

DLA_PARTS: tuple[Part, ...] = ("z", "all", "attn_out", "mlp_out")
RowsShown = Literal["all", "correct", "wrong", "refused"]


def parts_of(measure: MeasureKind) -> tuple[Part, ...]:
    """The parts that a measure can be of."""
    return DLA_PARTS if measure == "dla" else tuple(part for part in get_args(Part) if part != "all")


@dataclass(frozen=True)
class Choices(CircuitChoices):
    """The set, what is measured over it, and the cell that is looked at.

    `prompt_set` is the name of a set on offer, a file, folder or hub name, or a set of this session; `prompt_set_b` is
    measured beside it. `set_columns` says what a file's columns are, `set_rows` holds an uploaded or written set where
    it is small enough for an address. `exp_results` is a folder of the command. `exp_place` fixes the axes that a map
    has no room for; `exp_cell` is a cell of the map.
    """

    prompt_set: str = ""
    prompt_set_b: str = ""
    set_columns: str = ""
    set_rows: Annotated[str, PROMPT] = ""
    rows_shown: RowsShown = "all"
    rows_with: str = ""
    exp_results: str = ""
    exp_measure: MeasureKind = "dla"
    exp_part: Part = "z"
    exp_direction: Direction = "denoise"
    exp_by: By = "head"
    exp_positions: Positions = "auto"
    exp_metric: MetricKind = "logit_diff"
    exp_receiver: Head | None = None
    exp_read: ReadAs = "q"
    exp_through_mlps: bool = False
    exp_ablation: Replacement = "mean"
    exp_prompt: RunPrompt = "clean"
    exp_only_correct: bool = False
    exp_interval: IntervalKind = "bootstrap"
    exp_place: tuple[int, ...] = ()
    exp_cell: tuple[int, int] | None = None

    forgets: ClassVar[Mapping[str, tuple[str, ...]]] = {"model": ("exp_cell", "exp_place", "exp_circ_node")}

    @property
    def part(self) -> Part:
        """The part that is chosen, or heads where the measure has not that."""
        return self.exp_part if self.exp_part in parts_of(self.exp_measure) else "z"

    def within(self, extent: Extent) -> Self:
        """Without a receiver that one of the models lacks."""
        known = self.exp_receiver is None or extent.has(self.exp_receiver)
        return self if known else replace(self, exp_receiver=None)

    def settings(self, n_layers: int, n_heads: int, bos: bool) -> ExperimentSettings:
        """The settings of the command that measure the same."""
        receiver = self.exp_receiver or (n_layers - 1, 0)
        return ExperimentSettings(
            measure=self.exp_measure,
            part=self.part,
            direction=self.exp_direction,
            by=self.exp_by,
            positions=self.exp_positions,
            metric=self.exp_metric,
            receiver=head_name(receiver) if self.exp_measure == "path" else "",
            read=self.exp_read,
            through_mlps=self.exp_through_mlps,
            ablation=self.exp_ablation,
            prompt=self.exp_prompt,
            only_correct=self.exp_only_correct,
            interval=self.exp_interval,
            bos=bos,
        )
