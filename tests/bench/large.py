"""A model of three billion parameters in bfloat16, 6 GB, run under a limit of 4 GB: `make bench ARGS=large`.

Beside the pass stand the disk's reading time and the pass's own where all is in memory, each measured here: where
reading and computing overlap, the pass takes little more than the larger of the two. The limit is a memory control
group's, which counts the files' pages too; making one takes root.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig

from headlight.model import load

N_TOKENS, LIMIT = 128, 4 * 2**30
GROUPS = Path("/sys/fs/cgroup")
CONFIG = LlamaConfig(
    vocab_size=128256,
    hidden_size=3072,
    intermediate_size=8192,
    num_hidden_layers=28,
    num_attention_heads=24,
    num_key_value_heads=8,
    head_dim=128,
    tie_word_embeddings=True,
    dtype="bfloat16",
)


def make(folder: Path) -> None:
    """The folder, a file a layer, of random numbers that repeat."""
    numbers = (0.02 * torch.randn(2**24, generator=torch.Generator().manual_seed(0))).bfloat16()

    def random(*shape: int) -> Tensor:
        n = torch.Size(shape).numel()
        return numbers.repeat(-(-n // len(numbers)))[:n].view(shape)

    width, heads = CONFIG.hidden_size, CONFIG.head_dim * CONFIG.num_attention_heads
    shared, d_mlp = CONFIG.head_dim * CONFIG.num_key_value_heads, CONFIG.intermediate_size
    shapes = {"q": (heads, width), "k": (shared, width), "v": (shared, width), "o": (width, heads)}
    mlp = {"gate": (d_mlp, width), "up": (d_mlp, width), "down": (width, d_mlp)}
    named = {f"self_attn.{name}_proj": shape for name, shape in shapes.items()}
    named |= {f"mlp.{name}_proj": shape for name, shape in mlp.items()}
    files: dict[str, dict[str, Tensor]] = {}
    for layer in range(CONFIG.num_hidden_layers):
        at = f"model.layers.{layer}."
        files[f"layer-{layer}.safetensors"] = {
            **{f"{at}{name}.weight": random(*shape) for name, shape in named.items()},
            **{f"{at}{name}_layernorm.weight": random(width) + 1 for name in ("input", "post_attention")},
        }
        _write(folder, files, f"layer-{layer}.safetensors")
    files["rest.safetensors"] = {
        "model.embed_tokens.weight": random(CONFIG.vocab_size, width),
        "model.norm.weight": random(width) + 1,
    }
    _write(folder, files, "rest.safetensors")
    index = {"weight_map": {name: file for file, tensors in files.items() for name in tensors}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    CONFIG.save_pretrained(folder)


def _write(folder: Path, files: dict[str, dict[str, Tensor]], name: str) -> None:
    save_file(files[name], folder / name)
    files[name] = {tensor: torch.empty(0) for tensor in files[name]}  # its names alone, from here on


def forget(folder: Path) -> None:
    """Have the system forget what it holds of the folder's files in memory."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def reading(folder: Path) -> float:
    """Seconds that the disk takes to give all of the files."""
    forget(folder)
    began, block = time.perf_counter(), bytearray(2**22)
    for path in folder.glob("*.safetensors"):
        with path.open("rb", buffering=0) as file:
            while file.readinto(block):
                pass
    return time.perf_counter() - began


def one_pass(folder: Path) -> None:
    """Print what opening and a first and a second pass take (seconds), and the most memory (bytes)."""
    began = time.perf_counter()
    model = load(folder, dtype="stored")
    seconds = {"opening": time.perf_counter() - began}
    tokens = torch.randint(CONFIG.vocab_size, (1, N_TOKENS), generator=torch.Generator().manual_seed(0))
    for name in ("first", "second"):
        began = time.perf_counter()
        with torch.inference_mode():
            model.to_logits(model(tokens, stop_at_layer=model.cfg.n_layers)[:, -1:])
        seconds[name] = time.perf_counter() - began
    print(json.dumps(seconds | {"peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


@contextmanager
def limited() -> Iterator[Path]:
    """A memory control group of `LIMIT` bytes: the file that a process writes its number to, to be in it."""
    is_first_version = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if is_first_version else GROUPS) / "headlight-bench"
    group.mkdir()
    limit = "memory.limit_in_bytes" if is_first_version else "memory.max"
    (group / limit).write_text(str(LIMIT))
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


def measured(folder: Path, group: Path | None = None) -> dict[str, float]:
    """`one_pass` in a process of its own, in a control group or in none."""

    def enter() -> None:
        if group is not None:
            group.write_text(str(os.getpid()))

    forget(folder)
    command = [sys.executable, "-m", "tests.bench.large", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, preexec_fn=enter)
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def main() -> None:
    """Make the folder, measure, print, and take it away again."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make(folder)
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
        disk, free = reading(folder), measured(folder)
        with limited() as group:
            under = measured(folder, group)
    larger = max(disk, free["second"])
    print(f"{size / 1e9:.1f} GB in bfloat16, {N_TOKENS} tokens, {torch.get_num_threads()} threads")
    print(f"reading the files: {disk:.1f} s; a pass with all in memory: {free['second']:.1f} s")
    print(f"opening: {free['opening']:.1f} s, {under['opening']:.1f} s under the limit")
    print(f"peak resident memory without a limit: {free['peak'] / size:.2f} of the files' size")
    print(
        f"a pass under {LIMIT / 2**30:.0f} GiB: {under['second']:.1f} s, {under['second'] / larger:.2f} of the larger"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_pass(Path(sys.argv[1]))
    else:
        main()
