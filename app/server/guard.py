"""A small process beside the server's, which starts it again where the system has ended it.

The system ends a process that reads a mapped file which somebody has cut short (SIGBUS), or one that takes memory where
none is left (SIGKILL); nothing in that process can prevent it. Pages that are open then go on where they were.
"""

import os
import signal
import sys
import time
from threading import Thread
from types import FrameType

MIN_SECONDS = 10  # what ends sooner would end again, as where memory does not suffice to start
WORKER = "_HEADLIGHT_WORKER"  # the variable that tells a process of front.py its place
FORWARDED = (signal.SIGINT, signal.SIGTERM)  # by which a server is stopped


def guard() -> bool:
    """Continue in a child process; the parent stays, and restarts it whenever the system kills it.

    Where a system has no fork, as Windows, the process that called goes on.

    Returns:
        Whether this process follows one that the system has ended.
    """
    again = False
    while hasattr(os, "fork"):
        guarded, guards = os.pipe()
        server = os.fork()
        if not server:
            os.close(guards)
            _follow(guarded)
            return again
        os.close(guarded)
        began, status = time.monotonic(), _wait_for(server)
        os.close(guards)
        if status >= 0 or -status in FORWARDED or time.monotonic() - began < MIN_SECONDS:
            sys.exit(status if status >= 0 else 128 - status)  # as a shell tells a signal
        name = signal.Signals(-status).name
        print(f"The system ended the server ({name}). It starts again: open pages go on.", file=sys.stderr, flush=True)
        again = True
    return again


def _follow(guarded: int) -> None:
    """Have this process end when its guard has ended, and hear from the terminal by it alone."""
    os.setpgid(0, 0)
    for number in FORWARDED:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def end() -> None:
        os.read(guarded, 1)  # returns when nobody holds the other end
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=end, daemon=True).start()


def _wait_for(server: int) -> int:
    """Forward signals that would end this process until the server has ended; minus the signal if one ended it."""

    def forward(number: int, _: FrameType | None) -> None:
        os.kill(server, number)

    for number in FORWARDED:
        signal.signal(number, forward)
    return os.waitstatus_to_exitcode(os.waitpid(server, 0)[1])
