"""A server under faults for hours: `make soak HOURS=2`. Sessions do what people do, and compare each answer.

It prints, and writes as json, how many runs there were, how many answers were wrong beside the same run made alone or
lost over a restart, uncaught errors in the log, and memory, open files and threads over time. It exits with 1 if
anything was wrong, lost or uncaught.
"""

import json
import random
import re
import statistics
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import urlencode

from requests import HTTPError
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from headlight.app.registry import VIEWS
from headlight.model.runs.edits import to_text
from tests.sessions.client import Client
from tests.sessions.commands import interrupted
from tests.sessions.expected import EDITS, answer, distinct, said
from tests.sessions.passing_faults import Faults
from tests.sessions.restarting import Server
from tests.sessions.visits import UNEXPECTED, VISITS
from tests.small_model import save_small

GONE = ConnectionClosed, InvalidHandshake, OSError, TimeoutError  # what a server that is being restarted says
PAGES = [view.slug for view in VIEWS if view.slug not in ("corpus", "translate", "experiments", "directions")]
RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ |+].*\n|\n)*(.*)")  # the line that names the error
SAMPLE_SECONDS, FAULT_SECONDS = 5.0, 12.0


class Soak:
    """One soak: what is counted, and how long it lasts."""

    def __init__(self, server: Server, models: Path, seconds: float) -> None:
        self.server, self.models = server, models
        self.began = time.monotonic()
        self.half, self.ends = self.began + seconds / 2, self.began + seconds
        self.counts, self.wrong, self.samples = Counter[str](), list[str](), list[dict[str, Any]]()
        self._lock, self.is_over = Lock(), Event()
        self.prompts = distinct(24, seed=7)

    def count(self, what: str) -> None:
        """Add one."""
        with self._lock:
            self.counts[what] += 1

    def compare(self, texts: list[str], prompt: str, bos: bool, is_edited: bool, what: str) -> None:
        """Note an answer that differs from the run made alone."""
        expected = [answer(prompt, bos), *([answer(prompt, bos, EDITS)] if is_edited else [])]
        self.count(what)
        try:
            same = all(said(texts, run).same(each) for run, each in enumerate(expected))
        except (ValueError, AssertionError, IndexError) as error:
            same = False
            texts = [repr(error), *texts]
        if not same:
            with self._lock:
                self.wrong.append(f"{what}: {prompt!r}, {bos}, {is_edited}: {texts}")


def session(soak: Soak, number: int) -> None:
    """One person, until the end."""
    rng, is_edited = random.Random(number), number % 2 == 1
    query = urlencode({"model": "mini", "edits": " ".join(map(to_text, EDITS if is_edited else ()))})
    client, last = Client(soak.server.url, query), None
    while time.monotonic() < soak.ends:
        try:
            client.open()
            if last is not None:  # a browser that connects again has its choices
                soak.compare(client.texts, *last, is_edited, "kept")
            while time.monotonic() < soak.ends:
                act = rng.random()
                if act < 0.5:
                    prompt, bos = rng.choice(soak.prompts)
                    client.submit(prompt, bos)
                    last = prompt, bos
                    soak.compare(client.texts, *last, is_edited, "run")
                elif act < 0.75:
                    client.go_to(rng.choice(PAGES))
                    soak.count("page")
                elif act < 0.78:
                    client.clear_caches()
                elif act < 0.95:
                    visit(soak, rng)
                else:
                    break  # a closed tab, or a socket that was dropped
                time.sleep(rng.uniform(0, 1))
            client.close()
        except GONE as error:
            soak.count(f"status {error.response.status_code}" if isinstance(error, HTTPError) else "connection lost")
            soak.server.wait_until_ready()
    client.close()


def visit(soak: Soak, rng: random.Random) -> None:
    """Do something else on the server, in a session of its own."""
    what, texts = rng.choice(VISITS)(soak.server.url, [path.name for path in soak.models.iterdir()], rng)
    soak.count(what)
    if UNEXPECTED in texts:
        soak.count(f"unexpected error: {what}")


def let_pass(soak: Soak, faults: Faults) -> None:
    """One fault after the other, until the end; none ends the process in the second half, whose memory is compared."""
    while not soak.is_over.wait(FAULT_SECONDS):
        faults.one(may_end=time.monotonic() < soak.half)


def sample(soak: Soak) -> None:
    """Note memory, open files and threads every few seconds."""
    while not soak.is_over.wait(SAMPLE_SECONDS):
        if figures := soak.server.figures():
            soak.samples.append({"seconds": round(time.monotonic() - soak.began), **figures})


def report(soak: Soak, faults: Faults) -> dict[str, object]:
    """What came of it."""
    log = soak.server.log_text()
    unexpected = sum(times for what, times in soak.counts.items() if what.startswith("unexpected"))
    return {
        "seconds": round(soak.ends - soak.began),
        "counts": dict(sorted(soak.counts.items())),
        "wrong": len(soak.wrong),
        "uncaught": log.count("Traceback (most recent call last)") + unexpected,
        "errors in the log": dict(Counter(RAISED.findall(log)).most_common(10)),
        "seconds to drain": [round(seconds, 1) for seconds in faults.drained],
        "growth": growth(soak),
        "samples": [soak.samples[index * (len(soak.samples) - 1) // 11] for index in range(12)] if soak.samples else [],
        "examples": soak.wrong[:10],
    }


def growth(soak: Soak) -> dict[str, tuple[float, float]]:
    """Memory, open files and threads of the processes that serve: when they had served a while, and at the end."""
    last = [each for each in soak.samples if each["processes"] == soak.samples[-1]["processes"]]
    part = len(last) // 5
    if not part:
        return {}
    early, late = last[part : 2 * part], last[-part:]
    return {
        name: (statistics.median(each[name] for each in early), statistics.median(each[name] for each in late))
        for name in ("seconds", "MB", "files", "threads")
    }


def flags() -> Namespace:
    """The command's flags."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1, help="processes that serve")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="a json file to write what came of it; the log goes beside it")
    return parser.parse_args()


def main() -> int:
    """Soak and print."""
    options = flags()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        models = folder / "models"
        models.mkdir()
        save_small(folder / "small")
        server = Server(folder, "--threads=1", f"--models-folder={models}", n_workers=options.workers)
        server.start()
        soak = Soak(server, models, options.hours * 3600)
        faults = Faults(server, models, options.seed, soak.is_over, soak.count)
        commands = folder / "commands", options.seed, soak.is_over, soak.count, soak.wrong
        try:
            others = [
                Thread(target=let_pass, args=(soak, faults)),
                Thread(target=sample, args=(soak,)),
                Thread(target=interrupted, args=commands),
            ]
            for each in others:
                each.start()
            with ThreadPoolExecutor(options.sessions) as pool:
                ended = [pool.submit(session, soak, number) for number in range(options.sessions)]
                failures = [repr(error) for each in ended if (error := each.exception()) is not None]
            soak.is_over.set()
            for each in others:
                each.join()
        finally:
            soak.is_over.set()
            server.terminate()
    result = report(soak, faults) | {"failures of the soak's own sessions": failures}
    text = json.dumps(result, indent=2)
    print(text)
    if options.report:
        options.report.write_text(text)
        options.report.with_suffix(".log").write_text(server.log_text())
    return int(bool(soak.wrong or result["uncaught"] or failures))


if __name__ == "__main__":
    sys.exit(main())
