"""Trains the embedded model's tokenizer: byte-level BPE, digits in groups of at most two.

`python -m headlight.recipes.bpe --out assets/models/mini`
"""

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from string import ascii_uppercase

from tokenizers import Regex, Tokenizer, pre_tokenizers

from headlight.model.base.errors import TrainingError, exit_on_error
from headlight.model.base.files import replacing_together
from headlight.model.training.parallel_text import learned_bpe
from headlight.recipes.corpus import grammar_documents
from headlight.recipes.grammar.words import single_tokens
from headlight.recipes.library import training_files

VOCABULARY = 4096
FILE, CONFIG = "tokenizer.json", "tokenizer_config.json"
END_OF_TEXT, END_OF_TEXT_ID = "<|endoftext|>", 0

# GPT-2's splitting, but for the digits: groups of at most two, so that every number is spelled in pairs.
SPLIT = r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

GRAMMAR_DOCUMENTS = 60_000
# Far above the count of the rarest merge, far below what would crowd out the corpus.
WORD_REPEATS = 2000


def required_tokens() -> list[str]:
    """Words that must be one token: the grammar's after a space, one- and two-digit numbers, capital letters."""
    numbers = [*map(str, range(10)), *(f"{number:02}" for number in range(100))]
    words = [f" {word}" for word in single_tokens()]
    return words + [space + text for text in (*numbers, *ascii_uppercase) for space in ("", " ")]


def training_text(seed: int) -> Iterator[str]:
    """Text from which the merges are learned: the training split, with each required token often enough."""
    yield from training_files().values()
    yield from islice(grammar_documents(seed), GRAMMAR_DOCUMENTS)
    for token in required_tokens():
        for _ in range(WORD_REPEATS):
            yield token


def train(seed: int) -> Tokenizer:
    """A tokenizer of exactly 4096 tokens; the same seed and library give the same one."""
    isolated = pre_tokenizers.Split(Regex(SPLIT), "isolated")
    splitting = pre_tokenizers.Sequence([isolated, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return learned_bpe(training_text(seed), splitting, VOCABULARY, [END_OF_TEXT])


def check_place(folder: Path) -> None:
    """Refuse a folder that has a tokenizer.

    Raises:
        TrainingError: it has one.
    """
    for name in (FILE, CONFIG):
        if (folder / name).exists():
            raise TrainingError(f"{folder} holds a {name} already. Give another folder, or remove it.")


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes what `Tokenizer.from_file` and transformers' `AutoTokenizer.from_pretrained` read.

    The class is transformers' generic one: its `GPT2Tokenizer` would put GPT-2's own splitting in place of ours.
    """
    check_place(folder)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "unk_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
    }
    with replacing_together(folder / FILE, folder / CONFIG) as (file, settings):
        tokenizer.save(str(file))
        settings.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


@exit_on_error()
def main() -> None:
    """The command line: trains and writes the tokenizer."""
    parser = argparse.ArgumentParser(description="Train the embedded model's tokenizer.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    check_place(arguments.out)
    save(train(arguments.seed), arguments.out)


if __name__ == "__main__":
    main()
