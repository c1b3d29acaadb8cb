"""Choices of the page *Patching*."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from headlight.app.selection.choices import Extent, PageChoices, below
from headlight.model.patching import PatchMap
from headlight.model.patching.runs import Into
from headlight.model.runs.edits import Head


@dataclass(frozen=True)
class Choices(PageChoices):
    """Patched part and direction, and whether attribution patching estimates the map as well.

    `patch_layer` is the one whose heads are patched by position, `patch_head` the receiver of paths, which with
    `patch_mlps` go through MLPs too. `patch_cell` (row, column) is the cell of the map with links below it.
    """

    patch_map: PatchMap = "z"
    patch_into: Into = "A"
    patch_layer: int | None = None
    patch_head: Head | None = None
    patch_mlps: bool = False
    patch_estimate: bool = False
    patch_cell: tuple[int, int] | None = None

    forgets: ClassVar[Mapping[str, tuple[str, ...]]] = {"model": ("patch_cell",), "prompt": ("patch_cell",)}

    def within(self, extent: Extent) -> Self:
        """Without a layer or a receiver that one of the runs lacks."""
        receiver = self.patch_head if self.patch_head and extent.has(self.patch_head) else None
        return replace(self, patch_layer=below(self.patch_layer, extent.n_layers), patch_head=receiver)
