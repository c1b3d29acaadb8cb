"""Child processes for code that may never end: chat templates and patterns are programs of others.

One is begun with the first request, which takes up to two seconds, and stays: another costs about a millisecond. A
request that takes too much time or memory ends it, and the next begins a new one.
"""

import atexit
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import Any

PROGRAM = Path(__file__).with_name("child_program.py")
SECONDS = 60.0  # for an answer, the process's beginning included; its own limit, of processor time, is far lower


class ChildProcess:
    """A process that answers requests of one of the program's kinds, one at a time."""

    def __init__(self, kind: str) -> None:
        self._kind, self._lock = kind, Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def answer(self, line: bytes) -> dict[str, str] | None:
        """Send a request, and return the program's answer, a line of JSON; None beyond its time or memory limit."""
        with self._lock:
            process = self._running()
            assert process.stdin
            assert process.stdout
            timer = Timer(SECONDS, process.kill)
            timer.start()
            try:
                process.stdin.write(line)
                process.stdin.flush()
                answer = process.stdout.readline()
            except OSError:  # it has ended
                answer = b""
            finally:
                timer.cancel()
            if not answer:
                self.end()
        return dict(json.loads(answer)) if answer else None

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is not None and self._process.poll() is not None:
            self.end()
        if self._process is None:
            # -P: what lies in the folder that the server was started from, or beside the program, is not imported.
            command = [sys.executable, "-P", str(PROGRAM), self._kind]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._process

    def end(self) -> None:
        """End the process; the next request begins another."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # which closes its pipes, and waits for it
                pass


def as_line(request: Any) -> bytes:
    """A request as the program reads it.

    Raises:
        TypeError: it holds what is no JSON.
        ValueError: as a TypeError.
    """
    return json.dumps(request).encode() + b"\n"
