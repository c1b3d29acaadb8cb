"""What kinds of heads are called, their icons, and how these stand in a picture of all heads."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.selection.chosen import FinderScore, Head
from app.views.parts import name
from model.analysis.detectors import KINDS, Kind

Labels = Mapping[Head, tuple[Kind, ...]]


@dataclass(frozen=True)
class Score:
    """What a score is called and the icon of the label that it gives; the glossary has an entry of its name."""

    title: str
    icon: str = ""


SCORES: dict[FinderScore, Score] = {
    "induction": Score("Induction", "↻"),
    "previous_token": Score("Previous token", "←"),
    "duplicate_token": Score("Same token", "="),
    "first_token": Score("First token", "⇤"),
    "current_token": Score("Current token", "•"),
    "local_window": Score("Local window", "…"),
    "punctuation": Score("Punctuation", "¶"),
    "copying": Score("Copying (OV)"),
    "effect": Score("Effect of ablating"),
}


def words(kind: Kind, doubt: bool = False) -> str:
    """A label as icon and text; with a question mark where something speaks against it."""
    return f"{SCORES[kind].icon} {SCORES[kind].title.lower()}{'?' if doubt else ''}"


def marks(labels: Labels, n_layers: int, n_heads: int) -> list[list[str]]:
    """Each head's icons, for the corner of its picture."""
    heads = [[labels.get((layer, head), ()) for head in range(n_heads)] for layer in range(n_layers)]
    return [["".join(SCORES[kind].icon for kind in kinds) for kinds in layer] for layer in heads]


def by_kind(labels: Labels) -> dict[Kind, list[str]]:
    """The names of the heads of each kind that there is."""
    found = {kind: [name(head) for head, kinds in sorted(labels.items()) if kind in kinds] for kind in KINDS}
    return {kind: heads for kind, heads in found.items() if heads}
