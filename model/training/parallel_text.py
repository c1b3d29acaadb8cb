"""Parallel text: two files, one sentence a line, made into token ids with a tokenizer learned from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers
from numpy.random import default_rng
from tokenizers import decoders, models, pre_tokenizers, trainers

from headlight.model.base.errors import TrainingError
from headlight.model.base.files import open_file
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.pairs import END, END_TOKEN, START, Pair

UNKNOWN = "<unk>"
SPECIAL = (START, END, UNKNOWN)  # the first tokens where each word is one

HELD_OUT_SHARE, MAX_HELD_OUT = 0.05, 1000

Sentences = tuple[str, str]  # source and target


@dataclass(frozen=True)
class Corpus:
    """Sentences with their translations, to train on and held out; no source is in both."""

    train: Sequence[Sentences]
    held_out: Sequence[Sentences]


def read_parallel(source: Path, target: Path) -> list[Sentences]:
    """The sentences of two UTF-8 files whose lines belong together.

    Raises:
        TrainingError: a file that cannot be read, is empty or is not UTF-8, an empty line, or unequal numbers of lines.
    """
    sources, targets = _read_lines(source), _read_lines(target)
    if len(sources) != len(targets):
        raise TrainingError(
            f"{source.name} has {len(sources)} lines and {target.name} {len(targets)}: from line "
            f"{min(len(sources), len(targets)) + 1} on, sentences have no translation. Each line of one needs its line "
            "in the other."
        )
    return list(zip(sources, targets, strict=True))


def _read_lines(path: Path) -> list[str]:
    try:
        with open_file(path, TrainingError) as file:
            content = file.read()
    except OSError as error:
        raise TrainingError(f"{path} cannot be read ({error.strerror}). Give a text file.") from error
    lines = content.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\n").split(b"\n")
    if not content.strip():
        raise TrainingError(f"{path.name} is empty. It has to hold one sentence a line.")
    return [_sentence(line, number, path.name) for number, line in enumerate(lines, start=1)]


def _sentence(line: bytes, number: int, name: str) -> str:
    try:
        sentence = line.decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise TrainingError(
            f"{name}, line {number} is not UTF-8: byte {error.start + 1} is {line[error.start]:#04x}. Save the file as "
            "UTF-8."
        ) from error
    if not sentence:
        raise TrainingError(f"{name}, line {number} is empty. Remove the line from both files, or write its sentence.")
    return sentence


def split(sentences: Sequence[Sentences], seed: int) -> Corpus:
    """Hold out a random twentieth of the different source sentences, at most 1000, with all their translations.

    Raises:
        TrainingError: there are fewer than two different source sentences.
    """
    different = list(dict.fromkeys(source for source, _ in sentences))
    if len(different) < 2:
        raise TrainingError("There is one source sentence; there have to be two or more, so that one can be held out.")
    n_held_out = min(max(1, int(HELD_OUT_SHARE * len(different))), MAX_HELD_OUT)
    held_out = {different[index] for index in default_rng(seed).permutation(len(different))[:n_held_out]}
    return Corpus(
        [pair for pair in sentences if pair[0] not in held_out], [pair for pair in sentences if pair[0] in held_out]
    )


def encode(sentences: Sequence[Sentences], source: Tokenizer, target: Tokenizer, n_ctx: int) -> list[Pair]:
    """The sentences' token ids, an end token after each.

    Raises:
        TrainingError: a sentence longer than the model's context.
    """
    return [(_ids(text, source, n_ctx), _ids(translation, target, n_ctx)) for text, translation in sentences]


def _ids(text: str, tokenizer: Tokenizer, n_ctx: int) -> list[int]:
    ids = [*tokenizer.to_tokens(text)[0].tolist(), END_TOKEN]
    if len(ids) >= n_ctx:  # a target's start token needs a position, too
        raise TrainingError(
            f"A sentence has {len(ids)} tokens, its end included, and can have {n_ctx - 1}: {text[:60]!r}… Split it in "
            "both files, or remove it from them."
        )
    return ids


def bpe_tokenizer(texts: Sequence[str], most_tokens: int) -> Tokenizer:
    """Byte-level BPE learned from texts: no word is unknown to it. START and END have ids 0 and 1."""
    return Tokenizer(learned_bpe(texts, pre_tokenizers.ByteLevel(add_prefix_space=False), most_tokens, [START, END]))


def learned_bpe(
    texts: Iterable[str], splitting: pre_tokenizers.PreTokenizer, most_tokens: int, special: list[str]
) -> tokenizers.Tokenizer:
    """Byte-level BPE of texts, pre-tokenized by `splitting`; the special tokens have the first ids."""
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = splitting
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=most_tokens,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return backend


def word_tokenizer(
    words: Sequence[str],
    splitting: pre_tokenizers.PreTokenizer | None = None,
    joining: decoders.Decoder | None = None,
) -> Tokenizer:
    """One token a word, text split at spaces. START, END and the unknown word have ids 0 to 2, then come the words."""
    ids = {word: token for token, word in enumerate([*SPECIAL, *words])}
    backend = tokenizers.Tokenizer(models.WordLevel(ids, unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit() if splitting is None else splitting
    if joining is not None:
        backend.decoder = joining
    backend.add_special_tokens(list(SPECIAL))
    return Tokenizer(backend)
