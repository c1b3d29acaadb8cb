"""Words of both languages that know each other: every English word keeps the German words that it comes from."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MARKS = (",", ".", "?")


@dataclass(frozen=True, eq=False)
class German:
    """One German word of one sentence; two of the same text are two words."""

    text: str


@dataclass(frozen=True)
class English:
    """One English word and the German words that it comes from."""

    text: str
    german: tuple[German, ...]


@dataclass(frozen=True)
class Phrase:
    """Words that stay together, in the order of each language."""

    german: tuple[German, ...] = ()
    english: tuple[English, ...] = ()


@dataclass(frozen=True)
class Pair:
    """A sentence in both languages, and for each English word (marks included) the positions of its German words."""

    german: str
    english: str
    links: tuple[frozenset[int], ...]


def tokens(sentence: str) -> list[str]:
    """The words and marks of a sentence, which are its tokens."""
    return re.findall(r"\w+|[^\w\s]+", sentence)


def fixed(entry: str) -> Phrase:
    """A phrase of the lexicon: `im Garten | in0 the0 garden1`, where a digit is the place of the German word."""
    german, english = entry.split("|")
    words = tuple(German(text) for text in german.split())
    return Phrase(words, tuple(English(word[:-1], (words[int(word[-1])],)) for word in english.split()))


def joined(phrases: Iterable[Phrase]) -> Phrase:
    """Phrases one after the other in both languages."""
    parts = list(phrases)
    return Phrase(
        tuple(word for part in parts for word in part.german), tuple(word for part in parts for word in part.english)
    )


def finish(phrase: Phrase, mark: str) -> Pair:
    """The sentence as text, with its end mark, a capital first letter, and no comma before another mark."""
    end = German(mark)
    words = [*phrase.german, end]
    german = [word for word, after in zip(words, [*words[1:], end], strict=True) if word is end or _stays(word, after)]
    english = [*phrase.english, English(mark, (end,))]
    position = {id(word): index for index, word in enumerate(german)}
    links = tuple(frozenset(position[id(word)] for word in each.german) for each in english)
    return Pair(_text(word.text for word in german), _text(_with_articles([word.text for word in english])), links)


def _stays(word: German, after: German) -> bool:
    return not (word.text == "," and after.text in MARKS)


def _with_articles(words: list[str]) -> list[str]:
    """`an` for `a` before a vowel; all of the lexicon's vowel letters are spoken as vowels."""
    following = [*words[1:], ""]
    return ["an" if word == "a" and after[0] in "aeiou" else word for word, after in zip(words, following, strict=True)]


def _text(words: Iterable[str]) -> str:
    text = "".join(word if word in MARKS else f" {word}" for word in words).strip()
    return text[0].upper() + text[1:]
