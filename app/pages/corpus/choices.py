"""Choices of the page *Corpus*."""

from dataclasses import dataclass
from typing import ClassVar

from headlight.app.selection.choices import PageChoices
from headlight.model.corpus.tree import Head


@dataclass(frozen=True)
class Choices(PageChoices):
    """The metric that heads are ranked by, those of the other axis and the colour, and the scan beside.

    `scan_b` is compared with the scan. `scan_heads` are chosen heads of a scan whose model is not the one that is open;
    of the open one's they are those that all pages share. `sequence` is the place of one in the head's list.
    """

    forgets: ClassVar = {"model": ("scan_heads", "sequence")}  # both are of the scan, which another model has not got

    corpus_by: str = ""
    corpus_across: str = ""
    corpus_colour: str = ""
    scan_b: str = ""
    scan_heads: tuple[Head, ...] | None = None
    sequence: int | None = None
