"""One translation, or two on the axes of tokens that they have in common."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attention.axis import Axis, side_by_side
from headlight.model.base.errors import InputError
from headlight.model.decoding.translation import Attends, Translation, same_vocabularies
from headlight.model.measure import Measure, alignment
from headlight.model.measure.alignment import Align
from headlight.model.measure.attention import js_divergence
from headlight.model.measure.difference import Side, subtract
from headlight.model.runs.edits import Head

Rows = Literal["written", "read"]
Cells = Float[Tensor, "layer head query key"]


@dataclass(frozen=True, eq=False)
class Translations:
    """Translation A, and translation B to compare it with, their tokens aligned by `align`."""

    a: Translation
    b: Translation | None = None
    align: Align = "tokens"

    @property
    def sides(self) -> dict[str, Translation]:
        """The translations by their names on the page."""
        return {"A": self.a} if self.b is None else {"A": self.a, "B": self.b}

    def axes(self, attends: Attends, rows: Rows) -> tuple[Axis, Axis]:
        """Names of the rows and columns of one kind of attention.

        Within one side a row is the token that is read, as a column is.
        """
        if attends == "cross":
            return self._axis(rows), self._axis("source")
        axis = self._axis("source" if attends == "encoder" else "read")
        return axis, axis

    def _axis(self, what: str) -> Axis:
        every = self.sides.values()
        match what:
            case "source":
                named = [(each.source_labels, each.source_tokens.tolist()) for each in every]
            case "written":
                named = [(each.written_labels, each.written.tolist()) for each in every]
            case _:
                named = [(each.read_labels, each.read) for each in every]
        return side_by_side([labels for labels, _ in named], [tokens for _, tokens in named], self.align)

    def shape(self, attends: Attends) -> tuple[int, int]:
        """Number of layers with one kind of attention, and of their heads, over all translations."""
        shapes = [each.attention[attends].pattern.shape[:2] for each in self.sides.values()]
        return min(layers for layers, _ in shapes), min(heads for _, heads in shapes)

    def cells(self, side: Side, attends: Attends, rows: Rows) -> Cells:
        """All heads' weights in A, in B, or B - A on the axes; NaN where masked, or where a token is missing.

        A key that only one of the two has got no weight from the other.
        """
        if side != "difference":
            return self._placed("ab".index(side), attends, rows, torch.nan)
        a, b = (self._placed(index, attends, rows, 0.0) for index in (0, 1))
        return subtract(a, b)

    def _placed(self, index: int, attends: Attends, rows: Rows, absent_key: float) -> Cells:
        attended = list(self.sides.values())[index].attention[attends]
        n_layers, n_heads = self.shape(attends)
        down, across = (axis.positions[index] for axis in self.axes(attends, rows))
        values = attended.pattern[:n_layers, :n_heads].masked_fill(attended.masked, torch.nan)
        return alignment.on_axis(alignment.on_axis(values, across, absent_key), down, torch.nan, dims=(-2,))

    def divergence(self, attends: Attends, rows: Rows) -> Measure:
        """Difference of each head in A and B: mean Jensen-Shannon divergence of the rows that both have."""
        a, b = (self._rows(index, attends, rows) for index in (0, 1))
        values = js_divergence(a, b).values.nanmean(-1)
        return Measure("Jensen–Shannon divergence of A and B", "nats", ("layer", "head"), values)

    def _rows(self, index: int, attends: Attends, rows: Rows) -> Cells:
        """Weights that are 0 where a key is masked or missing, and NaN in rows that are missing."""
        cells = self._placed(index, attends, rows, 0.0)
        missing = torch.tensor([place is None for place in self.axes(attends, rows)[0].positions[index]])
        return cells.nan_to_num(0).masked_fill(missing[:, None], torch.nan)


def compare_translations(a: Translation, b: Translation, align: Align = "tokens") -> Translations:
    """Compare two translations by models with the same vocabularies.

    Args:
        a: the first translation.
        b: the second translation.
        align: match tokens by a longest common subsequence ("tokens") or by position.

    Raises:
        InputError: a token id means different tokens to the two models.
    """
    if not same_vocabularies(a, b):
        raise InputError(
            f"{a.source.name} and {b.source.name} have different vocabularies, so their tokens cannot be laid side by "
            f"side. Choose as model B one with the tokenizers of {a.source.name}."
        )
    return Translations(a, b, align)


def clearest(translations: Translations, attends: Attends, count: int) -> tuple[Head, ...]:
    """The heads worth a first look: those of A whose rows rest most on a single token, the deepest layer's first."""
    n_layers, n_heads = translations.shape(attends)
    peaks = translations.a.attention[attends].pattern[:n_layers, :n_heads].amax(-1).mean(-1)
    return tuple((n_layers - 1, int(head)) for head in peaks[-1].argsort(descending=True)[:count])
