"""Files of sets, written byte for byte as the programs write them that made the formats."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from headlight.model import HeadlightError, load
from headlight.model.prompt_sets.columns import ColumnMatching
from headlight.model.prompt_sets.encoding import to_tokens
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.model.prompt_sets.reading import columns_of, read_prompt_set, to_jsonl

CLEAN = "Then, Aaron and Amber were working at the house. Aaron decided to give a drink to"
CORRUPTED = "Then, Aaron and Amber were working at the house. Tiffany decided to give a drink to"
# The first lines of EAP-IG's two files, with pandas' index as a column without a name.
EAP_IG = f"""\
,clean,corrupted,corrupted_hard,correct_idx,incorrect_idx
470,"{CLEAN}","{CORRUPTED}","x, y",47764,26757
"""
EAP_IG_YEARS = """\
clean,corrupted,label
The contract lasted from the year 1352 to the year 13,The contract lasted from the year 1301 to the year 13,52
The plan lasted from the year 1605 to the year 16,The plan lasted from the year 1601 to the year 16,05
"""
AUTO_CIRCUIT = """\
{
  "word_idxs": {
    "IO": 2,
    "S1": 4,
    "S2": 10,
    "end": 14
  },
  "prompts": [
    {
      "clean": "Then, Scott and Jeremy went to the hospital. Jeremy gave a snack to",
      "corrupt": "Then, Michael and Anderson went to the hospital. Rachel gave a snack to",
      "answers": [
        " Scott"
      ],
      "wrong_answers": [
        " Jeremy"
      ]
    }
  ]
}"""
MIB_IOI = {
    "prompt": "As Carl and Maria left the consulate, Carl gave a fridge to",
    "template": "As {name_A} and {name_B} left the {place}, {name_C} gave a {object} to",
    "metadata": {"indirect_object": "Maria", "object": "fridge", "place": "consulate", "subject": "Carl"},
    "choices": ["Maria", "Carl"],
    "answerKey": 0,
    "abc_counterfactual": {"prompt": "As Anna and Tom left …", "choices": ["Anna", "Tom"], "answerKey": 0},
    "s2_io_flip_counterfactual": {
        "prompt": "As Carl and Maria left the consulate, Maria gave a fridge to",
        "choices": ["Maria", "Carl"],
        "answerKey": 1,
    },
}
MIB_CHOICES = {
    "prompt": "Question: The box is red. What color is the box?\nA. red\nB. blue\nAnswer:",
    "choices": {"label": [" A", " B"], "text": ["red", "blue"]},
    "answerKey": 0,
    "answerPosition_counterfactual": {"prompt": "z", "choices": {"label": [" A", " B"]}, "answerKey": 1},
    "symbol_counterfactual": {"prompt": "y", "choices": {"label": [" X", " Q"]}, "answerKey": 1},
}
MIB_SUM = {"prompt": "12+34=", "label": "46", "random_counterfactual": {"prompt": "50+34=", "label": "84"}}
ARENA = {
    "clean_prompts": ["When Mary and John", "When Tom and James"],
    "corrupted_prompts": ["When John and Mary", "When James and Tom"],
    "answer_token_indices": [[5335, 1757], [4186, 3700]],
}
TOKENS = {"clean_tokens": [[50256, 2215, 11]], "corrupted_tokens": [[50256, 2216, 11]], "answers": [[" Mary", " John"]]}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def read(text: str, suffix: str, matching: ColumnMatching | None = None) -> PromptSet:
    return read_prompt_set(text.encode(), matching, name=f"set{suffix}")


def test_eap_ig_writes_token_ids() -> None:
    (row,) = read(EAP_IG, ".csv").rows
    assert (row.clean, row.corrupted) == (CLEAN, CORRUPTED)
    assert (row.answers, row.wrong_answers) == ((47764,), (26757,))
    assert row.labels["corrupted_hard"] == "x, y"


def test_eap_igs_years_have_all_above_as_answers() -> None:
    first, second = read(EAP_IG_YEARS, ".csv").rows
    assert first.answers == tuple(str(year) for year in range(53, 100))
    assert first.wrong_answers == tuple(f"{year:02d}" for year in range(53))
    assert (len(second.answers), second.answers[0], second.wrong_answers[-1]) == (94, "06", "05")
    with pytest.raises(HeadlightError, match=r"set.csv: Row 1 \(Line 2\): its “label” is 99"):
        read("clean,corrupted,label\nin 1799,b,99\n", ".csv")


def test_a_number_that_is_no_year_of_its_prompt_is_a_label() -> None:
    """Classes of a labelled file, beside the prompts that differ in them."""
    table = "clean,corrupted,label\nIt was good in 1990,It was bad in 1990,1\nIt was awful,It was fine,0\n"
    assert [row.labels for row in read(table, ".csv").rows] == [{"label": "1"}, {"label": "0"}]
    assert not any(row.answers for row in read(table, ".csv").rows)
    (year,) = read("clean,corrupted,label\nfrom 1602 to 16,from 1601 to 16,2\n", ".csv").rows  # as pandas writes 02
    assert year.answers[0] == "03"
    (ids,) = read(lines({"clean": [1, 2], "corrupted": [1, 3], "label": 1}), ".jsonl").rows
    assert ids.labels == {"label": "1"}


def test_auto_circuit_counts_tokens_without_the_beginning() -> None:
    (row,) = read(AUTO_CIRCUIT, ".json").rows
    assert row.corrupted == "Then, Michael and Anderson went to the hospital. Rachel gave a snack to"
    assert (row.answers, row.wrong_answers) == ((" Scott",), (" Jeremy",))
    assert row.positions["S2"] == (10, 10)


def test_mibs_counterfactuals_are_columns() -> None:
    (row,) = read(lines(MIB_IOI), ".jsonl").rows
    assert row.corrupted == "As Carl and Maria left the consulate, Maria gave a fridge to"
    assert (row.answers, row.wrong_answers) == (("Maria",), ("Carl",))
    assert row.labels["metadata.subject"] == "Carl"
    chosen = ColumnMatching("prompt", "abc_counterfactual.prompt", "metadata.indirect_object", "metadata.subject")
    (row,) = read(lines(MIB_IOI), ".jsonl", chosen).rows
    assert (row.corrupted, row.answers, row.wrong_answers) == ("As Anna and Tom left …", ("Maria",), ("Carl",))
    (row,) = read(lines(MIB_CHOICES), ".jsonl").rows
    assert (row.corrupted, row.answers, row.wrong_answers) == ("y", (" A",), (" Q",))
    (row,) = read(lines(MIB_SUM), ".jsonl").rows
    assert (row.corrupted, row.answers, row.wrong_answers) == ("50+34=", ("46",), ("84",))


def test_lists_of_transformer_lens_and_arena_are_columns() -> None:
    first, second = read(json.dumps(ARENA), ".json").rows
    assert (first.clean, first.corrupted) == ("When Mary and John", "When John and Mary")
    assert (second.answers, second.wrong_answers) == ((4186,), (3700,))
    (row,) = read(json.dumps(TOKENS), ".json").rows
    assert (row.clean, row.corrupted) == ((50256, 2215, 11), (50256, 2216, 11))
    assert (row.answers, row.wrong_answers) == ((" Mary",), (" John",))
    with pytest.raises(HeadlightError, match="clean_prompts 2, corrupted_prompts 1"):
        read(json.dumps(ARENA | {"corrupted_prompts": ["x"]}), ".json")


def test_a_pandas_table_is_the_same_in_every_form(tmp_path: Path) -> None:
    """Parquet, with nested columns, and a folder of `datasets`, written by their own libraries."""
    datasets, parquet, pyarrow = (pytest.importorskip(name) for name in ("datasets", "pyarrow.parquet", "pyarrow"))
    rows = [MIB_IOI, MIB_IOI | {"prompt": "Another prompt"}]
    data = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), data)
    expected = read(lines(*rows), ".jsonl").rows
    assert read_prompt_set(data.getvalue(), name="set.parquet").rows == expected
    datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)}).save_to_disk(tmp_path / "saved")
    assert read_prompt_set(tmp_path / "saved", split="test").rows == expected
    assert len(read_prompt_set(tmp_path / "saved", split="test", at_most=1).rows) == 1
    with pytest.raises(HeadlightError, match="Give one of test"):
        read_prompt_set(tmp_path / "saved")


def test_unknown_columns_are_listed_and_matched() -> None:
    text = "eins\tzwei\tja\tnein\tS1\tthema\nThe girl\tThe boy\t is|was\t are\t4:8\tpeople\n"
    columns = columns_of(text.encode(), "set.tsv")
    assert columns.names == ("eins", "zwei", "ja", "nein", "S1", "thema")
    assert columns.examples[0]["thema"] == "people"
    assert columns.matching == ColumnMatching()
    with pytest.raises(HeadlightError, match="The columns are eins, zwei"):
        read(text, ".tsv")
    (row,) = read(text, ".tsv", ColumnMatching("eins", "zwei", "ja", "nein", positions=("S1",))).rows
    assert row == PromptPair(
        "The girl", "The boy", (" is", " was"), (" are",), {"S1": ((4, 8), None)}, {"thema": "people"}
    )


def test_a_set_written_as_json_lines_is_read_back() -> None:
    rows = (
        PromptPair("a b", "a c", (" d", 5), (" e",), {"x": ((0, 1), (2, 3)), "y": (-1, None)}, {"text": "a, b"}),
        PromptPair((1, 2), None, (3,)),
    )
    assert read(to_jsonl(PromptSet("mine", rows)), ".jsonl").rows == rows


@pytest.mark.parametrize(
    ("text", "suffix", "matching", "message"),
    [
        ("clean,Clean\na,b\n", ".csv", None, "'Clean' twice"),
        ("clean\n", ".csv", None, "no rows"),
        ("clean,corrupted\na\n", ".csv", None, "Line 2 has 1 fields"),
        ("clean,correct_idx\na,Mary\n", ".csv", None, r"Row 1 \(Line 2\): its “correct_idx” is “Mary”, no token id"),
        ('{"clean": 5}', ".jsonl", None, "is “5”, not a text in quotes, or a list of token ids"),
        ('{"clean": "a", "answers": [1.5]}', ".jsonl", None, "no answer"),
        ("a,b\nx,y\n", ".csv", ColumnMatching("a", "a"), "'a' is matched twice"),
        ("a,b\nx,y\n", ".csv", ColumnMatching("a", wrong_answers="b"), "no answers"),
        ("a,b\nx,y\n", ".csv", ColumnMatching("a", "c"), "There is no column 'c'"),
        ("a,b\nx,y\n", ".csv", ColumnMatching("a", positions=("b",)), "no position"),
        ("clean\na\n", ".txt", None, "ends in '.txt'"),
        ('{"clean": ["a"], "clean": ["b"]}', ".json", None, "lost"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_row(
    text: str, suffix: str, matching: ColumnMatching | None, message: str
) -> None:
    with pytest.raises(HeadlightError, match=message):
        read(text, suffix, matching)


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ("clean,answers\n\nThe girl, is\n  \n,\n , \nThe boys, are\n\n,\n", ".csv"),
        ("clean\tanswers\n\t\nThe girl\t is\n\nThe boys\t are\n\t \n", ".tsv"),
        ('\n{"clean": "The girl", "answers": " is"}\n\n  \n{"clean": "The boys", "answers": " are"}\n\n', ".jsonl"),
    ],
)
def test_blank_rows_are_no_rows(text: str, suffix: str) -> None:
    """Rows that spreadsheets leave behind, and empty lines, neither count nor shift the numbers of the others."""
    rows = read(text, suffix).rows
    assert [(row.clean, row.answers) for row in rows] == [("The girl", (" is",)), ("The boys", (" are",))]


def test_an_empty_cell_leaves_out_its_row_alone() -> None:
    tokenizer = load("mini").tokenizer
    assert tokenizer is not None
    text = "clean,corrupted,answer\nThe girl,The boy, is\n,The boy, is\nThe girl,, is\nThe girl,The boy,\n"
    encoded = to_tokens(read(text, ".csv"), tokenizer)
    assert [row.number for row in encoded.rows] == [1]
    assert [encoded.refused[n].partition(".")[0] for n in (2, 3, 4)] == [
        "Row 2: Its clean prompt is empty",
        "Row 3: Its corrupted prompt is empty",
        "Row 4: An answer is empty",
    ]


def test_too_many_rows_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.model.prompt_sets.reading.MAX_ROWS", 3)
    assert len(read("clean\n" + "a\n" * 3, ".csv").rows) == 3
    with pytest.raises(HeadlightError, match="more than 3 rows"):
        read("clean\n" + "a\n" * 4, ".csv")
