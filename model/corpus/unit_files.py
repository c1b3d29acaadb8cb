"""A scan's neurons and features as files beside those of its heads: `units/neurons/L3.safetensors`, one a layer.

HeadVis's own page has no such files and leaves them alone. One unit's rows are read where it is looked at. Token ids
stand for themselves: their text is the tokenizer's.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped
from safetensors import safe_open
from safetensors.numpy import save

from headlight.model.base.errors import ScanError
from headlight.model.base.file_copies import mappable
from headlight.model.base.files import refuse_pointer
from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.folder import UNITS
from headlight.model.corpus.packing import of_texts, refusing_damage, to_texts
from headlight.model.corpus.sequences import MAX_SEQUENCES
from headlight.model.corpus.tree import Histogram, Tree, UnitDashboard, Window
from headlight.model.corpus.units import BINS, MAX_PEAKS, OTHERS, SLOTS, STEPS, WIDTH, Units, in_order

KEPT = ("strengths", "starts", "peaks", "tokens", "values")
NONE = np.iinfo(np.uint16).max  # where a window has no token, in a file of so short ones
MAX_NAMES = 2**26  # bytes of documents' names


def write_units(folder: Path, units: Mapping[str, Units], names: Mapping[int, str]) -> None:
    """Write the files of all layers.

    Raises:
        ScanError: the disk is full, or the folder cannot be written to.
    """
    for key, each in units.items():
        kind, layer = key.split(".")
        write_whole(folder / UNITS / kind / f"L{layer}.safetensors", save(_arrays(each, names)))


def _arrays(units: Units, names: Mapping[int, str]) -> dict[str, Shaped[np.ndarray, "..."]]:
    order = np.lexsort((units.slots["sequences"], -units.slots["strengths"]), axis=-1)
    slots = in_order(units.slots, order)
    used = np.unique(slots["sequences"] // MAX_SEQUENCES)
    used = used[used >= 0]
    tokens, weights = _top(units)
    if units.top_tokens.size <= NONE:  # half as long, with -1 as the largest
        slots["tokens"] = slots["tokens"].astype(np.uint16)
    return {
        "density": (units.active / max(units.n_tokens, 1)).astype(np.float32),
        "mean": (units.sums / max(units.n_tokens, 1)).astype(np.float32),
        "largest": units.largest,
        "reach": units.reach.astype(np.float32),
        "histogram": units.histogram.astype(np.int32),
        "top_tokens": tokens,
        "top_weights": weights,
        "buckets": np.where(order < OTHERS, order + 1, OTHERS + 1).astype(np.uint8),
        "documents": np.searchsorted(used, slots["sequences"] // MAX_SEQUENCES).astype(np.int32),
        "names": of_texts([names[document] for document in used.tolist()]),
        **{name: slots[name].astype(np.int32) if name == "starts" else slots[name] for name in KEPT},
    }


def _top(units: Units) -> tuple[Int[np.ndarray, "unit _"], Float[np.ndarray, "unit _"]]:
    n_units = len(units.active)
    tokens, weights = np.full((n_units, MAX_PEAKS), -1, np.int32), np.zeros((n_units, MAX_PEAKS), np.float32)
    for unit in range(n_units):
        for place, (token, weight) in enumerate(units.top_tokens.top(unit, MAX_PEAKS)):
            tokens[unit, place], weights[unit, place] = token, weight
    return tokens, weights


def read_unit(tree: Tree, kind: str, layer: int, index: int) -> UnitDashboard | None:
    """Read a scan's results for one of its "neurons" or "features"; None where it has not watched that.

    Raises:
        ScanError: the file is damaged.
    """
    path = tree.folder / UNITS / kind / f"L{layer}.safetensors"
    if not path.exists():
        return None
    with refusing_damage(f"{UNITS}/{kind}/{path.name}", "Make the scan again."):
        refuse_pointer(path)
        with mappable(path) as at, safe_open(at, "numpy") as file:
            if not 0 <= index < file.get_slice("density").get_shape()[0]:
                return None
            rows = {name: _row(file.get_slice(name), name, index) for name in SHAPES}
            if file.get_slice("names").get_shape()[0] > MAX_NAMES:
                raise ScanError(f"{path.name} names too many documents. Make the scan again.")
            names = to_texts(file.get_tensor("names").astype(np.uint8))
        return _dashboard(layer, index, rows, names)


SHAPES: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("density", "mean", "largest", "reach"), ()),
    "histogram": (BINS,),
    **dict.fromkeys(("top_tokens", "top_weights"), (MAX_PEAKS,)),
    **dict.fromkeys(("buckets", "documents", "strengths", "starts", "peaks"), (SLOTS,)),
    **dict.fromkeys(("tokens", "values"), (SLOTS, WIDTH)),
}


def _row(column: Any, name: str, index: int) -> Shaped[np.ndarray, "..."]:
    row: Shaped[np.ndarray, ...] = np.asarray(column[index : index + 1][0])
    if row.shape != SHAPES[name] or not np.isfinite(row).all():
        raise ValueError(f"{name} is not what it has to be")
    return row


def _dashboard(
    layer: int, index: int, rows: Mapping[str, Shaped[np.ndarray, "..."]], names: Sequence[str]
) -> UnitDashboard:
    tops = zip(rows["top_tokens"].tolist(), rows["top_weights"].tolist(), strict=True)
    edges = np.linspace(0, float(rows["reach"]), BINS + 1)
    return UnitDashboard(
        layer,
        index,
        density=float(rows["density"]),
        mean=float(rows["mean"]),
        largest=float(rows["largest"]),
        histogram=Histogram(tuple(edges.tolist()), tuple(rows["histogram"].tolist())),
        top_tokens=tuple((token, weight) for token, weight in tops if token >= 0),
        windows=tuple(_window(rows, slot, names) for slot in range(SLOTS) if rows["strengths"][slot] > 0),
    )


def _window(rows: Mapping[str, Shaped[np.ndarray, "..."]], slot: int, names: Sequence[str]) -> Window:
    tokens, strength = rows["tokens"][slot], float(rows["strengths"][slot])
    inside = tokens != NONE if tokens.dtype == np.uint16 else tokens >= 0
    if not inside.any() or rows["documents"][slot] < 0:
        raise ValueError("a window without a token or a document")
    return Window(
        int(rows["buckets"][slot]),
        strength,
        names[int(rows["documents"][slot])],
        int(rows["starts"][slot]),
        min(max(int(rows["peaks"][slot]), 0), int(inside.sum()) - 1),
        tuple(tokens[inside].tolist()),
        rows["values"][slot][inside] / np.float32(STEPS) * strength,
    )
