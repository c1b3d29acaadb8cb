"""Choices of the page *Translate*, besides its texts."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from headlight.app.runs import translations
from headlight.app.selection import Selection
from headlight.app.selection.choices import PageChoices, below
from headlight.model.decoding.translation import Attends
from headlight.model.decoding.translations import Rows, Translations
from headlight.model.runs.edits import Head


@dataclass(frozen=True)
class Choices(PageChoices):
    """The kind of attention, its heads and pinned tokens, and whether rows are named by the token written or read.

    `why_written` is the place of the written token that is explained, if any is, and `why_versus` the token (id) whose
    logit is subtracted, by default the likeliest other one; with `why_alone` none is.
    """

    forgets: ClassVar = {
        "translator": ("pair_heads", "why_written", "why_versus", "why_alone"),
        "source": ("pair_queries", "pair_keys", "why_written", "why_versus", "why_alone"),
    }

    attends: Attends = "cross"
    rows: Rows = "written"
    pair_heads: tuple[Head, ...] | None = None
    pair_queries: tuple[int, ...] = ()
    pair_keys: tuple[int, ...] = ()
    why_written: int | None = None
    why_versus: int | None = None
    why_alone: bool = False

    def among(self, pair: Translations) -> Self:
        """Without the heads and tokens that these translations do not have."""
        down, across = pair.axes(self.attends, self.rows)
        n_layers, n_heads = pair.shape(self.attends)
        heads = self.pair_heads and tuple(
            (layer, head) for layer, head in self.pair_heads if layer < n_layers and head < n_heads
        )
        return replace(
            self,
            rows="read" if pair.a.reads_source else self.rows,
            pair_heads=None if self.pair_heads and not heads else heads,
            pair_queries=tuple(place for place in self.pair_queries if place < len(down.labels)),
            pair_keys=tuple(place for place in self.pair_keys if place < len(across.labels)),
            why_written=below(self.why_written, len(pair.axes("cross", "written")[0].labels)),
            why_versus=below(self.why_versus, pair.a.model.cfg.decoder.d_vocab),
        )


def within(chosen: Selection, pair: Translations) -> Selection:
    """The selection without what these translations do not have."""
    own = chosen.choices_of(Choices).among(pair)
    return translations.within(chosen, pair).updated(Choices, **vars(own))
