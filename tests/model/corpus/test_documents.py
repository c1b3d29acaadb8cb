"""Documents of every kind of file, and what of them is no text."""

import json
from pathlib import Path

import pytest

from headlight.model.corpus.documents import PIECE, open_corpus
from headlight.model.corpus.sequences import cut, lot
from headlight.model.errors import InputError

TEXTS = ["one", "two, too", 'three "3"\nlines']


def _texts(path: Path, column: str = "text") -> list[tuple[str, str | None]]:
    return [(each.name, each.text) for each in open_corpus(str(path), column).documents()]


def test_tables_give_a_document_a_row(tmp_path: Path) -> None:
    import datasets
    import pandas as pd

    table = pd.DataFrame({"text": TEXTS, "n": range(3)})
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_csv(tmp_path / "b.tsv", index=False, sep="\t")
    table.to_parquet(tmp_path / "c.parquet")
    table.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(tmp_path / "saved")
    for path in sorted(tmp_path.iterdir()):
        corpus = open_corpus(str(path))
        assert [each.text for each in corpus.documents()] == TEXTS, path
        assert (corpus.count(), corpus.count(2)) == (3, 2)
        with pytest.raises(InputError, match="Nearest: text"):
            list(open_corpus(str(path), "txt").documents())


def test_text_files_are_cut_at_lines_and_lose_nothing(tmp_path: Path) -> None:
    text = "".join(f"{number} and so on\n" for number in range(2000))
    (tmp_path / "long.txt").write_text(text)
    found = _texts(tmp_path / "long.txt")
    assert "".join(each or "" for _, each in found) == text
    assert all(len(each or "") < PIECE + 20 for _, each in found)
    for name, each in found[1:]:
        assert text.splitlines(keepends=True)[int(name.partition(":")[2]) - 1] == (each or "").splitlines(True)[0]


def test_what_is_no_text_is_named_and_keeps_its_number(tmp_path: Path) -> None:
    rows = [
        json.dumps({"text": "good"}),
        json.dumps({"text": 3}),
        "{",
        json.dumps({"other": "x"}),
        '{"text": "\\ud800"}',
    ]
    (tmp_path / "a.jsonl").write_text("\n".join([*rows, json.dumps({"text": "last"})]))
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\xfd")
    found = list(open_corpus(str(tmp_path)).documents())
    assert [each.index for each in found] == list(range(7))
    assert [each.name for each in found if each.text is None] == [
        "a.jsonl:2",
        "a.jsonl:3",
        "a.jsonl:4",
        "a.jsonl:5",
        "b.bin",
    ]
    assert all(each.reason for each in found if each.text is None)


@pytest.mark.parametrize("given", ["nowhere", "nowhere.csv", "tests/nowhere"])
def test_what_is_not_there_is_said_with_what_may_be(given: str) -> None:
    with pytest.raises(InputError, match=r"A corpus is a text file, a .jsonl"):
        open_corpus(given)


def test_documents_are_cut_into_sequences_that_begin_alike() -> None:
    found = cut(3, "a", range(10), 5, bos=99)
    assert [(each.start, each.tokens) for each in found] == [
        (0, (99, 0, 1, 2, 3)),
        (4, (99, 4, 5, 6, 7)),
        (8, (99, 8, 9)),
    ]
    assert [each.tokens for each in cut(3, "a", range(5), 4, bos=None)] == [
        (0, 1, 2, 3)
    ]  # one token has nothing to see
    assert len({each.identity for each in found}) == 3
    assert lot(0, 7) != lot(1, 7)
