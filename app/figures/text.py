"""Escape labels and numbers for Plotly, which would read markup, entities and TeX in untrusted text."""

import html
import math
import re
from collections.abc import Sequence

# As tokenizers write tokens that are no text, and as no text is; shared/text.js has the same rule.
SPECIAL = re.compile(
    r"<\|([\w-]+)\|>|<(/?s|bos|eos|cls|sep|pad|unk|mask|(?:start|end)_of_\w+)>|\[([A-Z]{3,4})\]", re.ASCII
)
BOUNDS = {"s": "bos", "begin_of_text": "bos", "/s": "eos", "end_of_text": "eos"}
LONGEST, LONGEST_ROW = 20, 28  # characters of a label along an axis, and of a row's; hovering tells it in full


def escape(text: str) -> str:
    """Text in which Plotly finds no tag, no entity and, by the dollar's number, no TeX, and which is always UTF-8."""
    return html.escape(text, quote=False).replace("$", "&#36;").encode("utf-8", "replace").decode()


def token_name(label: str, place: int) -> str:
    """A token's label, or a special token's name without its signs: ⟨bos⟩ or, behind the first `place`, ⟨eos⟩."""
    special = SPECIAL.fullmatch(label)
    if special is None:
        return label
    name = next(filter(None, special.groups())).lower()
    if name == "endoftext":
        return "⟨eos⟩" if place else "⟨bos⟩"
    return f"⟨{BOUNDS.get(name, name)}⟩"


def token_names(labels: Sequence[str]) -> list[str]:
    """Names of a text's tokens, from its first on."""
    return [token_name(label, place) for place, label in enumerate(labels)]


def numbered_names(labels: Sequence[str]) -> list[str]:
    """Names of a text's tokens, each behind its place."""
    return [f"{place} {name}" for place, name in enumerate(token_names(labels))]


def named_place(numbered: str) -> str:
    """A label behind its place, with a special token's name; any other text as it is."""
    place, _, label = numbered.partition(" ")
    return f"{place} {token_name(label, int(place))}" if place.isdecimal() and label else numbered


def short(label: str, most: int = LONGEST) -> str:
    """A label for an axis, escaped, each of its lines cut."""
    return "<br>".join(escape(line if len(line) <= most else f"{line[: most - 1]}…") for line in label.split("\n"))


def letters(labels: Sequence[str], most: int = LONGEST) -> int:
    """Number of characters of these labels' longest line along an axis."""
    return max((min(len(line), most) for label in labels for line in label.split("\n")), default=0)


def number(value: float) -> str:
    """Four digits, with a minus sign."""
    return f"{value:.4g}".replace("-", "−")


def alike(values: Sequence[float], signed: bool = False) -> list[str]:
    """Numbers that stand below each other, with one number of decimals: three digits of the largest."""
    largest = max(map(abs, values), default=0.0)
    decimals = min(max(2 - math.floor(math.log10(largest)), 0), 6) if 0 < largest < math.inf else 0
    texts = [f"{value:z.{decimals}f}" for value in values]  # without a sign where it reads as zero
    return [f"{'+' if signed and float(text) > 0 else ''}{text}".replace("-", "−") for text in texts]


def quantity(value: float, unit: str) -> str:
    """A number with its unit; a probability as a percentage."""
    return f"{value:.2%}" if unit == "probability" else f"{number(value)} {unit}".strip()


def measured(what: str, unit: str) -> str:
    """Name of a measure with its unit; the unit alone where there is no name."""
    return f"{what} ({unit})" if what else unit


def hover(lines: Sequence[str]) -> str:
    """Text of a point's tooltip, line by line."""
    return "<br>".join(escape(line) for line in "\n".join(filter(None, lines)).split("\n"))
