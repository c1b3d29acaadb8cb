"""Files of prompts: what is read, and what is said about a file that cannot be."""

import csv
import io
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headlight.app.frame.prompt_list import Prompt
from headlight.app.pages.prompts.prompt_files import MAX_COLUMNS, read
from headlight.model import Conversation
from headlight.model.base.errors import InputError
from tests.examples import examples

MOST = 1000


def _texts(name: str, data: bytes | str) -> list[str]:
    raw = data.encode() if isinstance(data, str) else data
    return [prompt.text for prompt in read(name, raw, MOST)]


def _refusal(name: str, data: bytes | str, most: int = MOST) -> str:
    with pytest.raises(InputError) as refused:
        read(name, data.encode() if isinstance(data, str) else data, most)
    return str(refused.value)


def test_a_txt_file_has_one_prompt_a_line_and_blank_lines_are_none() -> None:
    assert _texts("a.txt", "The cat\r\n\n  sat \n\t\r\ron\n") == ["The cat", "  sat ", "on"]
    assert _texts("A.TXT", "no line break at the end") == ["no line break at the end"]


def test_only_line_breaks_end_a_line() -> None:
    odd = "a\x00b\x0bc\x1cd\x85e\u2028f\u202eg"
    assert _texts("a.txt", odd) == [odd]
    assert _texts("a.csv", f"prompt\n{odd}\n") == [odd]
    assert _texts("a.jsonl", json.dumps({"prompt": odd}, ensure_ascii=False, separators=(",", ":"))) == [odd]


def test_other_columns_are_labels() -> None:
    (prompt,) = read("a.csv", b"kind,Prompt,,n\nanimal,The cat,x,3\n", MOST)
    assert prompt == Prompt("The cat", "a.csv", (("kind", "animal"), ("column 3", "x"), ("n", "3")))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_recognised(delimiter: str) -> None:
    text = io.StringIO()
    rows = [["kind", " PROMPT "], ["a,b", "one; two, three\tfour"], ["", 'a "quoted"\nword']]
    csv.writer(text, delimiter=delimiter).writerows(rows)
    prompts = read("a.csv", text.getvalue().encode("utf-8-sig"), MOST)
    assert [prompt.text for prompt in prompts] == [row[1] for row in rows[1:]]
    assert [prompt.labels for prompt in prompts] == [(("kind", row[0]),) for row in rows[1:]]


def test_other_keys_are_labels() -> None:
    lines = '{"Prompt": "a", "n": 1, "tags": ["x"], "kind": "é"}\n\n{"prompt": "b"}\n'
    assert read("a.jsonl", lines.encode("utf-8-sig"), MOST) == (
        Prompt("a", "a.jsonl", (("n", "1"), ("tags", '["x"]'), ("kind", "é"))),
        Prompt("b", "a.jsonl"),
    )


def test_an_empty_prompt_among_labels_is_kept_for_its_row_to_say_so() -> None:
    assert _texts("a.csv", "prompt,kind\n,animal\n") == [""]


def test_rows_of_empty_cells_are_left_out_and_counted() -> None:
    prompts = read("a.csv", b"prompt,label\n,\nThe cat,a\n   ,b\n \t,\n", MOST)
    assert [prompt.text for prompt in prompts] == ["The cat", "   "]
    assert prompts.n_empty == 2
    assert "no prompt" in _refusal("a.csv", "prompt,label\n,\n")


def test_a_list_of_objects_and_tabs_are_read_as_lines_and_commas_are() -> None:
    assert read("a.json", b' [{"prompt": "a", "n": [1]}, {"prompt": "b"}]\n', MOST) == (
        Prompt("a", "a.json", (("n", "[1]"),)),
        Prompt("b", "a.json"),
    )
    assert read("a.tsv", b"prompt\tkind\nThe cat, sat\tanimal\n", MOST) == (
        Prompt("The cat, sat", "a.tsv", (("kind", "animal"),)),
    )
    assert "Entry 2 has no column or key “prompt”" in _refusal("a.json", '[{"prompt": "a"}, {"text": "b"}]')


def test_a_line_of_a_chat_file_is_a_conversation() -> None:
    """As transformers' and OpenAI's files have it; behind an answer no other begins."""
    user, said = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
    lines = [{"messages": [user, said], "id": 7}, {"messages": [user, said, user]}, {"messages": [user]}]
    answered, open_ended, alone = read("a.jsonl", "\n".join(map(json.dumps, lines)).encode(), MOST)
    assert answered.labels == (("id", "7"),)
    assert Conversation.from_prompt(answered.text) == Conversation((user, said), add_generation_prompt=False)
    assert Conversation.from_prompt(open_ended.text) == Conversation((user, said, user))
    assert alone.text == "Hi"
    assert read("a.json", json.dumps([{"prompt": [user, said]}]).encode(), MOST)[0].text == answered.text


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_an_empty_file_says_so(name: str) -> None:
    assert "0 bytes" in _refusal(name, b"")
    assert "0 bytes" not in _refusal(name, b"\n \n")


def test_a_file_with_nothing_but_a_header_says_so() -> None:
    assert "no prompt, only blank lines or a header" in _refusal("a.csv", "prompt,kind\n\n")


def test_a_name_of_another_kind_lists_those_that_are_read() -> None:
    assert (
        _refusal("a.xlsx", "x") == "The name ends in “.xlsx”; files of prompts end in .txt, .csv, .tsv, .jsonl, .json."
    )


def test_a_csv_without_a_prompt_column_lists_its_columns() -> None:
    assert "has no column or key “prompt” (found: “text”, “kind”). Name one" in _refusal(
        "a.csv", "text;kind\nThe cat;animal\n"
    )
    assert "“c11”, …)" in _refusal("a.csv", ",".join(f"c{n}" for n in range(40)))


def test_columns_that_cannot_be_told_apart_or_are_too_many_are_refused() -> None:
    assert "has “PROMPT” twice" in _refusal("a.csv", "prompt,PROMPT\na,b\n")
    assert f"the limit is {MAX_COLUMNS}" in _refusal(
        "a.csv", "prompt" + ",".join(map(str, range(MAX_COLUMNS + 1))) + ",prompt"
    )
    assert "Line 2 has “N” twice" in _refusal("a.jsonl", '{"prompt": "a"}\n{"prompt": "b", "n": 1, "N": 2}')


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_an_unclosed_quote_is_named_by_the_line_that_opens_it(ending: str) -> None:
    lines = ["prompt,kind", '"a line', 'break",x', "", '"The cat,animal', "The dog,animal", ""]
    assert _refusal("a.csv", ending.join(lines)).startswith(
        'Line 5: a double quote (") opens a field there and is never'
    )
    assert "Line 1: a double quote" in _refusal("a.csv", f'"prompt{ending}The cat{ending}')
    assert "Line 2: a double quote" in _refusal("a.csv", f'prompt{ending}"' + "long " * 50_000)


def test_text_after_a_closing_quote_is_named_by_its_line() -> None:
    assert "Line 3 is not valid csv" in _refusal("a.csv", 'prompt\nThe cat\n"The" dog\n')
    assert "in a record that begins on line 2" in _refusal("a.csv", 'prompt\n"The cat\nThe "dog"\n')


def test_a_row_of_another_length_is_named_by_its_line() -> None:
    assert "Line 3 has 3 fields, the header has 2" in _refusal("a.csv", "prompt,kind\na,b\nThe cat, sat,animal\n")
    assert "a comma or a line break" in _refusal("a.csv", "prompt\nThe cat, sat\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"prompt": "a"', "Line 3 is not valid JSON (Expecting ',' delimiter, column 15)"),
        ("The cat", "Line 3 is not valid JSON"),
        ("[1]", "Line 3 is “[1]”, not an object"),
        ('"prompt"', "not an object"),
        ('{"text": "a"}', "Line 3 has no column or key “prompt” (found: “text”"),
        ('{"messages": [{"role": "user", "content": null}]}', "Line 3: Turn 1 has no text under “content”"),
        ('{"messages": [{"from": "human", "value": "a"}]}', "Line 3: Turn 1 has no text under “role”"),
        ('{"messages": "Hi"}', "Line 3: its “messages” is no list of turns, such as [{"),
        ('{"messages": [], "id": 1}', "Line 3: its “messages” is no list of turns, such as [{"),
        ('{"talk": [{"from": "human", "value": "a"}]}', "Line 3: its “talk” is a conversation of several"),
        ('{"data": [{"prompt": "a"}]}', "Line 3: its “data” is a list of objects, not one text: write that list alone"),
        ('{"prompt": "a", "prompt": "b"}', "Line 3: it names 'prompt' twice, of which the first would be lost"),
        ("{}", "(found: none)"),
        ('{"prompt": 5}', "the prompt is “5”, not a text"),
        ('{"prompt": null}', "the prompt is “null”, not a text"),
        (r'{"prompt": "\ud83d"}', r"Line 3 holds half of a surrogate pair (\ud83d)"),
        (r'{"prompt": "a", "\udc00": 1}', "half of a surrogate pair"),
        ("[" * 100_000, "Line 3 is not valid JSON (too deep or long)"),
        ('{"prompt": "a", "n": ' + "9" * 5000 + "}", "too deep or long"),
    ],
)
def test_one_bad_line_of_jsonl_is_named_and_nothing_is_loaded(line: str, said: str) -> None:
    assert said in _refusal("a.jsonl", f'{{"prompt": "a"}}\n\n{line}\n{{"prompt": "b"}}\n')


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        (
            "latin-1",
            "Line 2 is not UTF-8: the file looks like Latin-1 (ISO-8859-1) (byte 0xE9 there). Save it as UTF-8",
        ),
        ("utf-16", "looks like UTF-16, not UTF-8. Save it as UTF-8"),
        ("utf-16-le", "looks like UTF-16 without a byte order mark"),
        ("utf-16-be", "looks like UTF-16 without a byte order mark"),
        ("utf-32", "looks like UTF-32, not UTF-8"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_another_encoding_is_named(encoding: str, named: str, name: str) -> None:
    assert named in _refusal(name, "prompt,kind\ncafé noir,drink\n".encode(encoding))


def test_windows_1252_and_what_is_no_text_are_told_from_latin_1() -> None:
    assert "Windows-1252" in _refusal("a.txt", "“naïve”".encode("cp1252"))
    assert "is no text: line 1" in _refusal("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.json"])
def test_a_git_lfs_pointer_is_named(name: str) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
    assert "is a Git LFS pointer, not a text. Run `git lfs pull`" in _refusal(name, pointer)


def test_a_nul_between_letters_is_data() -> None:
    assert _texts("a.txt", b"x\x00y") == ["x\x00y"]
    assert _texts("a.csv", b"prompt\nab\x00cd\n") == ["ab\x00cd"]


def test_too_many_prompts_are_refused_with_both_counts() -> None:
    assert len(read("a.txt", b"a\n" * 3, most=3)) == 3
    assert "has 4 prompts; the limit is 3" in _refusal("a.txt", b"a\n" * 4, most=3)


VALID = {
    "a.txt": "The cat\nsat on\n\nthe mat 🙂\n".encode(),
    "a.csv": '\ufeffprompt;kind\n"The; ""cat""\nsat";animal\ncafé;drink\n'.encode(),
    "a.jsonl": b'{"prompt": "The cat", "n": 1}\n{"prompt": "caf\\u00e9", "tags": {"a": [null]}}\n',
}
FRAGMENTS = [b'"', b"\\", b"\x00", b"\xff", b"\xff\xfe", b"\r", b"\n", b",", b";", b"\t", b"{", b"[", b"\\ud800"]


@given(
    name=st.sampled_from(sorted(VALID)),
    edits=st.lists(
        st.tuples(st.integers(0, 80), st.integers(0, 5), st.sampled_from(FRAGMENTS) | st.binary(max_size=6)), max_size=8
    ),
)
@settings(max_examples=examples(500))
@example(name="a.csv", edits=[])
def test_a_mutated_file_is_read_or_refused_in_words(name: str, edits: list[tuple[int, int, bytes]]) -> None:
    data = VALID[name]
    for start, length, new in edits:
        data = data[:start] + new + data[start + length :]
    try:
        prompts = read(name, data, MOST)
    except InputError:
        return
    assert prompts
    for prompt in prompts:
        "".join([prompt.text, *(text for label in prompt.labels for text in label)]).encode()  # no half characters


@pytest.mark.parametrize(
    ("data", "says_so"),
    [("clean,corrupted,correct_idx\na,b,1\n", True), ("Corrupt;text\na;b\n", True), ("text\na\n", False)],
)
def test_a_set_of_pairs_is_said_to_open_on_experiments(data: str, says_so: bool) -> None:
    assert ("open the file on the page Experiments" in _refusal("ioi.csv", data)) == says_so
