"""The archive of a view's numbers: what is in it, and that it says what it is."""

import csv
import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from headlight.app.exports.data import archive
from headlight.app.exports.export import Export
from headlight.app.pages.attention import EXPORT as ATTENTION
from headlight.app.pages.flow import EXPORT as FLOW
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.inside import EXPORT as INSIDE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.prompts import export as of_prompts
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.runs import runs
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import attend
from tests.app.exports.hostile import HOSTILE, LISTED, OTHER, PROMPTS, REFUSED, RUN, chosen

Files = dict[str, bytes]


def files(export: Export, comparison: Comparison, folder: str, **fields: object) -> Files:
    with zipfile.ZipFile(io.BytesIO(archive(comparison, export.data(comparison, chosen(folder, **fields))))) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def about(contents: Files) -> dict[str, Any]:
    return dict(json.loads(contents["about.json"]))


def arrays(contents: Files) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(contents["arrays.npz"])) as loaded:
        return dict(loaded)


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS, FLOW, GENERATE, PROMPTS])
def test_an_archive_says_what_its_numbers_are_of(export: Export, two: Comparison, folder: str) -> None:
    contents = files(export, two, folder, prompt_b=OTHER)
    said = about(contents)
    assert {run["prompt"] for run in said["runs"].values()} == {HOSTILE, OTHER}
    a = said["runs"]["A"]
    assert a["token ids"] == two.a.tokens.tolist()
    assert a["sha256 of the weights"] == hashlib.sha256(two.a.source.weights[0].read_bytes()).hexdigest()
    npz = arrays(contents)
    assert set(npz) == set(said["arrays.npz"])
    for name, array in npz.items():
        described = said["arrays.npz"][name]
        assert tuple(described["shape"]) == array.shape
        assert len(described["axes"]) == array.ndim
        assert described["unit"]
    for name, heading in said["tables"].items():
        assert next(csv.reader(io.StringIO(contents[name].decode("utf-8-sig")))) == heading


@pytest.mark.parametrize("export", [ATTENTION, INSIDE, RESIDUAL, LENS, FLOW, GENERATE, PROMPTS])
def test_the_same_numbers_give_the_same_bytes(export: Export, alone: Comparison, folder: str) -> None:
    made = [archive(alone, export.data(alone, chosen(folder))) for _ in range(2)]
    assert made[0] == made[1]


def test_cells_are_the_heads_patterns(alone: Comparison, folder: str) -> None:
    cells = arrays(files(ATTENTION, alone, folder))["A cells"]
    pattern = attend(alone.a, 0, 4).pattern.numpy()
    visible = np.tril(np.ones_like(pattern, dtype=bool))
    np.testing.assert_array_equal(np.isnan(cells[1]), ~visible)
    np.testing.assert_array_equal(cells[1][visible], pattern[visible])


def test_rows_of_a_difference_sum_to_zero(two: Comparison, folder: str) -> None:
    """A key that one run lacks has no weight there, so what one key gains others lose."""
    difference = arrays(files(ATTENTION, two, folder, prompt_b=OTHER))["B-A cells"]
    present = ~np.isnan(difference).all(-1)
    assert present.any()
    # Two rows that each sum to 1 up to float32's rounding.
    np.testing.assert_allclose(np.nansum(difference, -1), 0, atol=1e-5)


def test_shares_at_a_place_sum_to_one(alone: Comparison, folder: str) -> None:
    shares = arrays(files(RESIDUAL, alone, folder))["A component shares"]
    np.testing.assert_allclose(shares.sum(0), 1, rtol=1e-4)  # float32, of parts that cancel


def test_a_token_that_begins_a_formula_is_neutral_in_csv(alone: Comparison, folder: str) -> None:
    tokens = csv.reader(io.StringIO(files(ATTENTION, alone, folder)["tokens.csv"].decode("utf-8-sig")))
    begun = {cell for row in tokens for cell in row if "+" in cell or "=" in cell}
    assert begun == {"␣=", "'+", "<U+0000>"}


def test_cells_of_a_long_prompt_stay_out_of_csv(
    folder: str, alone: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.app.pages.attention.exports.MAX_ROWS", 100)
    contents = files(ATTENTION, alone, folder)
    assert "cells.csv" not in contents
    assert "A cells" in arrays(contents)


def test_the_prompts_array_belongs_to_the_rows_of_the_table(two: Comparison, folder: str) -> None:
    contents = files(PROMPTS, two, folder, prompt_b=OTHER, statistic="entropy", statistic_head=(2, 3))
    heading, *rows = csv.reader(io.StringIO(contents["prompts.csv"].decode("utf-8-sig"), newline=""))
    assert heading == ["prompt", "L2H3 Entropy (nats)", "tokens", "status", "from", "label kind", "label <b>no</b>"]
    assert [row[0] for row in rows] == [
        f"'{each.prompt.text}" if each.prompt.text[0] == "=" else each.prompt.text for each in LISTED
    ]
    assert [row[3] for row in rows] == [*["run"] * len(RUN), REFUSED.refused, "not run"]
    statistic = arrays(contents)["statistic"]
    own = [runs.head_statistics(folder, text, True).scores["entropy"].values.numpy() for text, _ in RUN]
    np.testing.assert_array_equal(statistic[: len(RUN)], own)
    assert np.isnan(statistic[len(RUN) :]).all()
    assert [float(row[1]) for row in rows[: len(RUN)]] == statistic[: len(RUN), 2, 3].tolist()


def test_a_prompt_that_is_listed_twice_counts_once(alone: Comparison, folder: str) -> None:
    """Prompts without repeated tokens have no induction, and count for nothing."""
    contents = files(PROMPTS, alone, folder)
    npz, said = arrays(contents), about(contents)
    once = npz["statistic"][: len(RUN) - 1]
    assert 0 < npz["count"].max() < len(once)
    np.testing.assert_array_equal(npz["count"], np.isfinite(once).sum(0))
    # float32 carries seven digits.
    np.testing.assert_allclose(npz["mean"], np.nanmean(once, 0), rtol=1e-5)
    np.testing.assert_allclose(npz["standard deviation"], np.nanstd(once, 0, ddof=1), rtol=1e-5)
    assert said["arrays.npz"]["count"]["unit"] == "prompts"
    rows = list(csv.reader(io.StringIO(contents["heads.csv"].decode("utf-8-sig"))))[1:]
    assert [float(row[1]) for row in rows] == npz["mean"].flatten().tolist()


def test_a_list_without_a_run_has_nothing_to_take_along() -> None:
    assert of_prompts((REFUSED, LISTED[-1])) is None
    assert of_prompts(()) is None
