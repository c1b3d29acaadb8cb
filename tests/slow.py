"""Which tests are slow; `python -m tests.slow` (`make slow`) measures them and writes `slow.txt`.

Time is the processor's, children included, so that it is the same whatever else the machine does.
"""

import resource
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

LISTED = Path(__file__).with_name("slow.txt")
HEADER = """\
# Tests that `make test-quick` leaves out beside those that are slow by their kind (tests/slow.py): the costliest ones,
# as file::function. `make slow` measures all of them and writes this file.
"""
BUDGET = 90  # seconds of processor time for the quick tests: 45 on each of two cores, of 90 with imports and collection


def is_slow_by_kind(item: pytest.Item) -> bool:
    """Whether a test runs a page of the application or is thorough."""
    return "AppTest" in vars(item.module) or item.get_closest_marker("thorough") is not None


def name(item: pytest.Item) -> str:
    """What the list calls a test; its parameters are one entry."""
    return f"{item.path.name}::{item.originalname}"


def listed() -> set[str]:
    """The names in `slow.txt`."""
    return {line for line in LISTED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}


def processor_time() -> float:
    """Seconds that this process and its ended children have used."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Costs:
    """A plugin of pytest that measures every test that is not slow by its kind, and the fixtures that tests share."""

    def __init__(self) -> None:
        self.own: dict[str, float] = defaultdict(float)
        self.fixtures: dict[FunctionType, float] = defaultdict(float)
        self.used: dict[str, set[FunctionType]] = defaultdict(set)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if not (item.get_closest_marker("browser") or is_slow_by_kind(item))]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        began, shared = processor_time(), sum(self.fixtures.values())
        result = yield
        self.own[name(item)] += processor_time() - began - (sum(self.fixtures.values()) - shared)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Iterator[Any]:
        began = processor_time()
        result = yield
        if fixturedef.scope != "function":
            self.fixtures[fixturedef.func] += processor_time() - began
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        definitions = [each for those in item._fixtureinfo.name2fixturedefs.values() for each in those]
        self.used[name(item)] |= {each.func for each in definitions if each.func in self.fixtures}
        return (yield)

    def saving(self, test: str) -> float:
        """What would be saved without a test and all that share its fixtures."""
        return self.own[test] + sum(self.fixtures[fixture] for fixture in self.used[test])

    def total(self, tests: Sequence[str]) -> float:
        """What tests cost together; a fixture counts once."""
        fixtures = set[FunctionType]().union(*(self.used[test] for test in tests))
        return sum(self.own[test] for test in tests) + sum(self.fixtures[fixture] for fixture in fixtures)

    def slowest(self, budget: float) -> list[str]:
        """The costliest tests, without which the others stay within a budget of seconds."""
        ranked, slow = sorted(self.own, key=self.saving), list[str]()
        while self.total(ranked) > budget:
            slow.append(ranked.pop())
        return slow


def main() -> int:
    """Measure, and list the costliest tests until the others fit into the budget."""
    costs = Costs()
    code = pytest.main(["-q", "--hypothesis-profile", "quick"], plugins=[costs])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return code
    slow, measured = costs.slowest(BUDGET), list(costs.own)
    print("\n".join(f"{costs.saving(test):6.1f} s  {test}" for test in slow))
    print(f"{len(slow)} of {len(measured)} tests are slow; all take {costs.total(measured):.0f} s of the processor.")
    LISTED.write_text(HEADER + "".join(f"{test}\n" for test in sorted(slow)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
