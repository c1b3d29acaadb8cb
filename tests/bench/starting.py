"""Waiting before anything is seen: the library's import, and the page from `make run` to its first picture."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.figures import Figure, Goal, ratio
from tests.bench.timing import Cost
from tests.places import ROOT
from tests.serving import chromium, chromium_path, headlight

IMPORT, PICTURE = Goal(1.1), Goal(4)  # times torch's, seconds
WATCH = Path(__file__).parent / "watch.js"  # marks what is drawn
ROUNDS = 3  # at most, of starting the page


def measure(bench: Bench) -> Iterator[Figure]:
    """Import, and first picture where there is a browser."""
    library, torch = [], []
    ours = "from headlight.model import load, run_prompt"  # what is named is imported when it is asked for
    imported(ours), imported("import torch")  # files into the page cache
    for _ in range(bench.setting.rounds):
        library.append(imported(ours))
        torch.append(imported("import torch"))
    bench.turns["import"] = {"model": library, "torch": torch}
    yield ratio("start", "import model / import torch", library, torch, IMPORT)
    if chromium_path() is not None:
        waits = tuple(first_pictures(bench, min(ROUNDS, bench.setting.rounds)))
        yield Figure("start", "make run to the first picture of mini", waits, "s", PICTURE)


def imported(statement: str) -> Cost:
    """What an import costs in a new process."""
    code = f"import time; t = time.perf_counter(), time.process_time(); {statement}"
    code += "; print(time.perf_counter() - t[0], time.process_time() - t[1])"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return Cost(*map(float, said.stdout.split()))


def first_pictures(bench: Bench, rounds: int) -> Iterator[float]:
    """Seconds until the grid is drawn, in a browser that is open already. The first time does not count."""
    from tests.e2e.driver import Driver  # here: it brings the whole page along

    with chromium() as browser:
        for turn in range(rounds + 1):
            began = time.perf_counter()
            with headlight(bench.made) as url:
                window = Driver(browser, url)
                window.page.add_init_script(path=WATCH)
                window.page.goto(url)
                window.page.wait_for_function("performance.getEntriesByName('grid').length > 0")
                if turn:
                    yield time.perf_counter() - began
                window.close()
