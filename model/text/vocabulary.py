"""The vocabulary of a tokenizer: what each token id stands for, and its visible label."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING

from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.text.growth import check_length, max_bytes
from headlight.model.text.labels import label
from headlight.model.text.patterns import Patterns
from headlight.model.text.spelling import spelling

if TYPE_CHECKING:
    import tokenizers

FAILS = "The model's tokenizer fails on this text ({}). Try another text or model."
MAX_LISTED = 60  # words that a message names
MAX_UNKNOWN, MAX_LETTERS = 8, 40  # of the words of a text that a message says are unknown
MAX_NEAR, MAX_SOME = 3, 12  # known words that are named in their place: like each, or else of all
TokenIds = Int[Tensor, "..."] | Sequence[int] | int

LANGUAGE = re.compile(r"__[a-z]{2,3}__|[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")  # as M2M-100, NLLB and mBART call one


class Vocabulary:
    """Token ids with the text and the label of each."""

    def __init__(self, backend: "tokenizers.Tokenizer") -> None:
        """Wrap the vocabulary of a tokenizer of the `tokenizers` library, whose special tokens are complete."""
        self._backend = backend
        self._max_bytes, self._patterns = max_bytes(backend), Patterns(backend)
        self._added = backend.get_added_tokens_decoder()
        self._bytes_of = spelling(backend)
        self._of_words = type(backend.model).__name__ == "WordLevel"
        self._of_parts = type(backend.model).__name__ == "WordPiece"

    @property
    def n_words(self) -> int:
        """The size of the vocabulary without special tokens."""
        return self._backend.get_vocab_size() - len(self._added)

    @cached_property
    def vocabulary_size(self) -> int:
        """One more than the largest token id, special tokens included."""
        return max(self._backend.get_vocab().values(), default=-1) + 1

    def word_ids(self) -> list[int]:
        """The ids of all tokens except special ones, in order."""
        return sorted(set(self._backend.get_vocab().values()) - set(self._added))

    def is_special(self, token: int) -> bool:
        """Whether a token stands for no text, as one that begins or parts texts."""
        return token in self._added and self._added[token].special

    @cached_property
    def languages(self) -> dict[str, int]:
        """The special tokens that stand for a language, by their names in order."""
        named = {token.content: number for number, token in self._added.items() if token.special}
        return {name: named[name] for name in sorted(named) if LANGUAGE.fullmatch(name)}

    def unknown_words(self, text: str) -> list[str]:
        """Words of a text that the vocabulary lacks, in order; none for a byte-level vocabulary.

        Of a vocabulary of words none that is spelled like a special token is one.
        """
        unknown = getattr(self._backend.model, "unk_token", None)
        if unknown is None:
            return []
        backend = self._literal if self._of_words else self._backend
        no_words = {backend.token_to_id(unknown), *(self._added if self._of_words else ())}
        self._check([text], literal=backend is not self._backend)
        with refusing(InputError, FAILS):
            encoding = backend.encode(text, add_special_tokens=False)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        return [text[start:end] for token, (start, end) in spans if token in no_words]

    def only_known(self, unknown: Sequence[str], side: str) -> str:
        """Message about words of a side that the vocabulary lacks, with known ones that are like them, or else some."""
        strange, known = list(dict.fromkeys(unknown)), self.labels(self.word_ids())
        named = [shorten(word) for word in strange[:MAX_UNKNOWN]]
        more = f" and {len(strange) - len(named)} more" if len(strange) > len(named) else ""
        by_case = {word.casefold(): word for word in known}
        like = [by_case[near] for word in named for near in get_close_matches(word.casefold(), by_case, MAX_NEAR)]
        some = like or known[:: max(1, len(known) // MAX_SOME)]
        listed = ", ".join(dict.fromkeys(some))
        return (
            f"The model does not know {', '.join(map(repr, named))}{more}. Of the {len(known)} words of the {side} "
            f"that it knows, {'the nearest' if like else 'some'} are: {listed}."
        )

    def same_vocabulary(self, other: "Vocabulary") -> bool:
        """Whether every token id stands for the same text in both."""
        return self._backend.get_vocab() == other._backend.get_vocab()

    def difference(self, other: "Vocabulary", tokens: Collection[int]) -> int | None:
        """The first id that does not mean the same in both, if one of these does not, or one of a word.

        Tokens that were added to a vocabulary, as padding is for a fine-tuning, may differ where no text has them.
        """
        mine, its = (each._backend for each in (self, other))
        known = {*mine.get_vocab().values(), *its.get_vocab().values()}
        unlike = (token for token in sorted(known) if mine.id_to_token(token) != its.id_to_token(token))
        added = self._added.keys() | other._added.keys()
        return next((token for token in unlike if token in tokens or token not in added), None)

    def to_string(self, tokens: TokenIds) -> str:
        """The text of token ids; bytes that are no whole character become U+FFFD.

        Raises:
            InputError: the tokenizer fails on them.
        """
        ids = flat_ids(tokens)
        self._patterns.check_tokens([self._backend.id_to_token(token) or "" for token in ids])
        with refusing(InputError, "The model's tokenizer fails on these tokens ({}). Use another model."):
            return self._backend.decode(ids, skip_special_tokens=False)

    def labels(self, tokens: TokenIds) -> list[str]:
        """Return a label for each token with every character visible; `<id 50300>` for an id without a token."""
        return [self._label(token) for token in flat_ids(tokens)]

    def label_together(self, tokens: TokenIds) -> str:
        """Return one label for consecutive tokens, in which characters split between them are whole."""
        if self._of_parts:
            return label(self.to_string(tokens).encode())
        return label(b"".join(map(self._bytes, flat_ids(tokens))))

    def _strange_words(self, text: str) -> list[str]:
        """The words of a text on which a vocabulary of words fails that has no token for all others."""
        normalizer, splitter = self._backend.normalizer, self._backend.pre_tokenizer
        if not self._of_words or splitter is None or self._patterns.any:  # which are tried on parts of the text alone
            return []
        with refusing(InputError, FAILS):
            words = splitter.pre_tokenize_str(text if normalizer is None else normalizer.normalize_str(text))
        return [label(word.encode()) for word, _ in words if self._backend.token_to_id(word) is None]

    def _check(self, texts: Sequence[str], literal: bool) -> None:
        for text in texts:
            check_length(text, self._max_bytes)
        self._patterns.check_texts(texts, literal)

    def _only_these(self, strange: list[str]) -> str:
        """Message about words that the vocabulary lacks."""
        known = sorted(self.labels(self.word_ids()))
        more = " …" if len(known) > MAX_LISTED else ""
        listed, said = (" ".join(dict.fromkeys(words[:MAX_LISTED])) for words in (known, strange))
        return f"This model knows {len(known)} words and not: {said}. Use these alone: {listed}{more}"

    @cached_property
    def _literal(self) -> "tokenizers.Tokenizer":
        """A second tokenizer that leaves special tokens literal: a switch on the first would change other threads'."""
        literal = type(self._backend).from_str(self._backend.to_str())
        literal.encode_special_tokens = True
        return literal

    def _label(self, token: int) -> str:
        name = self._backend.id_to_token(token) if 0 <= token < 2**32 else None
        return f"<id {token}>" if name is None else label(self._bytes(token))

    def _bytes(self, token: int) -> bytes:
        """The bytes that a token stands for, also where they are only part of a character; none for no token."""
        name = self._backend.id_to_token(token) or ""
        if token in self._added:
            return name.encode()
        content = self._bytes_of(name)
        return self.to_string(token).encode() if content is None else content


@contextmanager
def refusing(kind: type[HeadlightError], message: str) -> Iterator[None]:
    """Turn any exception of the `tokenizers` library into our error; {} in the message stands for its text."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # its errors have no narrower type, and its panics are not even an Exception
        raise kind(message.format(error)) from error


def shorten(word: str) -> str:
    """The beginning of a word that is too long for a message."""
    return word if len(word) <= MAX_LETTERS else f"{word[:MAX_LETTERS]}…"


def flat_ids(tokens: TokenIds) -> list[int]:
    """Token ids as a list, from one id, a sequence, or a tensor of one row."""
    if isinstance(tokens, Tensor):
        if tokens.ndim > 1 and tokens.shape[0] != 1:
            raise InputError(f"Token ids have shape {list(tokens.shape)}; give one row of them at a time.")
        return tokens.flatten().tolist()
    return [tokens] if isinstance(tokens, int) else [int(token) for token in tokens]
