"""Copies of files in memory that processes of one parent share: mapped once, and as they were when they were made."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from mmap import ACCESS_READ, mmap
from pathlib import Path
from threading import Timer

import pytest

from headlight.model.base import file_copies, shared_copies
from headlight.model.base.file_copies import drop_unmapped_copies, mappable
from tests.places import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files in memory without a name")
SIZE = 2**23
# Maps a file, and tells on each line its first byte, and how many bytes of memory are its own or its share.
MAPS = """
import mmap, re, sys
from pathlib import Path
from headlight.model.base.file_copies import copy_files, mappable
copy_files(shared=True)
with mappable(Path(sys.argv[1])) as at, at.open("rb") as file:
    content = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
for line in sys.stdin:
    whole = bytes(content)
    own = re.search(r"/memfd:.*?\\nPss: +(\\d+) kB", Path("/proc/self/smaps").read_text(), re.DOTALL)
    print(whole[0], 1024 * int(own[1]), flush=True)
"""


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in one of several workers."""
    monkeypatch.setattr(file_copies, "_copies", True)
    monkeypatch.setattr(file_copies, "_shares", True)
    yield
    drop_unmapped_copies()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of sevens."""
    path = tmp_path / "weights.safetensors"
    path.write_bytes(b"\x07" * SIZE)
    return path


def _start(stack: ExitStack, file: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", MAPS, str(file)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.enter_context(process)
    stack.callback(process.terminate)
    return process


def _tell(process: "subprocess.Popen[str]") -> tuple[int, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    value, share = map(int, process.stdout.readline().split())
    return value, share


def test_two_processes_have_a_file_in_memory_once_and_neither_sees_it_change(file: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, file)
        assert _tell(first) == (7, SIZE)
        second = _start(stack, file)
        assert _tell(second) == (7, SIZE // 2)
        assert _tell(first) == (7, SIZE // 2)
        file.write_bytes(b"\x08" * SIZE)  # into the same file
        third = _start(stack, file)
        assert _tell(third) == (8, SIZE)
        assert _tell(second) == (7, SIZE // 2)
        first.kill()
        first.wait()
        assert _tell(second) == (7, SIZE)


@pytest.mark.usefixtures("sharing")
def test_a_copy_is_kept_as_long_as_it_is_mapped(file: Path) -> None:
    def inode() -> int:
        with mappable(file) as at:
            return at.stat().st_ino

    with mappable(file) as at, at.open("rb") as opened:
        content, first = mmap(opened.fileno(), 0, access=ACCESS_READ), at.stat().st_ino
    drop_unmapped_copies()
    assert inode() == first
    assert len(shared_copies._kept) == 1
    os.utime(file)  # as if it had been written to
    assert inode() != first
    content.close()
    drop_unmapped_copies()
    assert not shared_copies._kept


@pytest.mark.usefixtures("sharing")
def test_who_finds_a_copy_that_is_being_made_waits_for_it(file: Path) -> None:
    name = shared_copies.name_of(file)
    made = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(made, b"\x09" * SIZE)
    finish = Timer(0.3, shared_copies.seal, [made])
    finish.start()
    with mappable(file) as at, at.open("rb") as opened:
        assert opened.read(1) == b"\x09"
        assert not finish.is_alive() or finish.finished.wait(10)
    os.close(made)
    drop_unmapped_copies()
    unfinished = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    Timer(0.3, os.close, [unfinished]).start()  # its maker fails
    with mappable(file) as at, at.open("rb") as opened:
        assert opened.read(1) == b"\x07"


@pytest.mark.usefixtures("sharing")
def test_where_nothing_can_be_seen_of_other_processes_each_has_its_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_copies, "PROCESSES", file.parent / "nowhere")
    with mappable(file) as at:
        assert at.read_bytes() == file.read_bytes()
