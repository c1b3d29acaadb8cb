"""Run A, or A and B on the axis of tokens that they have in common."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property

import torch

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.measure.alignment import Align, Alignment, Presence, aligned, on_axis, presence
from headlight.model.measure.difference import with_difference
from headlight.model.runs.host import Value
from headlight.model.runs.run import Run

BOTH: Presence = "both"


@dataclass(frozen=True, eq=False)
class Comparison:
    """One run, or two with their tokens aligned.

    Attributes:
        a: run A.
        b: run B, or None.
        alignment: how tokens are matched; None without B.
        align: whether they were matched by tokens or by position.
    """

    a: Run
    b: Run | None = None
    alignment: Alignment | None = None
    align: Align = "tokens"

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

    def places(self, run: Run) -> tuple[int, ...]:
        """The place of each of a run's positions on the common axis, by which tokens are numbered."""
        return tuple(place for place, position in enumerate(self.positions(run)) if position is not None)

    def place_of(self, run: Run, position: int) -> int:
        """The place of one position of a run."""
        return self.places(run)[position]

    def token_at(self, run: Run, position: int) -> str:
        """A run's token with the number of its place."""
        return f"{self.place_of(run, position)} {run.labels[position]}"

    def sides_at(self, place: int) -> dict[str, tuple[Run, int]]:
        """The runs that have a place, by their names on the page, and its position there."""
        positions = {side: (run, self.positions(run)[place]) for side, run in self.sides.items()}
        return {side: (run, at) for side, (run, at) in positions.items() if at is not None}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """A label for each place: the token, with − if only A has it, + if only B has, and both if they differ."""
        if self.b is None or self.alignment is None:
            return self.a.labels
        return place_labels(self.alignment, self.presence, self.a.labels, self.b.labels)

    @cached_property
    def turns(self) -> tuple[tuple[str, int], ...]:
        """The role of each turn of A's conversation, and the place that it begins at."""
        return tuple((turn.role, self.place_of(self.a, turn.start)) for turn in self.a.turns)

    @cached_property
    def presence(self) -> tuple[Presence, ...]:
        """Whether both runs have each place, and the same token there."""
        if self.b is None or self.alignment is None:
            return (BOTH,) * len(self.a.tokens)
        return presence(self.alignment, self.a.tokens.tolist(), self.b.tokens.tolist())

    @cached_property
    def default_place(self) -> int:
        """The default place: A's masked token, the last place that all runs have, or the last of all.

        A masked token counts only where all runs have its place.
        """
        places = enumerate(zip(*map(self.positions, self.runs), strict=True))
        common = [place for place, positions in places if None not in positions]
        masked = [place for place in common if self.positions(self.a)[place] == self.a.prediction_position]
        return (masked or common or [len(self.labels) - 1])[-1]

    def measured(self, measure_of: Callable[[Run], Measure]) -> dict[str, Measure]:
        """A measure of each run and, where there are two, B - A for the layers and heads that both have."""
        return with_difference({side: measure_of(run) for side, run in self.sides.items()})

    def measured_by_place(self, measure_of: Callable[[Run], Measure]) -> dict[str, Measure]:
        """A measure [..., pos] of each run, and B - A, on the common axis: NaN where a run has no token."""

        def placed(run: Run) -> Measure:
            measure = measure_of(run)
            values = on_axis(measure.values.float(), self.positions(run), torch.nan)
            return Measure(measure.name, measure.unit, (*measure.axes[:-1], "place"), values)

        return self.measured(placed)

    def keep(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a cached result computed from all runs together."""
        if self.b is None:
            return self.a.keep(name, make)
        return self.a.host.keep((self.a.key, self.b.key, self.alignment, name), make)

    @property
    def layer_labels(self) -> tuple[str, ...]:
        """Names of the residual stream's states, of the run with more layers."""
        return max((run.layer_labels for run in self.runs), key=len)

    @property
    def n_layers(self) -> int:
        """The layers that all runs have."""
        return min(run.cfg.n_layers for run in self.runs)

    @property
    def n_heads(self) -> int:
        """The heads of a layer that all runs have."""
        return min(run.cfg.n_heads for run in self.runs)


def place_labels(
    alignment: Alignment, kinds: tuple[Presence, ...], a: tuple[str, ...], b: tuple[str, ...]
) -> tuple[str, ...]:
    """The labels of all places, from those of both runs."""
    named = zip(kinds, alignment.a, alignment.b, strict=True)
    return tuple(place_label(kind, a, i, b, j) for kind, i, j in named)


def place_label(kind: Presence, a: tuple[str, ...], i: int | None, b: tuple[str, ...], j: int | None) -> str:
    """The label of a place that is position i in A's labels and j in B's."""
    if i is None or j is None:
        return f"−{a[i]}" if i is not None else f"+{b[j]}" if j is not None else ""
    return a[i] if kind == "both" else f"{a[i]}→{b[j]}"


def compare(a: Run, b: Run, align: Align = "tokens") -> Comparison:
    """Align two runs to compare them.

    Args:
        a: run A.
        b: run B.
        align: match tokens by a longest common subsequence ("tokens") or by position.

    Raises:
        InputError: the models have different vocabularies.
    """
    check_comparable(a, b)
    return Comparison(a, b, aligned(a.tokens.tolist(), b.tokens.tolist(), align), align)


def check_comparable(a: Run, b: Run) -> None:
    """Two models can be compared where a token id means the same to both.

    Raises:
        InputError: an id of the prompts or of a word means something else in each.
    """
    if a.same_model(b):
        return
    differs = a.tokenizer.difference(b.tokenizer, {*a.tokens.tolist(), *b.tokens.tolist()})
    if differs is not None:
        raise InputError(
            f"{a.source.name} and {b.source.name} have different tokenizers, so their tokens cannot be laid side by "
            f"side: id {differs} is {_named(a, differs)} in one and {_named(b, differs)} in the other. Choose as model "
            f"B one with the tokenizer of {a.source.name}."
        )


def _named(run: Run, token: int) -> str:
    return f"“{run.tokenizer.labels([token])[0]}”"
