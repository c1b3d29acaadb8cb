"""Tables as csv files, read back with pandas."""

import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.exports.csv_files import csv_bytes


def _cells(data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data), encoding="utf-8-sig", dtype=str, keep_default_na=False)


@pytest.mark.parametrize(
    "formula", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "=cmd|' /C calc'!A0"]
)
def test_a_text_that_looks_like_a_formula_is_neutralised(formula: str) -> None:
    found = _cells(csv_bytes({"prompt": [formula]}))
    assert found["prompt"].tolist() == [f"'{formula}"]
    assert list(_cells(csv_bytes({formula: ["x"]}))) == [f"'{formula}"]


def test_numbers_stay_numbers_in_all_their_digits() -> None:
    values = [-1.5, 0.1 + 0.2, -3, float("nan"), None]
    lines = csv_bytes({"value": values}).decode("utf-8-sig").splitlines()
    assert lines == ["value", "-1.5", "0.30000000000000004", "-3", "nan", '""']


def test_a_spreadsheet_recognises_the_encoding() -> None:
    assert csv_bytes({"prompt": ["é"]}) == b"\xef\xbb\xbfprompt\r\n\xc3\xa9\r\n"


def test_columns_have_one_length() -> None:
    with pytest.raises(ValueError, match="shorter"):
        csv_bytes({"a": ["1", "2"], "b": ["1"]})


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), min_size=1))
def test_every_other_text_comes_back_as_it_was(texts: list[str]) -> None:
    harmless = [f"x{text}" for text in texts]
    assert _cells(csv_bytes({"prompt": harmless, "n": harmless}))["prompt"].tolist() == harmless
