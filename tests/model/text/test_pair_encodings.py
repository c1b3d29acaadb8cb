"""Tokenizers of OpenAI GPT and BioGPT: pairs of symbols merged within words, beside that algorithm written out."""

import json
import random
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import BioGptConfig, OpenAIGPTConfig

from headlight.model import Tokenizer
from headlight.model.base.errors import CheckpointError

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'-()<>"
MERGES = ["t h", "th e</w>", "i n", "in g</w>", "a n", "an d</w>", "n a", "1 2", "1 2</w>", "12 12</w>", "d o"]
WORDS = ["The", "thing", "and", "naive", "IL-2", "12", "1212", "can't", "end.", "(see)", "--", "banana", "~", "DOING!"]


def vocabulary(special: list[str]) -> dict[str, int]:
    joined = [merge.replace(" ", "") for merge in MERGES]
    return {token: i for i, token in enumerate([*special, *LETTERS, *(f"{letter}</w>" for letter in LETTERS), *joined])}


def write(folder: Path, config: Any, special: list[str], lines: list[str]) -> dict[str, int]:
    config.save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(vocabulary(special)))
    (folder / "merges.txt").write_text("\n".join(lines) + "\n")
    return vocabulary(special)


def merged(word: str) -> list[str]:
    """The symbols of a word: of all pairs the one that stands first in the list is merged, until none is left."""
    symbols = [*word[:-1], f"{word[-1]}</w>"]
    while pairs := [pair for pair in pairwise(symbols) if " ".join(pair) in MERGES]:
        first = min(pairs, key=lambda pair: MERGES.index(" ".join(pair)))
        place, joined = 0, []
        while place < len(symbols):
            is_pair = tuple(symbols[place : place + 2]) == first
            joined.append("".join(first) if is_pair else symbols[place])
            place += 1 + is_pair
        symbols = joined
    return symbols


def parted(text: str) -> list[str]:
    """Words and single punctuation marks."""
    return re.findall(r"\w+|[^\w\s]", text)


def assert_ids(folder: Path, ids: dict[str, int], words: Callable[[str], list[str]]) -> None:
    tokenizer, draw = Tokenizer.from_folder(folder), random.Random(0)
    for _ in range(100):
        text = " ".join(draw.choices(WORDS, k=draw.randint(1, 9)))
        symbols = [symbol for word in words(text) for symbol in merged(word)]
        assert tokenizer.to_tokens(text)[0].tolist() == [ids.get(symbol, ids["<unk>"]) for symbol in symbols]


def test_openai_gpt_merges_pairs_in_lower_case_words(tmp_path: Path) -> None:
    ids = write(tmp_path, OpenAIGPTConfig(), ["<unk>"], ["#version: 0.2", *MERGES])
    assert_ids(tmp_path, ids, lambda text: parted(text.lower()))


def test_biogpt_merges_pairs_in_the_words_of_moses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Moses' tokenizer is a package of its own, which finds words; here another stands for it."""
    ids = write(tmp_path, BioGptConfig(), ["<s>", "<pad>", "</s>", "<unk>"], [f"{merge} 1" for merge in MERGES])
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(
        CheckpointError, match=r"sacremoses.*\. Install the package and start again: pip install sacremos"
    ):
        Tokenizer.from_folder(tmp_path)
    moses = SimpleNamespace(tokenize=lambda text, **how: parted(text))
    stub = SimpleNamespace(MosesTokenizer=lambda lang: moses, MosesDetokenizer=lambda lang: moses)
    monkeypatch.setitem(sys.modules, "sacremoses", stub)
    assert_ids(tmp_path, ids, parted)
