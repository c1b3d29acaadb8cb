"""The residual stream's tables, against the activations of a pass of their own."""

import csv
import io

import numpy as np
import pytest
import torch

from headlight.model import Comparison, compare, load, run_prompt
from headlight.model.attention.residual_tables import residual_tables
from headlight.model.runs.tables import Table, Tables, print_tables

A, B = "one two three", "one three three two"


@pytest.fixture(scope="module")
def tables() -> Tables:
    model = load("mini")
    return residual_tables(compare(run_prompt(model, A), run_prompt(model, B), "position"), place=2)


def rows_of(table: Table, side: str) -> list[list[object]]:
    return [list(row[1:]) for row in zip(*table.values(), strict=True) if row[0] == side]


def test_norms_are_those_of_the_models_own_stream(tables: Tables) -> None:
    model = load("mini")
    for side, prompt in (("A", A), ("B", B)):
        with torch.inference_mode():
            _, cache = model.run_with_cache(model.to_tokens(prompt, prepend_bos=True))
        states = [cache["resid_pre", 0], *(cache["resid_post", layer] for layer in range(model.cfg.n_layers))]
        expected = torch.stack([state[0].norm(dim=-1) for state in states]).flatten()
        # float32, the stream summed from its parts: its rounding.
        np.testing.assert_allclose([row[-1] for row in rows_of(tables["norms"], side)], expected, rtol=1e-5)


def test_differences_are_of_the_places_that_both_have(tables: Tables) -> None:
    a, b, apart = (
        {(layer, place): value for layer, place, value in rows_of(tables["norms"], side)}
        for side in ("A", "B", "B - A")
    )
    assert set(apart) == set(a) & set(b) != set(b)
    assert apart == pytest.approx({at: b[at] - a[at] for at in apart}, abs=1e-5)  # float32


def test_the_shares_of_all_that_wrote_sum_to_one(tables: Tables) -> None:
    for side, total in (("A", 1), ("B", 1), ("B - A", 0)):
        assert sum(row[-1] for row in rows_of(tables["components"], side)) == pytest.approx(total, abs=1e-4)  # float32


def test_one_run_has_no_difference_and_ends_at_its_last_token() -> None:
    run = run_prompt(load("mini"), A)
    alone = residual_tables(Comparison(run))
    assert set(alone["norms"]["run"]) == {"A"}
    assert alone["components"] == residual_tables(Comparison(run), place=len(run.tokens) - 1)["components"]


def test_printed_tables_are_csv_with_an_empty_line_between(capsys: pytest.CaptureFixture[str]) -> None:
    print_tables(
        {"one": {"text": ['a "b",\n'], "value": [0.5]}, "other": {"text": [None, "="], "value": [float("nan"), 3]}}
    )
    printed = capsys.readouterr().out
    first, second = printed.removesuffix("\n\n").split("\n\n")
    assert list(csv.reader(io.StringIO(first))) == [["text", "value"], ['a "b",\n', "0.5"]]
    assert list(csv.reader(io.StringIO(second))) == [["text", "value"], ["", ""], ["=", "3"]]
