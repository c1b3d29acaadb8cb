"""The table of how long the page takes to answer, and the file of all its times."""

import json
import statistics
from dataclasses import asdict, dataclass, field

from tests.bench.machine import machine
from tests.places import ROOT

REPORT = ROOT / "assets" / "benchmarks" / "ui.json"


@dataclass(frozen=True)
class Goal:
    """Milliseconds: half of the answers, and 95 of 100, have to come within these."""

    p50: float
    p95: float


@dataclass(frozen=True)
class Times:
    """How long an act took each time, in milliseconds."""

    each: list[float]

    @property
    def p50(self) -> float:
        return statistics.median(self.each)

    @property
    def p95(self) -> float:
        return statistics.quantiles(self.each, n=20, method="inclusive")[18]


@dataclass(frozen=True)
class Figure:
    """One line of the table; `by_page` are medians, where the act is done on several pages."""

    model: str
    n_tokens: int
    what: str
    goal: Goal
    ours: Times
    floor: Times
    by_page: dict[str, float] = field(default_factory=dict)

    @property
    def met(self) -> bool:
        """Whether it takes no longer than the goal, in whole milliseconds, as goals are given."""
        return round(self.ours.p50) <= round(self.goal.p50) and round(self.ours.p95) <= round(self.goal.p95)


def begin(browser: str) -> None:
    """Print what is measured on, and the table's head."""
    print(f"{machine()}, Chromium {browser}; milliseconds, p50 / p95")
    print(f"{'model':14}{'tokens':>6}  {'':43}{'goal':>12}{'measured':>13}{'floor':>13}  met")


def show(figure: Figure) -> None:
    """Print a figure's line, and of several pages the slowest first."""
    sides = (figure.goal, figure.ours, figure.floor)
    goal, ours, floor = (f"{side.p50:.0f} / {side.p95:.0f}" for side in sides)
    met = "yes" if figure.met else "NO"
    print(f"{figure.model:14}{figure.n_tokens:6,}  {figure.what:43}{goal:>12}{ours:>13}{floor:>13}  {met}", flush=True)
    slowest = sorted(figure.by_page.items(), key=lambda page: -page[1])
    if slowest:
        print(" " * 22 + ", ".join(f"{page} {took:.0f}" for page, took in slowest), flush=True)


def write(figures: list[Figure], browser: str) -> None:
    """Write all figures down, with what they were measured on."""
    rows = [
        asdict(each)
        | {"p50": each.ours.p50, "p95": each.ours.p95, "met": each.met}
        | {"floor_p50": each.floor.p50, "floor_p95": each.floor.p95}
        for each in figures
    ]
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(json.dumps({"machine": machine(), "chromium": browser, "figures": rows}, indent=1) + "\n")
