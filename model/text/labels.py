"""Labels of tokens: text in which every character is visible and distinct.

A label is text of strangers like the prompt itself: it has to be escaped wherever markup is read.
"""

import re
import unicodedata
from functools import lru_cache

SHOWN_AS = {" ": "␣", "\n": "↵", "\t": "⇥"}
SINGLE_SPACE = re.compile("(?<![␣↵⇥])␣(?![␣↵⇥]|$)")
# Spaces other than " ", controls, formats (direction, zero width), halves of pairs, private and unassigned characters.
ESCAPED = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"})
# Characters without a shape that these categories miss. Source: Unicode's Default_Ignorable_Code_Point.
SHAPELESS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


@lru_cache(2**16)
def label(token: bytes) -> str:
    """Make a token's bytes visible: ␣, ↵ and ⇥ for space, newline and tab, <0xF0> for a byte of a split character.

    Invisible characters, and those that change the direction of the text, are written as <U+202E>.
    """
    return "".join(map(_visible, token.decode("utf-8", "surrogateescape")))


def with_spaces(label: str) -> str:
    """A label of a sentence as it is read: single spaces between words as such, and none before the first word.

    Spaces in a row, and those at a line break or the end, stay visible.
    """
    return SINGLE_SPACE.sub(" ", label).removeprefix(" ")


def _visible(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # where surrogateescape puts bytes that are no UTF-8
        return f"<0x{code - 0xDC00:02X}>"
    if character in SHOWN_AS:
        return SHOWN_AS[character]
    hidden = unicodedata.category(character) in ESCAPED or SHAPELESS.match(character)
    return f"<U+{code:04X}>" if hidden or character in SHOWN_AS.values() else character
