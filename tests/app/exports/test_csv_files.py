"""Tables as csv files, read back with pandas."""

import csv
import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headlight.app.exports.csv_files import csv_bytes


def _cells(data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data), encoding="utf-8-sig", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1", "=cmd|' /C calc'!A0"])
@pytest.mark.parametrize("before", ["", "x;;", "\t", "\r", "\n", "x;", "x\t", "x\r\n", "x; ", 'x;"', " "])
def test_what_looks_like_a_formula_is_neutralised_wherever_a_cell_may_begin(before: str, formula: str) -> None:
    """Spreadsheets of many countries end cells at semicolons, in a file of commas too, and do not see its quotes."""
    cells = _cells(csv_bytes({"prompt": [f"{before}{formula}"]}))
    assert cells["prompt"].tolist() == [f"{before}'{formula}"]
    assert list(_cells(csv_bytes({formula: ["x"]}))) == [f"'{formula}"]
    for delimiter in ";\t":
        text = csv_bytes({"n": ["x"], "prompt": [f"{before}{formula}"]}).decode("utf-8-sig")
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        assert not [cell for row in rows for cell in row if cell.lstrip(' \t\r\n"').startswith(formula[0])]


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
    harmless = [f"x{re.sub('[-=+@＝＋－＠]', '', text)}" for text in texts]
    assert _cells(csv_bytes({"prompt": harmless, "n": harmless}))["prompt"].tolist() == harmless
