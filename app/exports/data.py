"""A view's numbers, and the archive in which they travel."""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int
from torch import Tensor

from headlight.app.exports.csv_files import Cell, csv_bytes
from headlight.app.exports.facts import Subject, facts
from headlight.model.measure import Measure


@dataclass(frozen=True, eq=False)
class Count:
    """Counts of something, laid out as a `Measure` is; the unit names what is counted."""

    name: str
    unit: str
    axes: tuple[str, ...]
    values: Int[Tensor, "..."]


Table = Mapping[str, Sequence[Cell]]


@dataclass(frozen=True, eq=False)
class Data:
    """Numbers of a view: tables for reading, arrays for computing, and in `shows` their subject.

    Every table that tells runs apart has a column `run`: A, B or B - A. Places are those of the common axis.
    """

    view: str
    shows: Mapping[str, Any]
    tables: Mapping[str, Table]
    arrays: Mapping[str, Measure | Count]


def of_sides(name: str, measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """A measure of A, B and B - A as entries of the npz."""
    return {f"{side.replace(' ', '')} {name}": measure for side, measure in measures.items()}


def archive(runs: Subject, data: Data) -> bytes:
    """Zip with each table as csv, all arrays as one npz, and about.json, which describes them.

    The same numbers give the same bytes: no file carries a date.
    """
    files = {f"{name}.csv": csv_bytes(table) for name, table in data.tables.items()}
    files["arrays.npz"] = _npz(data.arrays)
    files["about.json"] = json.dumps(_about(runs, data), indent=2, ensure_ascii=False).encode("utf-8", "replace")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # with the date of the format's own beginning
            entry.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(entry, content)
    return packed.getvalue()


def _npz(arrays: Mapping[str, Measure | Count]) -> bytes:
    target = io.BytesIO()
    values: dict[str, Any] = {name: measure.values.numpy() for name, measure in arrays.items()}
    np.savez(target, **values)
    return target.getvalue()


def _about(runs: Subject, data: Data) -> dict[str, Any]:
    return {
        "made with": "Headlight",
        "view": data.view,
        "shows": data.shows,
        "runs": facts(runs),
        "tables": {f"{name}.csv": list(table) for name, table in data.tables.items()},
        "arrays.npz": {
            name: {
                "name": measure.name,
                "unit": measure.unit,
                "axes": measure.axes,
                "shape": tuple(measure.values.shape),
            }
            for name, measure in data.arrays.items()
        },
    }
