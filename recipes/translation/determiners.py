"""Endings by case and gender, and the determiners that carry them."""

from dataclasses import dataclass
from typing import Literal

Case = Literal["nominative", "accusative", "dative"]
Gender = Literal["m", "f", "n", "plural"]
Endings = dict[tuple[Case, Gender], str]

CASES: tuple[Case, ...] = ("nominative", "accusative", "dative")
GENDERS: tuple[Gender, ...] = ("m", "f", "n", "plural")


def _endings(table: str) -> Endings:
    cells = iter(table.split())
    return {(case, gender): next(cells).replace("-", "") for case in CASES for gender in GENDERS}


DEFINITE = _endings("""
der die das die
den die das die
dem der dem den
""")
STRONG = _endings("""
er  e  es  e
en  e  es  e
em  er em  en
""")
WEAK = _endings("""
e   e  e   en
en  e  e   en
en  en en  en
""")
MIXED = _endings("""
er  e  es  en
en  e  es  en
en  en en  en
""")
EIN = _endings("""
-   e  -   e
en  e  -   e
em  er em  en
""")
UNCHANGED = dict.fromkeys(DEFINITE, "")


@dataclass(frozen=True, eq=False)
class Determiner:
    """Stem and endings, the endings of an adjective after it, and its English where singular or plural is possible."""

    stem: str
    endings: Endings
    adjective: Endings
    singular: str | None
    plural: str | None


THE = Determiner("", DEFINITE, WEAK, "the", "the")
THIS = Determiner("dies", STRONG, WEAK, "this", "these")
EVERY = Determiner("jed", STRONG, WEAK, "every", None)
A = Determiner("ein", EIN, MIXED, "a", None)
NO = Determiner("kein", EIN, MIXED, "a", "any")  # with the verb negated in English
MY = Determiner("mein", EIN, MIXED, "my", "my")
OUR = Determiner("unser", EIN, MIXED, "our", "our")
TWO = Determiner("zwei", UNCHANGED, STRONG, None, "two")
THREE = Determiner("drei", UNCHANGED, STRONG, None, "three")
MANY = Determiner("viel", STRONG, STRONG, None, "many")
BARE = Determiner("", UNCHANGED, STRONG, "", "")
