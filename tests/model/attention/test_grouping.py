"""Words and sentences of texts cut up as byte-pair tokenizers do it, and patterns between them against loops."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headlight.model.attention.grouping import sentences, words


def texts(str_tokens: list[str], group: torch.Tensor) -> list[str]:
    """The text of each group, from its tokens."""
    joined = [""] * (max(group.tolist(), default=-1) + 1)
    for token, index in zip(str_tokens, group.tolist(), strict=True):
        joined[index] += token
    return joined


# The tokens are written with · between them, the groups expected of them as a list.
WORDS = {
    "one token": ("a", ["a"]),
    "continuation pieces": ("H·el·lo· wor·ld", ["Hello", " world"]),
    "punctuation": ("Hi·,· Bo·b·!·?", ["Hi", ",", " Bob", "!", "?"]),
    "quotes and brackets": (' "·No·."· (·x·).', [' "', "No", '."', " (", "x", ")."]),
    "contractions": (" It·'s· not· don·'t", [" It's", " not", " don't"]),
    "inner apostrophes": (" o·'·c·lock· d·’·accord", [" o'clock", " d’accord"]),
    "quoting apostrophes": (" '·qu·oted·'· is", [" '", "quoted", "'", " is"]),
    "numbers": (" 3·.·14", [" 3", ".", "14"]),
    "names in code": ("my·_·var· =· x", ["my_var", " =", " x"]),
    "whitespace runs": ("if· x·:·\n· · · · return", ["if", " x", ":", "\n   ", " return"]),
    "after a newline": ("a·\n·b·c·.\n·d", ["a", "\n", "bc", ".\n", "d"]),
    "special tokens": ("<|endoftext|>·He·y·</s>·[SEP]·x", ["<|endoftext|>", "Hey", "</s>", "[SEP]", "x"]),
    "pieces of characters": (" \ufffd·\ufffd·\ufffd· \ufffd·\ufffd", [" \ufffd\ufffd\ufffd", " \ufffd\ufffd"]),
    "other alphabets": (" ש·לום· हि·न्दी", [" שלום", " हिन्दी"]),
}

SENTENCES = {
    "one token": ("a", ["a"]),
    "end marks": ("It· ends·.· Now·!· Why·?· So·...· on", ["It ends.", " Now!", " Why?", " So...", " on"]),
    "no end inside a number": (" Pi· is· 3·.·14· or· so·.", [" Pi is 3.14 or so."]),
    "closing quotes": (' "·Stop·."· He· said· "·No·.·"· It', [' "Stop."', ' He said "No."', " It"]),
    "newlines": ("A· title·\n·\n·It· is·.·\n\n·End", ["A title\n\n", "It is.\n\n", "End"]),
    "newline and indent": ("x·:·\n   · y·\n·z", ["x:\n   ", " y\n", "z"]),
    "blank lines with spaces": ("x· \n·  ·\n·y", ["x \n  \n", "y"]),
    "several marks": ("What·?!· Yes· (·really·!).· Ok", ["What?!", " Yes (really!).", " Ok"]),
    "no space after": ("终·。·了·！·x", ["终。", "了！", "x"]),
    "pieces of a quote": (" No·.·\ufffd·\ufffd· Yes", [" No.\ufffd\ufffd", " Yes"]),
    "special tokens": ("<|endoftext|>·Hi· you·<|endoftext|>·Bye", ["<|endoftext|>", "Hi you", "<|endoftext|>", "Bye"]),
}


@pytest.mark.parametrize(("tokens", "expected"), WORDS.values(), ids=WORDS)
def test_words(tokens: str, expected: list[str]) -> None:
    assert texts(tokens.split("·"), words(tokens.split("·"))) == expected


@pytest.mark.parametrize(("tokens", "expected"), SENTENCES.values(), ids=SENTENCES)
def test_sentences(tokens: str, expected: list[str]) -> None:
    assert texts(tokens.split("·"), sentences(tokens.split("·"))) == expected


@given(st.lists(st.text(st.sampled_from("ab1 .!'_-\n\t\ufffd<>|é好"), max_size=4), max_size=12))
def test_groups_are_numbered_from_zero_without_gaps(str_tokens: list[str]) -> None:
    for group in (words(str_tokens), sentences(str_tokens)):
        assert group.shape == (len(str_tokens),)
        assert group[:1].tolist() == [0] * len(str_tokens[:1])
        assert set(group.diff().tolist()) <= {0, 1}
