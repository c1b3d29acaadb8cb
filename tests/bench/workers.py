"""Processes that hold one implementation each, told over a pipe what to do, so that only one works at a time."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.timing import Cost
from tests.places import ROOT

PEERS_PYTHON = ROOT / ".venv" / "peers" / "bin" / "python"  # `make bench` fills it from requirements-bench.txt
PYTHON = {"bridge": PEERS_PYTHON}  # those that are not of this environment


@dataclass(frozen=True)
class Answer:
    """What a task cost, and what it returned if that was a number, a text or a list."""

    cost: Cost
    value: Any


def installed(peer: str) -> bool:
    """Whether this peer's environment is there."""
    return PYTHON.get(peer, Path(sys.executable)).exists()


class Worker:
    """One implementation in a process of its own; `close` ends it."""

    def __init__(self, peer: str, device: str, threads: int, log: Path) -> None:
        self._log = log
        command = [str(PYTHON.get(peer, sys.executable)), "-m", "tests.bench.worker", peer, device, str(threads)]
        environment = os.environ | {
            "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
            "TOKENIZERS_PARALLELISM": "false",
        }
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )

    @property
    def pid(self) -> int:
        """The process's number, by which Linux tells what memory it has."""
        return self._process.pid

    def do(self, task: str, precision: str | None = None, **arguments: Any) -> Answer:
        """Have it done once.

        Raises:
            RuntimeError: it failed; the message ends with the process's own.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order: Mapping[str, Any] = {"name": task, "precision": precision, "arguments": arguments}
        try:
            print(json.dumps(order), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{task} failed:\n{self._log.read_text()[-3000:]}")
        answer = json.loads(line)
        return Answer(Cost(answer["clock"], answer["processor"]), answer["value"])

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.communicate()
