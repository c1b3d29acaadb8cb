"""Calibrate a scan on the corpus's first sequences: bucket boundaries, and mean head outputs for ablation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headlight.model.corpus.packing import by_prefix, packed, unpacked
from headlight.model.corpus.samples import boundaries
from headlight.model.corpus.sequences import Batch, CutSequence, batches, show
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.units import BUCKETS, UnitCalibration
from headlight.model.corpus.watching import Key, UnitTap, Watched
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Calibration:
    """Lower boundaries of all buckets but the first, and every head's mean z."""

    boundaries: Float[np.ndarray, "layer head later_bucket"]
    means: Float[np.ndarray, "layer head d_value"]
    units: Mapping[Key, UnitCalibration] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Serialize to the bytes of a file."""
        units = {
            f"{key}:{name}": each for key, calibration in self.units.items() for name, each in vars(calibration).items()
        }
        return packed({"boundaries": self.boundaries, "means": self.means, **units})

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> "Calibration":
        """Read the output of `to_bytes`."""
        arrays = unpacked(data, name)
        units = {key: UnitCalibration(**each) for key, each in by_prefix(arrays).items()}
        return cls(arrays["boundaries"], arrays["means"], units)


@dataclass(frozen=True, eq=False)
class CalibrationPart:
    """A shard's share of the calibration: strengths, z summed over positions, and the number of positions."""

    strengths: Float[np.ndarray, "sequence layer head"]
    sums: Float[np.ndarray, "layer head d_value"]
    n_positions: int
    units: Mapping[Key, Float[np.ndarray, "sequence unit"]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Serialize to the bytes of a file."""
        units = {f"{key}:strengths": each for key, each in self.units.items()}
        own = {"strengths": self.strengths, "sums": self.sums, "n_positions": np.array(self.n_positions)}
        return packed({**own, **units})

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> "CalibrationPart":
        """Read the output of `to_bytes`."""
        arrays = unpacked(data, name)
        units = {key: each["strengths"] for key, each in by_prefix(arrays).items()}
        return cls(arrays["strengths"], arrays["sums"], int(arrays["n_positions"]), units)


def calibrate(
    model: Transformer, sequences: Sequence[CutSequence], settings: ScanSettings, units: Sequence[Watched]
) -> CalibrationPart:
    """Compute a shard's share of the calibration."""
    cfg = model.cfg
    strengths, sums = np.zeros((0, cfg.n_layers, cfg.n_heads)), np.zeros((cfg.n_layers, cfg.n_heads, cfg.d_value or 0))
    n_positions, of_units = 0, defaultdict[Key, list[Float[np.ndarray, " unit"]]](list)

    def see(key: Key, sequence: CutSequence, acts: Float[Tensor, "pos unit"]) -> None:
        of_units[key].append(acts.amax(0).numpy())

    for batch in batches(sequences, settings.n_at_once(cfg.n_ctx)):
        tap = _CalibrationTap(model, batch)
        show(model, batch, tap, UnitTap(units, batch, see))
        if np.isfinite(tap.sums).all():  # else the shard finds out which document it is
            strengths, sums = np.concatenate([strengths, tap.strengths]), sums + tap.sums
            n_positions += int(batch.lengths.sum())
    return CalibrationPart(strengths, sums, n_positions, {key: np.stack(each) for key, each in of_units.items()})


def merge_parts(parts: Sequence[CalibrationPart], n_intervals: int) -> Calibration:
    """Combine the shares of several shards, which have at least one sequence."""
    sums, n_positions = sum(part.sums for part in parts), sum(part.n_positions for part in parts)
    strengths = np.concatenate([part.strengths for part in parts])
    units = {}
    for key in sorted({key for part in parts for key in part.units}):
        together = np.concatenate([part.units[key] for part in parts if key in part.units]).clip(min=0)
        units[key] = UnitCalibration(boundaries(together, BUCKETS), together.max(0))
    return Calibration(boundaries(strengths, n_intervals), np.asarray(sums / n_positions), units)


class _CalibrationTap(Tap):
    def __init__(self, model: Transformer, batch: Batch) -> None:
        heads = (model.cfg.n_layers, model.cfg.n_heads)
        self.strengths, self.sums = np.zeros((len(batch.tokens), *heads)), np.zeros((*heads, model.cfg.d_value or 0))
        self._real = batch.real.to(model.embed.W_E.device)

    def look(self, name: str) -> Look:
        return Look.WHOLE if name.endswith(("attn.hook_pattern", "attn.hook_z")) else Look.NEVER

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if self.look(name):
            layer = int(name.split(".")[1])
            if name.endswith("hook_pattern"):
                seen = activation[:, :, 1:, 1:].masked_fill(~self._real[:, None, 1:, None], 0)
                self.strengths[:, layer] = seen.amax((-2, -1)).cpu().numpy()
            else:
                real = activation.masked_fill(~self._real[:, :, None, None], 0)
                self.sums[layer] = real.double().sum((0, 1)).cpu().numpy()
        return activation
