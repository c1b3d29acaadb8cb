"""The archive of a view's numbers: what is in it, and that it says what it is."""

import csv
import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from app.exports.export import ATTENTION, LENS, RESIDUAL, Export
from app.exports.numbers.data import archive
from app.run import attend
from app.shown import Shown
from tests.app.exports.conftest import HOSTILE, OTHER, chosen

Files = dict[str, bytes]


def files(export: Export, shown: Shown, folder: str, **fields: object) -> Files:
    with zipfile.ZipFile(io.BytesIO(archive(shown, export.data(shown, chosen(folder, **fields))))) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def about(found: Files) -> dict[str, Any]:
    return dict(json.loads(found["about.json"]))


def arrays(found: Files) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(found["arrays.npz"])) as loaded:
        return dict(loaded)


@pytest.mark.parametrize("export", [ATTENTION, RESIDUAL, LENS])
def test_an_archive_says_what_its_numbers_are_of(export: Export, two: Shown, folder: str) -> None:
    found = files(export, two, folder, prompt_b=OTHER)
    said = about(found)
    assert {run["prompt"] for run in said["runs"].values()} == {HOSTILE, OTHER}
    a = said["runs"]["A"]
    assert a["token ids"] == two.a.tokens.tolist()
    assert a["sha256 of the weights"] == hashlib.sha256(two.a.source.weights[0].read_bytes()).hexdigest()
    held = arrays(found)
    assert set(held) == set(said["arrays.npz"])
    for name, array in held.items():
        described = said["arrays.npz"][name]
        assert tuple(described["shape"]) == array.shape
        assert len(described["axes"]) == array.ndim
        assert described["unit"]
    for name, heading in said["tables"].items():
        assert next(csv.reader(io.StringIO(found[name].decode("utf-8-sig")))) == heading


@pytest.mark.parametrize("export", [ATTENTION, RESIDUAL, LENS])
def test_the_same_numbers_give_the_same_bytes(export: Export, alone: Shown, folder: str) -> None:
    made = [archive(alone, export.data(alone, chosen(folder))) for _ in range(2)]
    assert made[0] == made[1]


def test_cells_are_the_heads_patterns(alone: Shown, folder: str) -> None:
    cells = arrays(files(ATTENTION, alone, folder))["A cells"]
    pattern = attend(alone.a, 0, 4).pattern.numpy()
    visible = np.tril(np.ones_like(pattern, dtype=bool))
    np.testing.assert_array_equal(np.isnan(cells[1]), ~visible)
    np.testing.assert_array_equal(cells[1][visible], pattern[visible])


def test_rows_of_a_difference_sum_to_zero(two: Shown, folder: str) -> None:
    """A key that one run lacks has no weight there, so what one key gains others lose."""
    difference = arrays(files(ATTENTION, two, folder, prompt_b=OTHER))["B-A cells"]
    present = ~np.isnan(difference).all(-1)
    assert present.any()
    # Two rows that each sum to 1 up to float32's rounding.
    np.testing.assert_allclose(np.nansum(difference, -1), 0, atol=1e-5)


def test_shares_at_a_place_sum_to_one(alone: Shown, folder: str) -> None:
    shares = arrays(files(RESIDUAL, alone, folder))["A component shares"]
    np.testing.assert_allclose(shares.sum(0), 1, rtol=1e-4)  # float32, of parts that cancel


def test_a_token_that_begins_a_formula_is_neutral_in_csv(alone: Shown, folder: str) -> None:
    tokens = csv.reader(io.StringIO(files(ATTENTION, alone, folder)["tokens.csv"].decode("utf-8-sig")))
    begun = {cell for row in tokens for cell in row if "+" in cell or "=" in cell}
    assert begun == {"␣=", "'+", "<U+0000>"}


def test_cells_of_a_long_prompt_stay_out_of_csv(folder: str, alone: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.exports.numbers.attention.MOST_ROWS", 100)
    found = files(ATTENTION, alone, folder)
    assert "cells.csv" not in found
    assert "A cells" in arrays(found)
