"""The server's process, ended from outside: it starts again, and ends with the process that guards it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.places import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")

# Writes its number down; its first process then reads a mapped file that was cut short, its second lasts.
SERVER = """
import mmap, os, sys, time
from headlight.app.server import guard
guard.MIN_SECONDS = {min_seconds}
again = guard.guard()
with open("ids", "a") as ids:
    print(os.getpid(), file=ids)
if again:
    time.sleep(60)
with open("mapped", "wb+") as file:
    file.truncate(2**20)
    weights = mmap.mmap(file.fileno(), 2**20)
    file.truncate(0)
    weights[2**19]
"""


def _start(folder: Path, min_seconds: float = 0) -> "subprocess.Popen[bytes]":
    code = SERVER.format(min_seconds=min_seconds)
    environment = os.environ | {"PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT.parent))}
    with (folder / "log").open("w") as log:
        return subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment, stderr=log)


def _ids(folder: Path, count: int) -> list[int]:
    """The ids of the processes that served, once there are so many."""
    give_up = time.monotonic() + 30
    while time.monotonic() < give_up:
        ids = (folder / "ids").read_text().split() if (folder / "ids").exists() else []
        if len(ids) >= count:
            return [int(number) for number in ids]
        time.sleep(0.05)
    raise TimeoutError(f"there were never {count} processes")


def _is_gone(process: int) -> bool:
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_what_a_file_that_was_cut_short_has_ended_starts_again(tmp_path: Path) -> None:
    guard = _start(tmp_path)
    first, second = _ids(tmp_path, 2)
    assert _is_gone(first)
    guard.terminate()
    assert guard.wait(10) == 128 + signal.SIGTERM
    assert _is_gone(second)
    assert "ended the server (SIGBUS)" in (tmp_path / "log").read_text()


def test_what_ends_at_once_is_not_started_again_and_again(tmp_path: Path) -> None:
    guard = _start(tmp_path, min_seconds=60)
    assert guard.wait(30) == 128 + signal.SIGBUS
    assert len(_ids(tmp_path, 1)) == 1


def test_the_server_ends_with_its_guard(tmp_path: Path) -> None:
    guard = _start(tmp_path)
    _, second = _ids(tmp_path, 2)
    guard.kill()
    guard.wait(10)
    assert _is_gone(second)
