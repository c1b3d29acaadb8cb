"""Every reader of files, given damaged ones: a right result or an error of ours, in 2 s and 500 MB."""

import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from headlight.app.pages.prompts import prompt_files
from headlight.model import Tokenizer
from headlight.model.corpus.checked import read as read_checked
from headlight.model.corpus.packing import packed, unpacked
from headlight.model.dictionaries.npz import read_npz
from headlight.model.errors import HeadlightError
from headlight.model.families.tensors import read_safetensors
from headlight.model.files import read_json
from headlight.model.graph.reading import open_graph
from headlight.model.lenses.files import read_lens
from headlight.model.torch_files import read_torch
from tests.hostile import damaged, places
from tests.model.graph.test_json import THEIRS
from tests.places import MINI

SECONDS, MEMORY = 2.0, 500 * 2**20
TENSORS = {"W": torch.arange(12.0).reshape(3, 4), "b": torch.ones(4, dtype=torch.float16)}


def _torch(path: Path) -> None:
    torch.save(TENSORS | {"W.T": TENSORS["W"].T}, path)


def _jacobian(path: Path) -> None:
    torch.save({"J": {layer: torch.eye(8) for layer in range(3)}, "n_prompts": 3, "d_model": 8}, path)


def _npz(path: Path) -> None:
    np.savez(path, **{name: tensor.numpy() for name, tensor in TENSORS.items()})


def _of_bytes(read: Callable[[bytes], object]) -> Callable[[Path], object]:
    return lambda path: read(path.read_bytes())


Reader = tuple[str, Callable[[Path], object], Callable[[Path], object]]
READERS: dict[str, Reader] = {
    "torch": (".pt", _torch, read_torch),
    "lens": (".pt", _jacobian, lambda path: read_lens("jacobian", path)),
    "npz": (".npz", _npz, read_npz),
    "safetensors": (".safetensors", lambda path: save_file(TENSORS, path), read_safetensors),
    "json": (".json", lambda path: path.write_text(json.dumps(THEIRS)), read_json),
    "scan": (
        ".json",
        lambda path: path.write_text(json.dumps(THEIRS)),
        lambda path: read_checked(path.parent, path.name),
    ),
    "tokenizer": (".json", lambda path: path.write_bytes((MINI / "tokenizer.json").read_bytes()), Tokenizer.from_file),
}
BYTES: dict[str, Reader] = {  # what comes as bytes, from an upload or from the scan itself
    "graph": (".json", lambda path: path.write_text(json.dumps(THEIRS)), _of_bytes(open_graph)),
    "prompts": (
        ".csv",
        lambda path: path.write_text("prompt;kind\n" + 'one "two";3\n' * 20),
        _of_bytes(lambda data: prompt_files.read("x.csv", data, 1000)),
    ),
    "prompt lines": (
        ".jsonl",
        lambda path: path.write_text('{"prompt": "one", "kind": [1, 2e9]}\n' * 20),
        _of_bytes(lambda data: prompt_files.read("x.jsonl", data, 1000)),
    ),
    "shard": (
        ".npz",
        lambda path: path.write_bytes(packed({name: tensor.numpy() for name, tensor in TENSORS.items()})),
        _of_bytes(lambda data: unpacked(data, "shard.npz")),
    ),
}


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """What an error of ours says, empty where there is none; anything else fails, or takes too long or too much."""
    begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ""
    try:
        read(path)
    except HeadlightError as error:
        said = str(error)
    assert time.process_time() - begun < SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MEMORY
    return said


def sweep(name: str, folder: Path, number: int, seed: int) -> None:
    suffix, write, read = (READERS | BYTES)[name]
    path = folder / f"strange{suffix}"
    write(path)
    assert outcome(read, path) == ""
    whole, refused = path.read_bytes(), 0
    for content in damaged(whole, number, seed):
        path.unlink()  # what is mapped of the last one stays as it is
        path.write_bytes(content)
        said = outcome(read, path)
        refused += bool(said)
        assert not said or name in BYTES or path.name in said, said
    assert refused > number // 6  # of those that are cut short


@pytest.mark.parametrize("name", [*READERS, *BYTES])
def test_damaged_files_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep(name, tmp_path, 4 if name == "tokenizer" else 40, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*READERS, *BYTES])
def test_many_damaged_files_are_read_right_or_refused_by_name(name: str, tmp_path: Path) -> None:
    sweep(name, tmp_path, 30 if name == "tokenizer" else 1500, 1)


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_regular_file_or_larger_than_any_is_refused(name: str, tmp_path: Path) -> None:
    suffix, _, read = READERS[name]
    for path in places(tmp_path, suffix):
        assert path.stem in outcome(read, path), path


def test_the_same_seed_draws_the_same_files() -> None:
    whole: Any = bytes(range(256))
    assert list(damaged(whole, 30)) == list(damaged(whole, 30))
    assert len(set(damaged(whole, 30))) > 25
