"""The labels that tokens are shown by: every character can be seen, and means one thing only."""

import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headlight.model import Tokenizer
from headlight.model.text.labels import label, with_spaces
from tests.model.text.small_tokenizer import small_backend, write


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    return Tokenizer.from_folder(write(tmp_path_factory.mktemp("small"), small_backend()))


def unlabelled(labels: Sequence[str]) -> bytes:
    """The bytes that labels stand for, if a label means one thing only."""
    text, raw = "".join(labels), b""
    while text:
        if text.startswith("<0x"):
            raw, text = raw + bytes([int(text[3:5], 16)]), text[6:]
        elif text.startswith("<U+"):
            end = text.index(">")
            raw, text = raw + chr(int(text[3:end], 16)).encode(), text[end + 1 :]
        else:
            raw, text = raw + {"␣": " ", "↵": "\n", "⇥": "\t"}.get(text[0], text[0]).encode(), text[1:]
    return raw


@given(st.text(alphabet=st.characters(exclude_characters="<", exclude_categories=["Cs"])))
@example("␣ ↵\n⇥\t→·")
def test_labels_can_be_read_back(small: Tokenizer, text: str) -> None:
    assert unlabelled(small.labels(small.to_tokens(text))) == text.encode()


@given(st.binary())
def test_every_character_of_a_label_can_be_seen(token: bytes) -> None:
    for character in label(token):
        assert unicodedata.category(character)[0] not in "CZ", f"U+{ord(character):04X}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" the", "␣the"),
        ("\n", "↵"),
        ("\t", "⇥"),
        ("\r", "<U+000D>"),
        ("\0", "<U+0000>"),
        ("\u00a0", "<U+00A0>"),
        ("\u202e", "<U+202E>"),
        ("\u200d", "<U+200D>"),
        ("\u200b", "<U+200B>"),
        ("\ufeff", "<U+FEFF>"),
        ("\u00ad", "<U+00AD>"),
        ("\ufe0f", "<U+FE0F>"),
        ("\u3164", "<U+3164>"),
        ("\u2028", "<U+2028>"),
        ("\U000e0041", "<U+E0041>"),
        ("␣", "<U+2423>"),
        ("<b>x</b> & $x$", "<b>x</b>␣&␣$x$"),
        ("שלום", "שלום"),
        ("日本", "日本"),
        ("👨‍👩", "👨<U+200D>👩"),
    ],
)
def test_labels_by_hand(text: str, expected: str) -> None:
    assert label(text.encode()) == expected


def test_bytes_of_a_split_character_are_shown_as_bytes() -> None:
    assert label("🤔".encode()[:3]) == "<0xF0><0x9F><0xA4>"
    assert label(b" \xa4x") == "␣<0xA4>x"


def test_added_words_are_shown_as_they_are(tmp_path: Path) -> None:
    """As a byte-level token, 'é' would be the byte 0xE9."""
    backend = small_backend()
    backend.add_tokens(["é", " new word"])
    tokenizer = Tokenizer.from_folder(write(tmp_path, backend))
    assert tokenizer.labels(tokenizer.to_tokens("é new word")) == ["é", "␣new␣word"]


def test_ids_without_a_token_have_a_label_of_their_own(small: Tokenizer) -> None:
    """A model's vocabulary may be larger than its tokenizer's, so the lens can meet such ids."""
    assert small.labels([50300, -1, 2**40]) == ["<id 50300>", "<id -1>", "<id 1099511627776>"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (" It is 2 times 51.", "It is 2 times 51."),
        ("He said:  \n I see ", "He said:␣␣↵␣I see␣"),
        ("  two", "␣␣two"),
        (" ", "␣"),
        ("a ␣ b\u202e c", "a <U+2423> b<U+202E> c"),
    ],
)
def test_a_sentence_is_read_with_spaces_that_can_be_told_apart(text: str, read: str) -> None:
    assert with_spaces(label(text.encode())) == read
