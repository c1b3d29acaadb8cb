"""A server that is killed, stopped and started again in its place."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import urlopen

from tests.places import ROOT
from tests.serving import PATIENCE, START_SECONDS, free_port

MOST_STARTS = 4  # times the seconds of a start alone: sessions and commands go on meanwhile


class Server:
    """`headlight` in a process, with a log that no full disk cuts short."""

    def __init__(self, folder: Path, *flags: str, n_workers: int = 1) -> None:
        self._port, self._flags, self._folder = free_port(), (*flags, f"--workers={n_workers}"), folder
        self.n_workers = n_workers
        self.url = f"http://127.0.0.1:{self._port}"
        self.small = folder / "small"
        self.whole = (self.small / "model.safetensors").read_bytes()
        self.hub, self._clock_file = folder / "hub", folder / "clock"
        self._lines = list[str]()
        self.move_clock(0)

    def move_clock(self, seconds: int) -> None:
        """Have its clock differ from this machine's, as after a correction; what counts seconds that pass stays."""
        self._clock_file.write_text(str(seconds))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true", "HF_HUB_OFFLINE": "1"}
        environment["HF_HOME"] = str(self.hub)
        run = "tests.sessions.moved_clock", str(self._clock_file), f"--port={self._port}", *self._flags
        self._process = subprocess.Popen(
            [sys.executable, "-m", *run],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        Thread(target=self._read, args=(self._process,), daemon=True).start()
        self.wait_until_ready()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self._lines.extend(iter(process.stdout.readline, ""))

    def log_text(self) -> str:
        """All that it wrote so far, without its colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", "".join(self._lines))

    def wait_until_ready(self) -> None:
        """Wait until it answers.

        Raises:
            TimeoutError: it does not.
        """
        ends = time.monotonic() + MOST_STARTS * START_SECONDS
        while time.monotonic() < ends:
            with suppress(OSError), urlopen(f"{self.url}/healthz", timeout=5):
                return
            time.sleep(0.2)
        raise TimeoutError(self.log_text()[-3000:])

    @property
    def _serving(self) -> list[int]:
        """The process behind the guard, and its workers if it has several."""
        first = _children(self._process.pid)[0]
        return [first, *(_children(first) if self.n_workers > 1 else [])]

    def kill(self, which: int = 0) -> None:
        """End the process that serves, or one of its workers, as the system does where memory runs out."""
        os.kill(self._serving[which], signal.SIGKILL)
        time.sleep(0.5)

    def terminate(self) -> float:
        """Stop it as an operator does, and return the seconds that it took."""
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(PATIENCE / 1000)
        return time.monotonic() - began

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Inside the `with` block it writes no file."""
        processes, bytes_of_file = self._serving, resource.RLIMIT_FSIZE
        hard = resource.prlimit(processes[0], bytes_of_file)[1]
        for process in processes:
            resource.prlimit(process, bytes_of_file, (0, hard))
        yield
        for process in processes:
            with suppress(ProcessLookupError):
                resource.prlimit(process, bytes_of_file, (hard, hard))

    def figures(self) -> dict[str, Any] | None:
        """Its processes, and their memory in MB, open files and threads together; None while it is down."""
        with suppress(OSError, LookupError, ValueError):  # it is ending
            processes = self._serving
            return {"processes": processes, **sum(map(_figures, processes), Counter[str]())}
        return None


def _children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def _figures(process: int) -> Counter[str]:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    files, memory = len(os.listdir(f"/proc/{process}/fd")), int(status["VmRSS"].split()[0]) // 1024
    return Counter({"MB": memory, "files": files, "threads": int(status["Threads"])})
