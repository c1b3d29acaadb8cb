"""Names and icons of kinds of heads, and their place in a picture of all heads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from unicodedata import bidirectional

import numpy as np

from headlight.app.components import HeadRole
from headlight.app.figures.text import token_name
from headlight.app.figures.tokens import colour
from headlight.app.parts import detection
from headlight.app.parts.detection import Repeats
from headlight.app.selection.chosen import Selection
from headlight.model.roles import max_repeat_length
from headlight.model.roles.detectors import KINDS, Kind
from headlight.model.roles.tables import COPYING, TITLES
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

FinderScore = Literal[Kind, "copying", "effect"]
Labels = Mapping[Head, tuple[Kind, ...]]


DIGITS = 4
LEAST_NATS = 0.001  # below which two distributions are told to be the same
UNREADABLE = "\ufffd"  # of half a character
LEFT_TO_RIGHT, POP = "\u2066", "\u2069"  # what stands between them turns nothing around it
RIGHT_TO_LEFT = {"R", "AL", "AN"}  # of Unicode's bidirectional classes


@dataclass(frozen=True)
class Score:
    """Name of a score and the icon of its label; the glossary has an entry of its name."""

    title: str
    icon: str = ""


ICONS: dict[Kind, str] = {
    "induction": "↻",
    "previous_token": "←",
    "duplicate_token": "=",
    "first_token": "⇤",
    "current_token": "•",
    "local_window": "…",
    "punctuation": "¶",
}
ROLE_COLOURS: dict[Kind, str] = {
    "induction": colour("role-induction"),
    "previous_token": colour("role-previous"),
    "duplicate_token": colour("role-same"),
    "first_token": colour("role-first"),
    "current_token": colour("role-current"),
    "local_window": colour("role-local"),
    "punctuation": colour("role-punctuation"),
}
SCORES: dict[FinderScore, Score] = {
    **{kind: Score(TITLES[kind], icon) for kind, icon in ICONS.items()},
    "copying": Score(COPYING),
    "effect": Score("Effect of ablating"),
}


def words(kind: Kind, doubt: bool = False) -> str:
    """A label as icon and text; with a question mark where something speaks against it."""
    return f"{SCORES[kind].icon} {SCORES[kind].title.lower()}{'?' if doubt else ''}"


def marks(labels: Labels, n_layers: int, n_heads: int) -> list[list[str]]:
    """Each head's icons, for the corner of its picture."""
    heads = [[labels.get((layer, head), ()) for head in range(n_heads)] for layer in range(n_layers)]
    return [["".join(SCORES[kind].icon for kind in kinds) for kinds in layer] for layer in heads]


def by_kind(labels: Labels) -> dict[Kind, list[Head]]:
    """The heads of each kind that there is."""
    heads_by_kind = {kind: [head for head, kinds in sorted(labels.items()) if kind in kinds] for kind in KINDS}
    return {kind: heads for kind, heads in heads_by_kind.items() if heads}


def roles(labels: Labels) -> list[HeadRole]:
    """The kinds that there are, each with its heads, as the legend of a grid of heads."""
    return [HeadRole(kind, words(kind), ROLE_COLOURS[kind], heads) for kind, heads in by_kind(labels).items()]


def drawn(comparison: Comparison, chosen: Selection) -> Repeats:
    """The random repeats: as long as was chosen, or as all models' contexts hold, so that all read the same ones."""
    most = min(max_repeat_length(run.model, run.bos, run.host) for run in comparison.runs)
    return Repeats(chosen.finder_seed, chosen.finder_count, min(chosen.finder_half, most))


def known(comparison: Comparison, chosen: Selection) -> Labels:
    """The labels of A's heads on random repeats, as far as they are known."""
    return detection.supported_labels(comparison.a.source.name, comparison.a.bos, drawn(comparison, chosen))


def said_of_heads(comparison: Comparison, chosen: Selection, heads: Iterable[Head]) -> str:
    """The known roles of some heads of A, in words."""
    own = known(comparison, chosen)
    named = {head: " and ".join(SCORES[kind].title.lower() for kind in own[head]) for head in heads if head in own}
    return ", ".join(f"{head_name(head)}: {roles}" for head, roles in named.items())


def number(value: float) -> str:
    """Four digits, written as the attention page writes them."""
    if not np.isfinite(value):
        return {-np.inf: "−∞", np.inf: "∞"}.get(value, "no number")
    if value == 0:
        return "0"
    digits, _, power = f"{value:.{DIGITS - 1}e}".partition("e")
    exponent = int(power)
    positional = -7 < exponent < DIGITS
    text = f"{value:.{DIGITS - 1 - exponent}f}" if positional else f"{digits}e{exponent:+d}"
    return text.replace("-", "−")


def nats(value: float) -> str:
    """Three digits of a divergence, or of a difference of two; one that hardly differs from zero only says so."""
    if 0 < abs(value) < LEAST_NATS:
        return f"< {LEAST_NATS:g}" if value >= 0 else f"> −{LEAST_NATS:g}"
    return f"{value:.3g}".replace("-", "−")


def signed_cents(value: float) -> str:
    """A number with its sign and two decimals."""
    return f"{value:+.2f}".replace("-", "−")


def signed(value: float) -> str:
    """A number with its sign."""
    return f"+{number(value)}" if value > 0 else number(value)


def readable(texts: Iterable[str], labels: Iterable[str]) -> list[str]:
    """Tokens in running text: as they are, but as labels where invisible or changing the text's direction."""
    return [
        text if text.isprintable() and UNREADABLE not in text else label.replace("␣", " ")
        for text, label in zip(texts, labels, strict=True)
    ]


def isolated(label: str, place: int = 1) -> str:
    """A token's name in running text: a number that stands after Arabic or Hebrew would be drawn before it."""
    turns = any(bidirectional(character) in RIGHT_TO_LEFT for character in label)
    return f"{LEFT_TO_RIGHT}{label}{POP}" if turns else token_name(label, place)


def quoted(label: str, place: int = 1) -> str:
    """The same in quotation marks; a special token's name is no text, and its own signs tell it from the sentence."""
    name = isolated(label, place)
    return name if token_name(label, place) != label else f"“{name}”"


def quoted_word(label: str, place: int = 1) -> str:
    """A token's name as a word in a sentence: in quotation marks, without the space that it may begin with."""
    return quoted(label.replace("␣", " ").strip() or label, place)


def percent(share: float, decimals: int = 0) -> str:
    """A share in percent with so many decimals; a small one does not read as zero."""
    least = 10.0 ** -(decimals + 2)
    return f"<{least:.{decimals}%}" if share < least else f"{share:.{decimals}%}"
