"""The manual's table of architectures is of all that are opened, and says what was measured."""

import re

from headlight.model.checkpoints.families import ENCODERS, FAMILIES, OWN, SEQ2SEQ_FAMILIES
from tests.model.checkpoints import architectures, format_table, seq2seq_twins, table
from tests.model.checkpoints.twins import TOLERANCE

MARIAN = "marian"  # has tests of its own
TRANSFORMERS = {*FAMILIES, *SEQ2SEQ_FAMILIES} - {*OWN, *ENCODERS, "headlight_seq2seq", MARIAN}


def _rows() -> list[list[str]]:
    table_text = table.ARCHITECTURES.read_text(encoding="utf-8").partition(table.BEGIN)[2].partition(table.END)[0]
    return [line.strip("| ").split(" | ") for line in table_text.strip().splitlines()[2:]]


def test_every_architecture_that_is_opened_has_three_configs_and_a_row() -> None:
    names = (*dict(architectures.every()), *seq2seq_twins.CONFIGS)
    cases = [name.partition(":")[0] for name in names]
    assert set(cases) == TRANSFORMERS
    assert min(map(cases.count, TRANSFORMERS)) >= 3
    assert [(name, int(n)) for name, n, *_ in _rows()] == [(name, cases.count(name)) for name in sorted(TRANSFORMERS)]


def test_every_difference_in_the_table_is_within_the_tolerance() -> None:
    differences = [float(each) for _, _, *of_kinds in _rows() for each in of_kinds]
    assert len(differences) == len(table.KINDS) * len(TRANSFORMERS)
    assert max(differences) <= TOLERANCE


def test_a_row_is_the_largest_of_each_kind() -> None:
    case = dict(architectures.every())["gpt2: tied"]
    row = table.Row("gpt2", 1, table.largest(case))
    assert re.fullmatch(r"\| gpt2 \| 1( \| \de-0\d){3} \|", str(row))
    assert 0 < min(row.largest) <= max(row.largest) <= TOLERANCE


def test_every_format_has_its_row_in_the_manual_within_the_tolerance() -> None:
    rows = format_table.of_page()
    assert [row[:3] for row in rows] == [[each.name, each.example, each.reference] for each in format_table.TABLE]
    assert max(float(row[3]) for row in rows) <= TOLERANCE


def test_a_formats_row_says_what_was_measured() -> None:
    row = next(each for each in format_table.TABLE if each.name == "folder, pickled").row()
    assert re.fullmatch(r"\| folder, pickled \| `pytorch_model\.bin` \| transformers' model \| \de-0\d \|", row)
    assert 0 < float(row.split(" | ")[-1].strip("| ")) <= TOLERANCE
