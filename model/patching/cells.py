"""A map of patches, cell by cell: whole parts, heads, or paths into one head, in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.patching.attribution import attribution_map
from headlight.model.patching.grids import Grid, Kind, Variant, grid
from headlight.model.patching.paths import ReadAs, path_differences
from headlight.model.patching.runs import AT_ONCE, Patching
from headlight.model.runs.edits import Head

PatchMap = Literal["z", "resid_pre", "attn_out", "mlp_out", "z_by_position", "path_q", "path_k", "path_v"]
PATHS: dict[PatchMap, ReadAs] = {"path_q": "q", "path_k": "k", "path_v": "v"}
KINDS: dict[PatchMap, Kind] = {kind: kind for kind in get_args(Kind)}


@dataclass(frozen=True)
class Parts:
    """Parts of a run that are patched, one in each cell of the map.

    Attributes:
        what: the kind of map.
        layer: the layer, for heads by position.
        receiver: the receiving (layer, head), for path patching into its query, key or value.
        through_mlps: whether paths go through MLPs.
    """

    what: PatchMap = "z"
    layer: int = 0
    receiver: Head = (0, 0)
    through_mlps: bool = False


EVERY_HEAD = Parts("z")


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one map, in reading order."""

    patching: Patching
    parts: Parts = EVERY_HEAD

    @property
    def grid(self) -> Grid:
        """Patches of each cell; a path costs as much as a patch of its receiver's layer.

        Raises:
            InputError: the model has no such map.
        """
        cfg, parts = self.patching.model.cfg, self.parts
        if parts.what not in PATHS:
            return grid(KINDS[parts.what], cfg, self.patching.reach, parts.layer)
        layer = parts.receiver[0]
        if layer == 0:
            raise InputError("No head comes before the first layer. Choose a receiver in a later one.")
        return Grid(("layer", "head"), (layer, cfg.n_heads), (Variant("resid_pre", layer),) * (layer * cfg.n_heads))

    def shares(self, start: int, stop: int, at_once: int = AT_ONCE) -> Float[Tensor, " cell"]:
        """The shares of cells that follow one another; variants in flight take no more than `at_once` bytes.

        Raises:
            InputError: the model has no such map, or not even one variant would fit.
        """
        patching, parts = self.patching, self.parts
        if parts.what in PATHS:
            senders: Sequence[Head] = [divmod(cell, patching.model.cfg.n_heads) for cell in range(start, stop)]
            read = PATHS[parts.what]
            differences = path_differences(patching, senders, parts.receiver, read, parts.through_mlps, at_once)
        else:
            differences = patching.differences(self.grid.variants[start:stop], at_once)
        return patching.share(differences).cpu()

    def as_map(self, shares: Float[Tensor, " cell"]) -> Measure:
        """All cells' shares as a map: 0 = A, 1 = B, not clipped; NaN at positions that are not matched."""
        cells = self.grid
        matched = self.patching.only_matched(shares.reshape(cells.shape), cells.axes)
        return Measure("share of the logit difference", "share", cells.axes, matched)

    def exact(self) -> Measure:
        """The whole map, patched cell by cell."""
        return self.as_map(self.shares(0, len(self.grid.variants)).float())

    def estimate(self) -> Measure:
        """The map by attribution patching, from one run's gradients.

        Raises:
            InputError: the map is one of paths, of which there is no estimate.
        """
        if self.parts.what in PATHS:
            raise InputError("Paths have no estimate by attribution patching. Patch them, or choose another map.")
        return attribution_map(self.patching, KINDS[self.parts.what], self.parts.layer)
