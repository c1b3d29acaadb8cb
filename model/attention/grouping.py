"""Tokens taken together as words or sentences.

A grouping is each token's group index: 0 for the first token, and one more at each token that begins another group.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

import torch
from jaxtyping import Int
from torch import Tensor

SPECIAL = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")  # <|endoftext|>, </s>, [CLS]
# U+FFFD is a piece of a character that takes several tokens; after a full stop that is most often a closing quote.
# Possessive (++, *+) and never begun inside a run of marks, so that a prompt of nothing but dots takes linear time.
SENTENCE_END = re.compile(
    r"""(?<![.!?…]) [.!?…]++ ["'”’)\]\ufffd]*+ (?=\s|$) (?:\s*\n)?  # marks, what closes after them, then whitespace
    |   [。！？]+ [”’」』）]* (?:\s*\n)?                             # marks that no space follows
    |   \n (?:\s*\n)?                                              # line breaks alone""",
    re.VERBOSE,
)


def words(str_tokens: Sequence[str]) -> Int[Tensor, " pos"]:
    """The word of each token.

    A token without a space before it continues the word ("'s" too, and the apostrophe of "o'clock"), and so do pieces
    of a character (U+FFFD). Every token of punctuation alone and every special token is a group of its own; tokens of
    nothing but whitespace are one together.
    """
    around = zip(["", *str_tokens], str_tokens, [*str_tokens[1:], ""], strict=False)
    alone = [_stands_alone(*tokens) for tokens in around]
    return _numbered(
        i > 0 and (alone[i - 1] or alone[i] or _parted(str_tokens[i - 1], str_tokens[i]))
        for i in range(len(str_tokens))
    )


def sentences(str_tokens: Sequence[str]) -> Int[Tensor, " pos"]:
    """The sentence of each token.

    One ends at . ! ? or … before whitespace, with the quotes and brackets closed there, and at a line break. So it does
    after an abbreviation ("Mr. Smith"), but not in "3.14". Every special token is a sentence of its own.
    """
    ends = [match.end() for match in SENTENCE_END.finditer("".join(str_tokens))]
    ended = [bisect_right(ends, start) for start in accumulate(map(len, str_tokens), initial=0)]
    special = [SPECIAL.fullmatch(token) is not None for token in str_tokens]
    return _numbered(
        i > 0 and (special[i - 1] or special[i] or ended[i] > ended[i - 1]) for i in range(len(str_tokens))
    )


def _stands_alone(before: str, token: str, after: str) -> bool:
    """Whether a token is special or all punctuation, but no apostrophe between letters."""
    if token in ("'", "’") and before[-1:].isalnum() and after[:1].isalnum():
        return False
    return SPECIAL.fullmatch(token) is not None or (token.strip() != "" and all(map(_is_mark, token.strip())))


def _is_mark(character: str) -> bool:
    """Whether it is punctuation or a symbol; the underscore of a name is neither here."""
    return unicodedata.category(character)[0] in "PS" and character not in "_\ufffd"


def _parted(before: str, token: str) -> bool:
    """Whether whitespace stands between two tokens, and not as one run through both."""
    if before.isspace() and token.isspace():
        return False
    return before[-1:].isspace() or token[:1].isspace()


def _numbered(begins: Iterable[bool]) -> Int[Tensor, " pos"]:
    """The group index of each token from whether it begins another group than the token before."""
    return torch.tensor(list(begins), dtype=torch.long).cumsum(0)
