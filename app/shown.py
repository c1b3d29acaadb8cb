"""What a page draws: run A, or A and B on the axis of tokens that they have in common."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from app import runs, selection
from app.run import Run
from app.selection import Selection
from model.analysis.alignment import Alignment, Presence, align_positions, align_tokens, presence
from model.errors import HeadlightError, InputError

Value = TypeVar("Value")
BOTH: Presence = "both"


@dataclass(frozen=True, eq=False)
class Shown:
    """One run, or two and how their tokens belong together; `alignment` is None exactly when `b` is."""

    a: Run
    b: Run | None = None
    alignment: Alignment | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """A, or A and B."""
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def sides(self) -> dict[str, Run]:
        """The runs by their names on the page."""
        return dict(zip("AB", self.runs, strict=False))

    def positions(self, run: Run) -> tuple[int | None, ...]:
        """Each place's position in one of the runs, None where that run lacks it."""
        if self.alignment is None:
            return tuple(range(len(run.tokens)))
        return self.alignment.a if run is self.a else self.alignment.b

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What to call each place: the token, − before one that only A has, + before one of B, both if they differ."""
        if self.b is None or self.alignment is None:
            return self.a.labels
        named = zip(self.presence, self.alignment.a, self.alignment.b, strict=True)
        return tuple(place_label(kind, self.a.labels, i, self.b.labels, j) for kind, i, j in named)

    @cached_property
    def presence(self) -> tuple[Presence, ...]:
        """Whether both runs have each place, and the same token there."""
        if self.b is None or self.alignment is None:
            return (BOTH,) * len(self.a.tokens)
        return presence(self.alignment, self.a.tokens.tolist(), self.b.tokens.tolist())

    @cached_property
    def default_place(self) -> int:
        """The place that is looked at before one is chosen: the last that all runs have, or the last of all."""
        places = enumerate(zip(*map(self.positions, self.runs), strict=True))
        common = [place for place, positions in places if None not in positions]
        return common[-1] if common else len(self.labels) - 1

    @property
    def n_layers(self) -> int:
        """The layers that all runs have."""
        return min(run.cfg.n_layers for run in self.runs)

    @property
    def n_heads(self) -> int:
        """The heads of a layer that all runs have."""
        return min(run.cfg.n_heads for run in self.runs)


def place_label(kind: Presence, a: tuple[str, ...], i: int | None, b: tuple[str, ...], j: int | None) -> str:
    """The label of a place that is position i in A's labels and j in B's."""
    if i is None or j is None:
        return f"−{a[i]}" if i is not None else f"+{b[j]}" if j is not None else ""
    return a[i] if kind == "both" else f"{a[i]}→{b[j]}"


def of(chosen: Selection) -> Shown:
    """The runs that a selection asks for.

    Raises:
        HeadlightError: one of them cannot be had, or their tokens cannot be compared; the message says why.
    """
    a = runs.run(chosen.model, chosen.prompt, chosen.bos)
    if not chosen.compares:
        return Shown(a)
    try:
        b = _b(chosen)
    except HeadlightError as error:
        raise type(error)(f"B: {error}") from error
    check_comparable(a, b)
    if chosen.align == "position":
        return Shown(a, b, align_positions(len(a.tokens), len(b.tokens)))
    return Shown(a, b, align_tokens(a.tokens.tolist(), b.tokens.tolist()))


def _b(chosen: Selection) -> Run:
    """Another prompt's run, or run A with the edits that are switched on."""
    if chosen.prompt_b is None:
        return runs.run(chosen.model, chosen.prompt, chosen.bos, chosen.edits_on)
    return runs.run(chosen.model_b or chosen.model, chosen.prompt_b, chosen.bos)


def check_comparable(a: Run, b: Run) -> None:
    """Two models can be compared where a token id means the same to both.

    Raises:
        InputError: their tokenizers differ.
    """
    if not a.same_model(b) and not a.tokenizer.same_vocabulary(b.tokenizer):
        raise InputError(
            f"{a.source.name} and {b.source.name} have different tokenizers, so their tokens cannot be laid side by "
            f"side. Choose as model B one with the tokenizer of {a.source.name}."
        )


def kept(shown: Shown, name: Hashable, make: Callable[[], Value]) -> Value:
    """What a page computes from what is shown, from the cache where it was computed before."""
    if shown.b is None:
        return runs.kept(shown.a, name, make)
    return runs.remembered((shown.a.key, shown.b.key, shown.alignment, name), make)


def within(chosen: Selection, shown: Shown) -> Selection:
    """The selection without what these runs do not have."""
    deepest = max(run.cfg.n_layers for run in shown.runs)
    return selection.within(chosen, shown.n_layers, shown.n_heads, len(shown.labels), deepest)
