"""Files that are cut short or written over while they are open, as others' files may be."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from headlight.model import load
from headlight.model.base import file_copies
from headlight.model.base.errors import CheckpointError
from headlight.model.base.torch_files import read_torch
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.features.npz import read_npz
from tests.places import ROOT
from tests.small_model import save_small

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files in memory without a name")

# A pass in whose middle the file is cut short, and the same pass once more: of weights that are all still to be read.
PASS = """
import os, sys, torch
from pathlib import Path
from headlight.model import load
from headlight.model.base.file_copies import copy_files
folder, copied = Path(sys.argv[1]), sys.argv[2] == "copied"
if copied:
    copy_files()
model, tokens = load(folder), torch.arange(20)[None]
expected = load(folder, dtype="float32").double()(tokens).float() if copied else None
def cut(activation, hook):
    os.truncate(folder / "model.safetensors", 0)
during = model.run_with_hooks(tokens, fwd_hooks=[("blocks.0.hook_resid_pre", cut)])
assert (folder / "model.safetensors").stat().st_size == 0
torch.testing.assert_close(during, expected, rtol=1e-4, atol=1e-4)  # float32 against float64
assert torch.equal(during, model(tokens))
"""


@pytest.mark.parametrize(("how", "ends"), [("copied", 0), ("mapped", -signal.SIGBUS)])
def test_a_file_that_is_cut_short_in_the_middle_of_a_pass_ends_no_process_that_copies(
    tmp_path: Path, how: str, ends: int
) -> None:
    save_small(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", PASS, str(tmp_path), how], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == ends, ended.stderr


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a server."""
    monkeypatch.setattr(file_copies, "_copies", True)


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("kind", ["safetensors", "npz", "pt"])
def test_what_was_read_of_a_file_stays_when_it_is_written_over(tmp_path: Path, kind: str) -> None:
    path, values = tmp_path / f"x.{kind}", torch.arange(50_000, dtype=torch.float32)
    if kind == "safetensors":
        save_file({"x": values}, path)
    elif kind == "npz":
        np.savez(path, x=values.numpy())
    else:
        torch.save({"x": values}, path)
    read = {"safetensors": read_safetensors, "npz": read_npz, "pt": read_torch}[kind](path)["x"]
    with path.open("r+b") as file:
        file.write(bytes(os.path.getsize(path)))
    os.truncate(path, 10)
    assert read.equal(values)
    read += 1  # the copy is the caller's own to write to
    assert read.equal(values + 1)


@pytest.mark.usefixtures("copies")
def test_holes_of_a_file_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, size = tmp_path / "x.safetensors", 2**32
    with path.open("wb") as file:
        file.write(b"begin")
        file.seek(2**31)
        file.write(b"middle")
        file.truncate(size)
    monkeypatch.setattr(file_copies.memory, "free", lambda: 4 * size)
    with file_copies.mappable(path) as copy:
        assert copy != path
        assert copy.stat().st_size == size
        assert copy.stat().st_blocks * 512 < 2**20  # some pages of memory
        with copy.open("rb") as file:
            assert file.read(6) == b"begin\0"
            file.seek(2**31 - 1)
            assert file.read(8) == b"\0middle\0"


@pytest.mark.usefixtures("copies")
def test_a_file_that_becomes_shorter_while_it_is_copied_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_small(tmp_path)
    monkeypatch.setattr(file_copies, "BLOCK", 2**16)
    send, sent = os.sendfile, list[int]()

    def cut(*args: object) -> int:
        if len(sent) == 2:
            os.truncate(tmp_path / "model.safetensors", 2**16)
        sent.append(send(*args))
        return sent[-1]

    monkeypatch.setattr(os, "sendfile", cut)
    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read as safetensors .* cut short"):
        load(tmp_path)


@pytest.mark.usefixtures("copies")
def test_files_of_the_project_and_of_the_hub_and_those_beyond_memory_are_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_small(tmp_path / "mine")
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    shutil.copy(tmp_path / "mine" / "model.safetensors", blobs / "0123")
    link = tmp_path / "model.safetensors"
    link.symlink_to(blobs / "0123")
    own, size = file_copies.ASSETS / "models" / "mini" / "model.safetensors", (blobs / "0123").stat().st_size

    def is_mapped(path: Path) -> bool:
        with file_copies.mappable(path) as at:
            return at == path

    assert is_mapped(own)
    assert is_mapped(link)
    assert not is_mapped(tmp_path / "mine" / "model.safetensors")
    monkeypatch.setattr(file_copies.memory, "free", lambda: 2 * size - 1)
    assert is_mapped(tmp_path / "mine" / "model.safetensors")
