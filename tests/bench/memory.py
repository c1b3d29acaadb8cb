"""How much more memory the server takes for a prompt on GPT-2-small's shape, with all that the page keeps of a run.

A session first goes through the pages with a short prompt, which brings the weights into memory, then with longer ones:
the grid, the large heads, the lens and the norms. What counts is the most that was resident at any time over what was
resident before.
"""

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.request import urlopen

from headlight.app.server.memory import COLLECT_EVERY
from headlight.model import embedded_models
from tests.bench.bench import Bench
from tests.bench.figures import Figure, Goal
from tests.serving import headlight
from tests.sessions.client import Client

PAGES = ("residual", "lens", "attention")
GOAL, GROWTH, FREED = Goal(250), Goal(1.1), Goal(512)
MB = 1e6
LEAST = 1.0  # MB, by which a process differs from itself


def resident(process: int, line: str) -> float:
    """What Linux says of a process in one line of its status (VmRSS now, VmHWM the most so far), in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = next(text.split()[1] for text in status.splitlines() if text.startswith(line))
    return int(kilobytes) * 1024 / MB


def extra_memory(process: int, work: Callable[[], object]) -> tuple[float, float]:
    """MB that a process takes more at any time of some work, and keeps after it."""
    before = resident(process, "VmRSS")
    Path(f"/proc/{process}/clear_refs").write_text("5")  # VmHWM begins anew
    work()
    return resident(process, "VmHWM") - before, resident(process, "VmRSS") - before


def kept_bytes(url: str) -> float:
    """Bytes of the results that a server keeps, as its figures tell."""
    lines = urlopen(f"{url}/metrics").read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("headlight_cache_bytes "))


def children(process: int) -> set[int]:
    """The processes that a process has started."""
    return {int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()}


def visit(client: Client, n_tokens: int) -> None:
    """Run a prompt and see every page."""
    client.submit(" red" * (n_tokens - 1))  # the beginning-of-sequence token is one more
    for page in PAGES:
        client.go_to(page if page != "attention" else "")


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x with which y grows: the slope of a straight line through their logarithms."""
    log_x, log_y = [math.log(each) for each in x], [math.log(each) for each in y]
    mean_x, mean_y = sum(log_x) / len(x), sum(log_y) / len(y)
    over = sum((a - mean_x) * (b - mean_y) for a, b in zip(log_x, log_y, strict=True))
    return over / sum((a - mean_x) ** 2 for a in log_x)


def with_tokenizer(folder: Path) -> Path:
    """The checkpoint with the embedded model's tokenizer beside it, so that a prompt can be typed."""
    for file in embedded_models()["mini"].glob("tokenizer*.json"):
        shutil.copy(file, folder)
    return folder


def measure(bench: Bench) -> Iterator[Figure]:
    """What prompts of several lengths take, each the first of its kind, and how that grows."""
    longest = max(bench.setting.lengths)
    lengths = [longest // 8, longest // 4, longest // 2, longest]
    before, peaks = children(os.getpid()), []
    flags = ("--model", str(with_tokenizer(bench.folder)), "--threads", str(bench.setting.threads))
    with headlight(bench.made, *flags) as url, Client(url) as client:
        (guard,) = children(os.getpid()) - before
        (server,) = children(guard)
        visit(client, 16)
        before_all = resident(server, "VmRSS") - kept_bytes(url) / MB
        for n_tokens in lengths:
            peaks.append(extra_memory(server, lambda n_tokens=n_tokens: visit(client, n_tokens))[0])  # type: ignore[misc]
        time.sleep(2 * COLLECT_EVERY)
        freed = resident(server, "VmRSS") - before_all - kept_bytes(url) / MB
    yield Figure("memory", "freed memory that is not returned after all of these", (freed,), "MB", FREED)
    for n_tokens, extra in zip(lengths, peaks, strict=True):
        goal = GOAL if n_tokens == longest else None
        yield Figure("memory", f"run of {n_tokens} tokens as the page keeps it", (extra,), "MB", goal)
    power = exponent(lengths, [max(LEAST, extra) for extra in peaks])
    yield Figure("memory", "its power of the number of tokens", (power,), "", GROWTH)
