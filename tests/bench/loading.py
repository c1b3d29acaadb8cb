"""Opening a checkpoint whose file is in the page cache, and what is resident after the first pass.

Each time is a new process's first, after its imports, so that nothing is ready that a user would have to wait for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bench import GPT2_XL, Bench
from tests.bench.figures import Figure, Goal, Turns, milliseconds
from tests.bench.memory import MB, resident
from tests.bench.timing import Cost

READY, CHECK, PEAK = Goal(15), Goal(40), Goal(1.35)  # ms, ms, times the file
PROMPT = 16  # tokens
ROUNDS = 3  # at most: each starts three processes


def measure(bench: Bench) -> Iterator[Figure]:
    """GPT-2-small's shape, time and memory; then gpt2-xl's."""
    folder = bench.folder
    read_once(folder)
    turns: Turns = {name: [] for name in ("without check", "Headlight", "reading the file", "transformers")}
    opened: dict[str, list[Opened]] = {"Headlight": [], "transformers": []}
    for _ in range(min(ROUNDS, bench.setting.rounds)):
        with bench.fresh("headlight") as worker:
            turns["without check"].append(worker.do("load", folder=str(folder), check=False).cost)
        turns["reading the file"].append(bench.peer("floor").do("read").cost)
        for name, peer in (("Headlight", "headlight"), ("transformers", "hugging_face")):
            opened[name].append(open_once(bench, peer, folder))
            turns[name].append(opened[name][-1].cost)
    bench.turns["loading"] = turns
    yield from load_times(turns)
    ours, theirs = opened["Headlight"], opened["transformers"]
    yield Figure("loading", "peak memory after the first pass / file", tuple(each.peak for each in ours), goal=PEAK)
    yield Figure("loading", "of which before loading, by imports alone", tuple(each.imports for each in ours))
    yield Figure("loading", "transformers' peak memory / file", tuple(each.peak for each in theirs))


def load_times(turns: Turns) -> Iterator[Figure]:
    """To ready: all of it, and the check apart."""
    without = milliseconds("loading", "load to ready, without the check of every weight", turns["without check"], READY)
    yield without
    whole = milliseconds("loading", "load to ready", turns["Headlight"])
    yield whole
    check = tuple(a - b for a, b in zip(whole.values, without.values, strict=True))
    yield Figure("loading", "the check of every weight", check, "ms", CHECK)
    yield milliseconds("loading", "reading the file once", turns["reading the file"])
    yield milliseconds("loading", "transformers' load to ready", turns["transformers"])


def measure_xl(bench: Bench) -> Iterator[Figure]:
    """The largest GPT-2's shape: one time each, as the file is larger than 6 GB."""
    folder = bench.checkpoint("xl", GPT2_XL)
    for peer, name, goal in (("headlight", "Headlight", PEAK), ("hugging_face", "transformers", None)):
        opened = open_once(bench, peer, folder)
        yield milliseconds("xl", f"gpt2-xl's shape, {name}: load to ready", [opened.cost])
        what = f"gpt2-xl's shape, {name}: peak memory after the first pass / file"
        yield Figure("xl", what, (opened.peak,), goal=goal)


@dataclass(frozen=True)
class Opened:
    """What loading cost in a new process, and its peak memory over the file's: of imports, and of a first pass."""

    cost: Cost
    imports: float
    peak: float


def open_once(bench: Bench, peer: str, folder: Path) -> Opened:
    """Import, load and run once."""
    file = size(folder) / MB
    with bench.fresh(peer) as worker:
        worker.do("version")  # its imports are done
        imports = resident(worker.pid, "VmHWM")
        took = worker.do("load", folder=str(folder)).cost
        worker.do("forward", n_tokens=PROMPT)
        return Opened(took, imports / file, resident(worker.pid, "VmHWM") / file)


def size(folder: Path) -> int:
    """Bytes of the weights' files."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def read_once(folder: Path) -> None:
    """Bring the files into the page cache."""
    for file in folder.glob("*.safetensors"):
        with file.open("rb", buffering=0) as opened_file:
            while opened_file.read(2**24):
                pass
