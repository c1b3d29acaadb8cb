"""A figure of the table, its goal, and how it is made of times that were taken in turns."""

import statistics
from dataclasses import dataclass

from tests.bench.timing import Cost

Turns = dict[str, list[Cost]]  # what each cost in each round


@dataclass(frozen=True)
class Goal:
    """A figure has to be at most this, or at least."""

    limit: float
    at_least: bool = False

    def met_by(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


@dataclass(frozen=True)
class Figure:
    """One line of the table: its value in each round. `by_processor` is the median ratio of processor times."""

    part: str
    what: str
    values: tuple[float, ...]
    unit: str = "×"
    goal: Goal | None = None
    by_processor: float | None = None

    @property
    def name(self) -> str:
        """What it is called in the table."""
        return f"{self.part}: {self.what}"

    @property
    def value(self) -> float:
        """The median over the rounds."""
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        return None if self.goal is None else self.goal.met_by(self.value)


def at_most(limit: float | None) -> Goal | None:
    return None if limit is None else Goal(limit)


def at_least(limit: float | None) -> Goal | None:
    return None if limit is None else Goal(limit, at_least=True)


def ratio(part: str, what: str, over: list[Cost], under: list[Cost], goal: Goal | None = None) -> Figure:
    """How many times as much the one took as the other in the same round."""
    rounds = list(zip(over, under, strict=True))
    values = tuple(a.clock / b.clock for a, b in rounds)
    return Figure(
        part, what, values, goal=goal, by_processor=statistics.median(a.processor / b.processor for a, b in rounds)
    )


def per_second(part: str, what: str, costs: list[Cost], count: int, unit: str) -> Figure:
    """How many of something were done in a second in each round, each of which did `count`."""
    return Figure(part, what, tuple(count / each.clock for each in costs), unit)


def milliseconds(part: str, what: str, costs: list[Cost], goal: Goal | None = None) -> Figure:
    """What it took in each round."""
    return Figure(part, what, tuple(1000 * each.clock for each in costs), "ms", goal)
