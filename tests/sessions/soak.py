"""A server under faults for hours: `make soak HOURS=2`. Sessions do what people do, and compare each answer.

It prints, and writes as json, how many runs there were, how many answers were wrong beside the same run made alone or
lost over a restart, uncaught errors in the log, and memory, open files and threads over time. It exits with 1 if
anything was wrong, lost or uncaught.
"""

import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock, Thread
from urllib.parse import urlencode

from websockets.exceptions import ConnectionClosed, InvalidStatus

from headlight.app.registry import VIEWS
from headlight.app.server.guard import MIN_SECONDS
from headlight.model.runs.edits import to_text
from tests.hostile import damaged
from tests.sessions.client import Client
from tests.sessions.expected import EDITS, answer, distinct, said
from tests.sessions.restarting import Server
from tests.small_model import save_small

GONE = ConnectionClosed, InvalidStatus, OSError, TimeoutError  # what a server that is being restarted says
PAGES = [view.slug for view in VIEWS if view.slug not in ("corpus", "translate", "experiments", "directions")]
RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ |+].*\n|\n)*(.*)")  # the line that names the error
SAMPLE_SECONDS, FAULT_SECONDS = 5.0, 12.0


class Soak:
    """One soak: what is counted, and how long it lasts."""

    def __init__(self, server: Server, models: Path, ends: float) -> None:
        self.server, self.models, self.ends = server, models, ends
        self.counts, self.wrong, self.samples = Counter[str](), list[str](), list[dict[str, float]]()
        self.drained = list[float]()
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
                if act < 0.6:
                    prompt, bos = rng.choice(soak.prompts)
                    client.submit(prompt, bos)
                    last = prompt, bos
                    soak.compare(client.texts, *last, is_edited, "run")
                elif act < 0.85:
                    client.go_to(rng.choice(PAGES))
                    soak.count("page")
                elif act < 0.9:
                    client.clear_caches()
                elif act < 0.95:
                    visit(soak, rng)
                else:
                    break  # a closed tab, or a socket that was dropped
                time.sleep(rng.uniform(0, 1))
            client.close()
        except GONE:
            soak.count("connection lost")
            soak.server.wait_until_ready()
    client.close()


def visit(soak: Soak, rng: random.Random) -> None:
    """Open one of the models that are damaged or replaced meanwhile, and close it."""
    name = rng.choice([path.name for path in soak.models.iterdir()] or ["none"])
    with Client(soak.server.url, urlencode({"model": name, "prompt": "one two"})) as client:
        soak.count("model opened" if any("input tokens" in text for text in client.texts) else "model refused")
        if any("Unexpected error" in text for text in client.texts):
            soak.count("unexpected error on a page")


def faults(soak: Soak, seed: int) -> None:
    """One fault after the other, until the end."""
    rng = random.Random(seed)
    do: list[Callable[[Soak, random.Random], None]] = [replace_model, truncate_model, damage_models, fill_disk]
    rare = [kill, terminate]
    while not soak.is_over.wait(FAULT_SECONDS):
        fault = rng.choice(rare if rng.random() < 0.15 else do)
        soak.count(f"fault: {fault.__name__}")
        fault(soak, rng)


def replace_model(soak: Soak, rng: random.Random) -> None:
    """Move another folder into the place of one that may be open."""
    fresh, place = soak.models.parent / "fresh", soak.models / "replaced"
    shutil.rmtree(fresh, ignore_errors=True)
    save_small(fresh)
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)


def truncate_model(soak: Soak, rng: random.Random) -> None:
    """Cut a file short that may be open."""
    for file in (soak.models / "replaced").glob("*.safetensors"):
        os.truncate(file, file.stat().st_size // 2)


def damage_models(soak: Soak, rng: random.Random) -> None:
    """Put ten hostile folders into the place of the ten before."""
    for number, content in enumerate(damaged(soak.server.whole, 10, rng.randrange(10**6))):
        place = soak.models / f"hostile-{number}"
        place.mkdir(exist_ok=True)
        for file in soak.server.small.iterdir():
            shutil.copy(file, place)
        (place / "model.safetensors").write_bytes(content)


def fill_disk(soak: Soak, rng: random.Random) -> None:
    """Let the server write nothing for some seconds."""
    with soak.server.full_disk():
        soak.is_over.wait(5)


def kill(soak: Soak, rng: random.Random) -> None:
    """End the serving process as the system does; its guard starts it again."""
    soak.is_over.wait(MIN_SECONDS)  # what ends sooner is not started again
    soak.server.kill()
    soak.server.wait_until_ready()


def terminate(soak: Soak, rng: random.Random) -> None:
    """Stop the server as its operator does, and start it again."""
    soak.drained.append(soak.server.terminate())
    soak.server.start()


def sample(soak: Soak) -> None:
    """Note memory, open files and threads every few seconds."""
    began = time.monotonic()
    while not soak.is_over.wait(SAMPLE_SECONDS):
        if figures := soak.server.figures():
            soak.samples.append({"seconds": round(time.monotonic() - began), **figures})


def report(soak: Soak, hours: float) -> dict[str, object]:
    """What came of it. Memory is compared with that of the same process when it had served a while."""
    raised = Counter(RAISED.findall(soak.server.log_text()))
    return {
        "hours": hours,
        "counts": dict(sorted(soak.counts.items())),
        "wrong": len(soak.wrong),
        "uncaught": raised.total(),
        "errors in the log": dict(raised.most_common(10)),
        "seconds to drain": [round(seconds, 1) for seconds in soak.drained],
        "samples": [soak.samples[index * (len(soak.samples) - 1) // 11] for index in range(12)] if soak.samples else [],
        "examples": soak.wrong[:10],
    }


def flags() -> Namespace:
    """The command's flags."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--sessions", type=int, default=16)
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
        server = Server(folder, "--threads=1", f"--models-folder={models}")
        server.start()
        soak = Soak(server, models, time.monotonic() + options.hours * 3600)
        try:
            others = [Thread(target=faults, args=(soak, options.seed)), Thread(target=sample, args=(soak,))]
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
    result = report(soak, options.hours) | {"failures of the soak's own sessions": failures}
    text = json.dumps(result, indent=2)
    print(text)
    if options.report:
        options.report.write_text(text)
        options.report.with_suffix(".log").write_text(server.log_text())
    return int(bool(soak.wrong or result["uncaught"] or failures))


if __name__ == "__main__":
    sys.exit(main())
