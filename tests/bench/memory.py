"""How much more memory the server takes for 1024 tokens on GPT-2-small's shape: `python -m tests.bench.memory`.

A session first goes through the pages with a short prompt, which brings the weights into memory, then with a long one:
the grid, the large heads, the lens and the norms. What counts is the most that was resident at any time of the second
round over what was resident before it.
"""

import os
import sys
import tempfile
from itertools import islice
from pathlib import Path

from tests.bench.sessions import prompts, random_model
from tests.serving import headlight
from tests.sessions.client import Client

PAGES = ("residual", "lens", "attention")
GOAL = 400  # MB
MB = 1e6


def resident(process: int, line: str) -> float:
    """What Linux says of a process in one line of its status (VmRSS now, VmHWM the most so far), in MB."""
    status = Path(f"/proc/{process}/status").read_text()
    kilobytes = next(text.split()[1] for text in status.splitlines() if text.startswith(line))
    return int(kilobytes) * 1024 / MB


def server_process() -> int:
    """The one process that this one has started."""
    (started,) = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return int(started)


def visit(client: Client, prompt: str) -> None:
    """Run a prompt and see every page."""
    client.submit(prompt)
    for page in PAGES:
        client.go_to(page if page != "attention" else "")


def main(flags: list[str]) -> None:
    """Measure and print; the flags are the server's."""
    short, long = islice(prompts(seed=0), 1), " red" * 1023
    with tempfile.TemporaryDirectory() as made:
        folder = random_model(Path(made) / "gpt2-shaped")
        with headlight(Path(made), "--model", str(folder), *flags) as url, Client(url) as client:
            visit(client, *short)
            server = server_process()
            before = resident(server, "VmRSS")
            Path(f"/proc/{server}/clear_refs").write_text("5")  # VmHWM begins anew
            client.submit(long)
            run = resident(server, "VmHWM") - before
            visit(client, long)
            peak, kept = resident(server, "VmHWM") - before, resident(server, "VmRSS") - before
    print(
        f"1024 tokens, at most: {run:.0f} MB more for grid and heads, {peak:.0f} MB more for all pages (goal: {GOAL})"
    )
    print(f"kept afterwards: {kept:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
