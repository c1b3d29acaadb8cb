"""Backpropagate a target through a linearized run: by how much each write to the stream would change it.

The run is linear, so that this is a derivative, and what a part wrote times it is that part's effect on the
target, through every later part that is followed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.graph.linearized_run import Heads, LinearizedRun
from headlight.model.graph.units import Mlp

Pull = Float[Tensor, "*target pos d_model"]
HeadsKept = Bool[Tensor, "head pos"]
UnitsKept = Bool[Tensor, "pos unit"]


@dataclass(frozen=True, eq=False)
class Parts:
    """All parts of a run, layer by layer."""

    linearized: LinearizedRun
    heads: list[Heads]
    mlps: list[Mlp]


@dataclass(frozen=True, eq=False)
class Followed:
    """Heads' writes and units that are followed; the others are constants. None stands for all of them or for none.

    Skip connections are no parts of their own: the pull goes through all of them, as in circuit-tracer.
    """

    heads: Sequence[HeadsKept] | None = None
    units: Sequence[UnitsKept] | None = None
    no_heads: bool = False
    no_units: bool = False

    def of_heads(self, layer: int, heads: Heads) -> Float[Tensor, "head pos"]:
        """1 where a head's write is followed."""
        kept = torch.ones(heads.pattern.shape[:2], dtype=torch.float64)
        if heads.constant:
            return torch.zeros_like(kept)
        return kept if self.heads is None else self.heads[layer].double()

    def of_units(self, layer: int, mlp: Mlp) -> Float[Tensor, "pos unit"]:
        """The gate where a unit is followed, else 0."""
        gates = mlp.units.gates
        return gates if self.units is None else gates * self.units[layer]


@dataclass(frozen=True, eq=False)
class Pulled:
    """A target's derivatives: for what is written at each stage (`at`), for each unit's activation, for heads' z.

    `at[stage + 1]` is that of a stage. `units` [pos, unit] and `values` [head, pos, d_value] are by layer.
    """

    at: dict[int, Pull] = field(default_factory=dict)
    units: dict[int, Float[Tensor, "*target pos unit"]] = field(default_factory=dict)
    values: dict[int, Float[Tensor, "*target head pos d_value"]] = field(default_factory=dict)


def pull(parts: Parts, direction: Pull, limit: int, followed: Followed) -> Pulled:
    """A target that reads this direction of the stream [pos, d_model], as it was before a stage, pulled to the start.

    Several targets can be pulled at once, along leading axes.
    """
    pulled, now, later = Pulled(), direction, None
    for stage in range(limit - 1, -1, -1):
        now = parts.linearized.back(stage, now)
        pulled.at[stage], layer = now, stage // 2
        if stage % 2 == 0:
            if not followed.no_heads:
                now = now + _through_heads(parts.heads[layer], layer, now, followed, pulled)
            now, later = now if later is None else now + later, None
        elif parts.mlps:
            through = _through_mlp(parts.mlps[layer], layer, followed, pulled)
            beside = parts.mlps[layer].units.limit < stage  # it reads the stream from before its layer's attention
            now, later = (now, through) if beside else (now + through, None)
    pulled.at[-1] = now
    return pulled


def _through_heads(heads: Heads, layer: int, now: Pull, followed: Followed, pulled: Pulled) -> Pull:
    values = torch.einsum("...pd,hvd->...hpv", now / heads.write_scales[:, None], heads.W_O)
    pulled.values[layer] = values
    kept = values * followed.of_heads(layer, heads)[..., None]
    read = torch.einsum("hpk,...hpv,hdv->...kd", heads.pattern, kept, heads.W_V)
    return read / heads.read_scales[:, None]


def _through_mlp(mlp: Mlp, layer: int, followed: Followed, pulled: Pulled) -> Pull:
    write = pulled.at[2 * layer + 1]
    through = torch.zeros_like(write) if followed.no_units else _through_units(mlp, layer, followed, pulled)
    if mlp.skip is None:
        return through
    return through + write @ mlp.skip.matrix.T / mlp.units.read_scales[:, None]


def _through_units(mlp: Mlp, layer: int, followed: Followed, pulled: Pulled) -> Pull:
    units = mlp.units
    slopes = [
        pulled.at[2 * place + 1] / units.write_scales[place][:, None] @ writes.T
        for place, writes in units.writes.items()
        if 2 * place + 1 in pulled.at
    ]
    pulled.units[layer] = torch.stack(slopes).sum(0)
    return pulled.units[layer] * followed.of_units(layer, mlp) @ units.reads / units.read_scales[:, None]
