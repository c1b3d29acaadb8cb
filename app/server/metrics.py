"""Figures about the running server, for Prometheus."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import REGISTRY, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

SECONDS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # upper edges of the histograms' buckets
WAITS = Histogram("headlight_wait_seconds", "Seconds in line until a computation began.", buckets=SECONDS)
RUNS = Histogram("headlight_run_seconds", "Seconds that a computation took.", buckets=SECONDS)
RESULTS = Counter("headlight_results", "Results by where they came from: the cache, or computed anew.", ["origin"])
REFUSALS = Counter("headlight_refusals", "Requests that were turned away, by the reason.", ["reason"])
for counter, values in ((RESULTS, ("cache", "computed")), (REFUSALS, ("runs", "sessions", "uploads"))):
    for value in values:  # there from the start: a rate is that of a series, and its first sample has none
        counter.labels(value)


def note_run(waited: float, took: float) -> None:
    """Count a computation that has ended."""
    WAITS.observe(waited)
    RUNS.observe(took)


class State(Collector):
    """What the server holds at the moment: numbers by name, each with its meaning and a function that reads it."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        """Read every number."""
        for name, (meaning, read) in self._gauges.items():
            yield GaugeMetricFamily(f"headlight_{name}", meaning, value=read())


def watch(state: State) -> None:
    """Have a server's state among the figures."""
    REGISTRY.register(state)


def exposition() -> bytes:
    """All figures in Prometheus's text format, those of the process (memory, open files) included."""
    return generate_latest(REGISTRY)


class _Together(Collector):
    """Figures that are there already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._families


def together(expositions: Sequence[bytes]) -> bytes:
    """The figures of several workers in one text, each with its worker's number as a label."""
    families = dict[str, Metric]()
    for number, text in enumerate(expositions):
        for family in text_string_to_metric_families(text.decode()):
            whole = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for name, labels, value, *_ in family.samples:
                whole.add_sample(name, {**labels, "worker": str(number)}, value)
    return generate_latest(_Together(families.values()))
