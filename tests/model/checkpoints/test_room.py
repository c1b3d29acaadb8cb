"""What opening takes is told before anything is read, and refused where memory does not hold it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaConfig, LlamaForCausalLM

from headlight.model import load
from headlight.model.base import memory
from headlight.model.base.errors import CheckpointError, TooLargeError
from headlight.model.checkpoints import room, tensors
from headlight.model.checkpoints.loading import estimate
from headlight.model.runs.host import Host
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.oracles import random_tokens
from tests.places import ROOT

GB = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in bfloat16."""
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**SIZES)).bfloat16().save_pretrained(tmp_path)
    return tmp_path


def _numbers(folder: Path) -> tuple[int, int]:
    """How many numbers a folder holds, and how many of these in matrices."""
    parameters = load_file(folder / "model.safetensors").values()
    return sum(map(torch.numel, parameters)), sum(tensor.numel() for tensor in parameters if tensor.ndim > 1)


def test_an_estimate_counts_what_is_converted_and_what_stays_in_the_files(folder: Path) -> None:
    count, _ = _numbers(folder)
    stored, widened, half = (estimate(folder, dtype) for dtype in ("stored", "float32", "bfloat16"))
    assert (stored.stored, stored.mapped, stored.converted) == (2 * count, 2 * count, 0)
    assert (widened.stored, widened.mapped, widened.converted) == (2 * count, 0, 4 * count)
    assert (half.mapped, half.converted) == (2 * count, 0)
    assert stored.kinds == ("bfloat16",)
    whole = {name: each.float() for name, each in load_file(folder / "model.safetensors").items()}
    save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})
    count, in_matrices = _numbers(folder)
    rounded = estimate(folder, "bfloat16")
    assert (rounded.mapped, rounded.converted) == (4 * (count - in_matrices), 2 * in_matrices)


@pytest.mark.parametrize(
    ("free", "dtype", "said"),
    [
        (10 * GB, "stored", r"6\.0 GB of bfloat16, which the first pass reads, about 12 s"),
        (
            4 * GB,
            "stored",
            r"6\.0 GB of bfloat16, more than the 4\.0 GB of memory that are free: each pass reads",
        ),
        (None, "stored", "which the first pass reads"),
        (20 * GB, "float32", r"6\.0 GB of bfloat16, of which 12\.0 GB of float32 are made, about 24 s$"),
        (4 * GB, "float32", r"in float32 12\.0 GB of memory, of which 4\.0 GB are free"),
    ],
)
def test_an_estimate_reads_as_a_sentence(
    free: int | None, dtype: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free", lambda: free)
    monkeypatch.setattr(room, "_rate", lambda files: 5e8)
    weights = torch.empty(3 * GB // 1000, 1000, dtype=torch.bfloat16, device="meta")
    assert re.search(said, str(room.estimate([], [weights], dtype)))


def test_the_rate_is_that_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "small").write_bytes(b"x" * 1000)
    assert 0 < room._rate([tmp_path / "empty", tmp_path / "small"]) < 1e11


def test_what_memory_does_not_hold_is_refused_with_what_fits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, _ = _numbers(folder)
    monkeypatch.setattr(memory, "free", lambda: 4 * count - 1)
    monkeypatch.setattr(tensors, "is_finite", lambda tensor: pytest.fail("a value was read"))
    with pytest.raises(TooLargeError, match=r'Open the model with dtype="stored".* stay in their files.* needed\.$'):
        load(folder, dtype="float32")
    monkeypatch.undo()
    monkeypatch.setattr(memory, "free", lambda: 0)
    assert load(folder, dtype="stored").cfg.n_layers == SIZES["num_hidden_layers"]


def test_bfloat16_is_offered_where_that_fits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {name: each.half() for name, each in load_file(folder / "model.safetensors").items()}
    save_file(whole, folder / "model.safetensors", metadata={"format": "pt"})
    count, _ = _numbers(folder)
    monkeypatch.setattr(memory, "free", lambda: 3 * count)
    with pytest.raises(TooLargeError, match=r'or with dtype="bfloat16" \(--dtype bfloat16\), which takes'):
        load(folder, dtype="float32")


class _Hears(Host):
    def __init__(self) -> None:
        self.progress: list[tuple[int, int]] = []

    def tell(self, done: int, total: int) -> None:
        self.progress.append((done, total))


def test_a_host_hears_how_many_bytes_are_done(folder: Path) -> None:
    host, total = _Hears(), 2 * _numbers(folder)[0]
    load(folder, host=host)
    assert host.progress[0] == (0, total)
    assert host.progress[-1] == (total, total)
    assert len(host.progress) > SIZES["num_hidden_layers"]
    assert host.progress == sorted(host.progress)


def test_of_a_large_model_values_that_stay_in_the_files_are_left_to_a_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state_dict = load_file(folder / "model.safetensors")
    state_dict["model.layers.1.mlp.up_proj.weight"][0] = torch.nan
    save_file(state_dict, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"infinite values in layers\.1\.mlp\.up_proj\.weight"):
        load(folder)
    monkeypatch.setattr(tensors, "LARGE", 1)
    model = load(folder)
    assert model(random_tokens(1, 3, d_vocab=SIZES["vocab_size"])).isnan().any()
    with pytest.raises(CheckpointError, match=r"infinite values in layers\.1\.mlp\.up_proj\.weight"):
        load(folder, dtype="float32")  # for which they are all read


OPENED = """
import sys
import torch
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from headlight.model import load

def told(name):
    lines = open("/proc/self/status").read().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))

CONFIG_MAPPING["llama"], load("mini")
before = told("VmHWM"), told("RssAnon")
model = load(sys.argv[1], dtype=sys.argv[2])
print(told("VmHWM") - before[0], told("RssAnon") - before[1])
"""


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process its peak")
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_opening_copies_nothing(dtype: str, tmp_path: Path) -> None:
    """300 MB of weights: what is resident is at most 1.15 of it, and nearly all of that the files' own pages."""
    config = LlamaConfig(hidden_size=1024, intermediate_size=4096, num_hidden_layers=8, vocab_size=16000)
    LlamaForCausalLM(config).to(getattr(torch, dtype)).save_pretrained(tmp_path)
    size = (tmp_path / "model.safetensors").stat().st_size
    assert size > 2.5e8
    command = [sys.executable, "-c", OPENED, str(tmp_path), "stored"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    peak, own = map(int, done.stdout.split())
    assert peak <= 1.15 * size
    assert own <= 0.05 * size  # objects of Python, and what torch keeps to compute with
