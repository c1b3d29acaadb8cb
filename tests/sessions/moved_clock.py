"""`headlight` with a clock that can be moved while it serves: `python -m tests.sessions.moved_clock FILE FLAGS`.

The file has the seconds by which the clock differs from the machine's. What counts seconds that pass stays, as it does
where a clock is corrected.
"""

import runpy
import sys
import time
from pathlib import Path


def move(file: Path) -> None:
    """From now on let Python's clock differ by what the file says."""
    clock, nanoseconds, read_at, seconds = time.time, time.time_ns, 0.0, 0

    def difference() -> int:
        nonlocal read_at, seconds
        if time.monotonic() - read_at > 1:
            read_at, seconds = time.monotonic(), int(file.read_text() or 0)
        return seconds

    time.time = lambda: clock() + difference()
    time.time_ns = lambda: nanoseconds() + difference() * 10**9


if __name__ == "__main__":
    move(Path(sys.argv.pop(1)))
    runpy.run_module("headlight.app", run_name="__main__", alter_sys=True)
