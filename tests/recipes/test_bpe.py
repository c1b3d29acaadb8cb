"""The tokenizer's promises: digits in pairs, single capitals, any text there and back."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from headlight.recipes import bpe
from tests.places import MINI as FOLDER

TEXTS = st.text() | st.lists(
    st.sampled_from(
        ["1984", " 7", "é", "😀", "٣٤", "\n", "    ", "\t", " Mary", "'s", "漢", "\u202e", "\x00", "<|endoftext|>"]
    )
).map("".join)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))


@pytest.fixture(scope="module")
def auto_tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(FOLDER)


def test_the_vocabulary_is_4096_with_end_of_text_first(tokenizer: Tokenizer) -> None:
    assert tokenizer.get_vocab_size() == 4096
    assert tokenizer.token_to_id(bpe.END_OF_TEXT) == 0
    assert tokenizer.encode(bpe.END_OF_TEXT).ids == [0]


def test_the_required_words_are_single_tokens(tokenizer: Tokenizer) -> None:
    required = bpe.required_tokens()
    assert {" Mary", " keys", " were", " Monday", " themselves", " Paris", "07", " 99", "Q", " Q"} <= set(required)
    assert [token for token in required if len(tokenizer.encode(token).ids) != 1] == []


@given(TEXTS)
def test_decoding_gives_the_text_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


@given(TEXTS)
def test_transformers_reads_the_same_ids(
    tokenizer: Tokenizer, auto_tokenizer: PreTrainedTokenizerBase, text: str
) -> None:
    """Guards against a tokenizer class that puts GPT-2's own splitting in place of the file's."""
    ids = tokenizer.encode(text).ids
    assert auto_tokenizer(text)["input_ids"] == ids
    assert auto_tokenizer.decode(ids) == text


@given(st.text(alphabet="0123456789 ", max_size=20))
def test_digits_are_read_in_pairs_from_the_left(tokenizer: Tokenizer, text: str) -> None:
    pieces = [tokenizer.decode([token]).strip() for token in tokenizer.encode(text).ids]
    assert [piece for piece in pieces if piece] == re.findall(r"\d{1,2}", text)


def test_indentation_is_few_tokens(tokenizer: Tokenizer) -> None:
    for spaces in (4, 8, 12, 16):
        # The newline with all spaces but the last, then the word with its own.
        assert len(tokenizer.encode("\n" + " " * spaces + "return").ids) == 2
