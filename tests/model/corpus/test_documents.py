"""Documents of every kind of file, and what of them is no text."""

import json
import secrets
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datasets import Dataset
from pyarrow import parquet

from headlight.model.base.errors import InputError
from headlight.model.corpus.documents import PIECE, open_corpus
from headlight.model.corpus.sequences import cut, sampling_key

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
    texts = _texts(tmp_path / "long.txt")
    assert "".join(each or "" for _, each in texts) == text
    assert all(len(each or "") < PIECE + 20 for _, each in texts)
    for name, each in texts[1:]:
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
    documents = list(open_corpus(str(tmp_path)).documents())
    assert [each.index for each in documents] == list(range(7))
    assert [each.name for each in documents if each.text is None] == [
        "a.jsonl:2",
        "a.jsonl:3",
        "a.jsonl:4",
        "a.jsonl:5",
        "b.bin",
    ]
    assert all(each.reason for each in documents if each.text is None)


ROWS = ["The cat, the dog and the bird.", "One, two", "naïve café – done"]
QUOTED = "".join(f'"{row}",x\r\n' for row in ROWS)


def _objects(**more: object) -> list[dict[str, object]]:
    return [{"text": row, **more} for row in ROWS]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bom.csv", f"\ufefftext,label\r\n{QUOTED}"),
        ("capital.csv", f"Text,Label\r\n{QUOTED}"),
        ("semicolons.csv", "text;label\r\n" + "".join(f"{row};x\r\n" for row in ROWS)),
        ("text behind.csv", "label;text\r\n" + "".join(f"x;{row}\r\n" for row in ROWS)),
        ("bars.csv", "text|label\r\n" + "".join(f"{row}|x\r\n" for row in ROWS)),
        ("sep.csv", "\ufeffsep=;\r\ntext;label\r\n" + "".join(f"{row};x\r\n" for row in ROWS)),
        ("quoted sep.csv", f'"sep=,"\ntext,label\n{QUOTED}'),
        ("tabs.csv", "text\tlabel\r\n" + "".join(f"{row}\tx\r\n" for row in ROWS)),
        ("commas.tsv", f"text,label\r\n{QUOTED}"),
        ("tabs.tsv", "text\n" + "".join(f"{row}\n" for row in ROWS)),
        ("bom.jsonl", "\ufeff" + "".join(json.dumps(row) + "\n" for row in _objects(n=1))),
        ("list.json", json.dumps(_objects(n=1), indent=1)),
        ("bom.json", "\ufeff" + json.dumps(_objects(tags=[[1], {"a": "]"}]), ensure_ascii=False)),
        ("lines.json", "\n" + "".join(json.dumps(row) + "\r\n" for row in _objects())),
    ],
)
def test_tables_are_read_as_spreadsheets_and_chat_tools_write_them(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert [text for _, text in _texts(tmp_path / name)] == ROWS


def test_a_byte_order_mark_is_no_character_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo".encode())
    assert _texts(tmp_path / "a.txt") == [("a.txt", "one\r\ntwo")]


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
TALK = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text\r\nOne, two\r\n", "Line 2 has 2 fields, the header has 1.*double quotes"),
        ("a.csv", "text,label\na,x\nThe cat, the dog,x\n", "Line 3 has 3 fields, the header has 2.*double quotes"),
        ("a.csv", 'text,label\n"he said,x\nnext,y\n', "Line 2: a double quote .* is never closed. Close it"),
        ("a.tsv", 'text\tlabel\na\tx\n"he said\tx\nnext\ty\n', "Line 3: a double quote .* is never closed"),
        ("a.csv", "words;label\na;x\n", "no column 'text'.*The columns are words, label: name .* by --column"),
        ("a.csv", 'text,label\n"naïve",x\n'.encode("cp1252"), "Line 2 is not UTF-8.*Save it as UTF-8"),
        ("a.csv", "text\tlabel\nä\tx\n".encode("utf-16"), "looks like UTF-16, not UTF-8. Save it as UTF-8"),
        ("a.jsonl", '{"text": "a"}\n'.encode("utf-16"), "looks like UTF-16"),
        ("a.txt", "text".encode("utf-16"), "looks like UTF-16"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00", "compressed by gzip.*Unpack it"),
        *((f"a.{suffix}", POINTER, "Git LFS pointer.*git lfs pull") for suffix in ("txt", "csv", "jsonl", "json")),
        ("a.xlsx", b"PK\x03\x04\x00", "spreadsheet.*save the sheet as “CSV UTF-8”"),
        ("a.jsonl", json.dumps({"messages": TALK}), r"'messages' is a conversation.*apply_chat_template"),
        ("a.jsonl", json.dumps({"text": TALK}), r"'text' is a conversation.*apply_chat_template"),
        ("a.json", json.dumps({"data": [{"text": "a"}]}), r"'data' is a list of objects.*that list alone"),
        ("a.json", '[{"text": "a", "text": "b"}]', "Entry 1: it names 'text' twice.*Rename or remove"),
        ("a.csv", "text,label,text\na,x,b\n", "2 columns 'text'. Rename all but"),
        ("a.csv", "sep=;\ntext;label\na;x;y\n", "Line 3 has 3 fields, the header has 2"),
        ("a.jsonl", "{}\n", "The columns are none: name"),
        ("a.json", '{\n "text": "a"\n}', "neither a list of objects.*nor one object a line"),
        ("a.json", '[{"text": "a"}, {"text": ', "no JSON list of objects, by entry 2"),
        ("a.json", '[{"text": "a"} {"text": "b"}]', "no JSON list of objects, by entry 1"),
        ("a.json", '[{"text": "a"}] and more', "no JSON list of objects, by entry 1"),
        ("a.json", b'[{"text": "\xe9"}]', "Entry 1 is not UTF-8.*Save it as UTF-8"),
    ],
)
def test_what_would_be_read_amiss_is_refused_with_what_to_do(
    name: str, content: str | bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=f"(?s)^{name}: .*{message}"):
        list(open_corpus(str(tmp_path / name)).documents())


def test_a_pointer_in_a_parquet_tables_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(POINTER)
    with pytest.raises(InputError, match=r"^a\.parquet is a Git LFS pointer.*git lfs pull"):
        list(open_corpus(str(tmp_path)).documents())


def test_rows_of_empty_cells_are_counted_among_those_without_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\n,\nThe cat,a\n  ,\t\n,,,\n,b\n")
    documents = list(open_corpus(str(tmp_path / "a.csv")).documents())
    assert [(each.name, each.text) for each in documents] == [
        ("a.csv:2", None),
        ("a.csv:3", "The cat"),
        ("a.csv:4", None),
        ("a.csv:5", None),
        ("a.csv:6", ""),
    ]
    assert documents[0].reason == "its cells are empty"


def test_a_line_that_names_something_twice_is_skipped_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"text": "a", "text": "b"}\n{"text": "c", "n": {"x": 1, "x": 2}}\n{"text": "d"}\n'
    )
    *twice, last = open_corpus(str(tmp_path / "a.jsonl")).documents()
    assert (last.text, [each.text for each in twice]) == ("d", [None, None])
    assert [each.reason.split(",")[0] for each in twice] == [
        "Line 1: it names 'text' twice",
        "Line 2: it names 'x' twice",
    ]


def test_among_texts_a_file_that_is_none_is_skipped_and_one_that_is_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "package.json").write_text('{\n "name": "x"\n}')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    documents = list(open_corpus(str(tmp_path)).documents())
    assert [(each.name, each.text) for each in documents] == [
        ("a.txt", "text"),
        ("package.json", None),
        ("picture.png", None),
    ]
    assert "neither a list" in documents[1].reason
    assert "is no text" in documents[2].reason
    (tmp_path / "b.csv").write_text('text,n\n"open,1\n')
    with pytest.raises(InputError, match=r"^b\.csv: Line 2"):
        list(open_corpus(str(tmp_path)).documents())


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_a_large_table_is_read_in_little_memory(name: str, tmp_path: Path) -> None:
    """Of 10 MB no more than a few pieces are held at a time."""
    rows = ["word " * 200] * 10_000
    lines = {"a.csv": "text\n" + "\n".join(rows), "a.jsonl": "\n".join(json.dumps({"text": row}) for row in rows)}
    content = lines.get(name) or f"[{','.join(json.dumps({'text': row}) for row in rows)}]"
    (tmp_path / name).write_text(content)
    del lines, content
    tracemalloc.start()
    assert sum(len(each.text or "") for each in open_corpus(str(tmp_path / name)).documents()) == 10_000_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6


HUGE = 2**28


def _cell(path: Path, **options: Any) -> None:
    """A cell of 256 MB, of which the file has few bytes."""
    column = pa.array(["a" * HUGE], pa.large_string())
    parquet.write_table(pa.table({"text": column}), path, use_dictionary=False, write_statistics=False, **options)


def _liar(path: Path) -> None:
    """The same, whose end says that it holds a page of 90 bytes."""
    _cell(path, compression="zstd")
    size = 2 * parquet.read_metadata(path).row_group(0).total_byte_size
    written = bytes(size >> shift & 127 | (128 if shift < 28 else 0) for shift in range(0, 35, 7))  # Thrift's numbers
    path.write_bytes(path.read_bytes().replace(written, b"\xb4\x81\x80\x80\x00"))
    assert parquet.read_metadata(path).row_group(0).column(0).total_uncompressed_size == 90


def _rows_by_dictionary(path: Path) -> None:
    """300 cells that are the same 4 MB, where the reader knows of no dictionary in the table."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 300), pa.array(["b" * 2**22]))
    parquet.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)


def _data_set(path: Path) -> None:
    """A folder of `datasets` whose file has been compressed."""
    Dataset.from_dict({"text": ["one"]}).save_to_disk(path)
    file = path / "data-00000-of-00001.arrow"
    file.unlink()
    table = pa.table({"text": pa.array(["a" * HUGE], pa.large_string())})
    with pa.ipc.new_stream(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)


INFLATING: dict[str, tuple[Callable[[Path], None], str]] = {
    "zstd.parquet": (lambda path: _cell(path, compression="zstd"), "has a page of 268,435,4"),
    "v2.parquet": (lambda path: _cell(path, compression="zstd", data_page_version="2.0"), "has a page of 268,435,4"),
    "liar.parquet": (_liar, "has a page of 268,435,4"),
    "dictionary.parquet": (_rows_by_dictionary, "dictionary.parquet: 300 documents"),
    "saved": (_data_set, "data-00000-of-00001.arrow is compressed"),
}
COUNT = """
import resource, sys
from pathlib import Path
from headlight.model.base.errors import InputError
from headlight.model.corpus.documents import open_corpus
import datasets, pyarrow.parquet
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in sys.argv[1:]:
    try:
        count = sum(document.text is not None for document in open_corpus(path).documents())
        print(f"{Path(path).name}: {count} documents")
    except InputError as error:
        print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_small_files_that_inflate_take_no_memory(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in INFLATING]
    for path, (write, _) in zip(paths, INFLATING.values(), strict=True):
        write(path)
        assert sum(file.stat().st_size for file in [path, *path.glob("*")]) < 2**21
    command = [sys.executable, "-c", COUNT, *map(str, paths)]
    *answers, mib = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    for answer, (name, (_, said)) in zip(answers, INFLATING.items(), strict=True):
        assert said in answer
        assert name in answer or name == "saved"
    assert int(mib) < 500


def test_long_documents_are_read_whatever_page_they_are_in(tmp_path: Path) -> None:
    texts = [secrets.token_hex(50_000) for _ in range(900)]
    parquet.write_table(pa.table({"text": texts}), tmp_path / "long.parquet")  # one page of 90 MB
    assert [text for _, text in _texts(tmp_path / "long.parquet")] == texts


def test_a_parquet_column_of_conversations_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"text": [[{"role": "user"}]]}), tmp_path / "chat.parquet")
    with pytest.raises(InputError, match=r"chat\.parquet: Its 'text' is list<.*write each as one text"):
        _texts(tmp_path / "chat.parquet")


def test_a_fault_of_ours_is_not_said_to_be_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def fail(error: Exception) -> Callable[..., object]:
        def load(*arguments: object, **named: object) -> object:
            raise error

        return load

    theirs = [datasets.exceptions.DatasetNotFoundError("x"), ValueError("Bad split: x"), ConnectionError("down")]
    for error in theirs:
        monkeypatch.setattr(datasets, "load_dataset", fail(error))
        with pytest.raises(InputError, match=r"cannot open owner/name, split 'train'.*Check the name"):
            list(open_corpus("owner/name").documents())
    for error in (TypeError("ours"), AttributeError("ours"), KeyError("ours")):
        monkeypatch.setattr(datasets, "load_dataset", fail(error))
        with pytest.raises(type(error), match="ours"):
            list(open_corpus("owner/name").documents())


def test_a_network_that_breaks_off_in_a_data_set_is_said_with_the_row(monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def rows() -> Iterator[dict[str, str]]:
        yield {"Text": "one"}
        raise ConnectionError

    monkeypatch.setattr(datasets, "load_dataset", lambda *arguments, **named: rows())
    documents = open_corpus("owner/name").documents()
    assert next(documents).text == "one"
    with pytest.raises(InputError, match=r"name cannot be read further than row 0.*goes on from there"):
        next(documents)


@pytest.mark.parametrize("path", ["nowhere", "nowhere.csv", "tests/nowhere"])
def test_what_is_not_there_is_said_with_what_may_be(path: str) -> None:
    with pytest.raises(InputError, match=r"A corpus is a text file, a .jsonl"):
        open_corpus(path)


def test_documents_are_cut_into_sequences_that_begin_alike() -> None:
    sequences = cut(3, "a", range(10), 5, bos=99)
    assert [(each.start, each.tokens) for each in sequences] == [
        (0, (99, 0, 1, 2, 3)),
        (4, (99, 4, 5, 6, 7)),
        (8, (99, 8, 9)),
    ]
    assert [each.tokens for each in cut(3, "a", range(5), 4, bos=None)] == [
        (0, 1, 2, 3)
    ]  # one token has nothing to see
    assert len({each.identity for each in sequences}) == 3
    assert sampling_key(0, 7) != sampling_key(1, 7)
