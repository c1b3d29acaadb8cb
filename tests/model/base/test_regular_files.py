"""Pipes and devices in the place of files: to open or to read one may never end, and would take the server with it."""

import os
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headlight.model import load, load_seq2seq
from headlight.model.base.errors import HeadlightError
from headlight.model.base.files import read_json
from headlight.model.base.source import Source
from headlight.model.base.torch_files import read_torch
from headlight.model.checkpoints.loading import estimate
from headlight.model.checkpoints.tensors import read_safetensors
from headlight.model.corpus.documents import open_corpus
from headlight.model.corpus.reading import read_dashboard, read_tree
from headlight.model.corpus.unit_files import read_unit
from headlight.model.features.npz import read_npz
from headlight.model.features.opening import SHIPPED, open_dictionary
from headlight.model.lens.files import read_lens
from headlight.model.lens.opening import ASSETS
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.fine_tuning import load_classifier
from headlight.model.training.parallel_text import read_parallel

SECONDS = 120  # in which everything here ends, also on a busy machine
KINDS: dict[str, Callable[[Path], object]] = {
    "a named pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


def _outcome(read: Callable[[Path], object], path: Path) -> Any:
    """What reading gives, or raises; a thread that never ends is left behind."""
    outcomes: list[object] = []

    def run() -> None:
        try:
            outcomes.append(read(path))
        except BaseException as error:
            outcomes.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert outcomes, f"reading {path.name} never ends"
    return outcomes[0]


def _corpus(path: Path) -> None:
    list(open_corpus(str(path)).documents())


def _scan(folder: Path) -> None:
    tree = read_tree(folder)
    read_dashboard(tree, (0, 0))
    read_unit(tree, "neurons", 0, 0)


FILES: dict[str, Callable[[Path], object]] = {
    "x.safetensors": read_safetensors,
    "y.safetensors": load,
    "z.safetensors": estimate,
    "x.pt": read_torch,
    "y.pt": load,
    "x.json": read_json,
    "x.npz": read_npz,
    "lens.pt": lambda path: read_lens("jacobian", path),
    "tokenizer.json": Tokenizer.from_file,
    "text": lambda path: read_parallel(path, path),
    "hashed": lambda path: Source("", path, "", (path,)).sha256,
    **{f"corpus.{kind}": _corpus for kind in ("txt", "json", "jsonl", "csv", "tsv", "parquet")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_opened(tmp_path: Path, kind: str) -> None:
    for name, read in FILES.items():
        KINDS[kind](tmp_path / name)
        error = _outcome(read, tmp_path / name)
        if kind == "a folder" and (name.startswith(("corpus", "lens")) or read in (load, estimate)):
            assert isinstance(error, HeadlightError)  # which may be given, and holds nothing
        else:
            assert isinstance(error, HeadlightError)
            assert f"{name} is {kind}, not a file that can be read" in str(error)


def test_a_socket_is_said_to_be_one(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        assert "s is a socket" in str(_outcome(read_safetensors, tmp_path / "s"))


FOLDERS: dict[str, tuple[Path, Callable[[Path], object], tuple[str, ...]]] = {
    "model": (
        ASSETS / "models" / "teach-copy",
        load,
        (
            "model.safetensors.index.json",
            "generation_config.json",
            "adapter_config.json",
            "adapter_model.safetensors",
            "added_tokens.json",
            "chat_template.jinja",
            "merges.txt",
            "special_tokens_map.json",
            "vocab.json",
            "tokenizer.model",
            "some.spm",
        ),
    ),
    "encoder-decoder": (ASSETS / "models" / "reverse", load_seq2seq, ("tokenizer.json",)),
    "classifier": (ASSETS / "models" / "subject-number", lambda path: load_classifier(path, load("mini")), ()),
    "tuned lens": (
        ASSETS / "lenses" / "mini" / "tuned",
        lambda path: read_lens("tuned", path),
        ("params.safetensors",),
    ),
    "jacobian": (
        ASSETS / "lenses" / "mini" / "jacobian",
        lambda path: read_lens("jacobian", path),
        ("lens.safetensors",),
    ),
    "dictionary": (
        next(path for path in sorted(SHIPPED.glob("*/*")) if path.is_dir()),
        open_dictionary,
        ("config.yaml", "params.npz", "params.safetensors", "ae.pt"),
    ),
    "scan": (ASSETS / "scans" / "mini", _scan, ()),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_pipe_for_any_file_of_a_folder_is_said_or_does_not_matter(tmp_path: Path, folder: str) -> None:
    """Cards, logs and pictures are read by nobody; what else is there the reader has to name."""
    source, read, more = FOLDERS[folder]
    here = shutil.copytree(
        source, tmp_path / "copy", ignore=shutil.ignore_patterns("attributions", "features", "L[1-9]*")
    )
    assert not isinstance(_outcome(read, here), BaseException)
    files = sorted(path.relative_to(here) for path in here.rglob("*") if path.is_file())
    for name in [*files, *map(Path, more)]:
        beside = tmp_path / "beside"
        if (here / name).exists():
            (here / name).rename(beside)
        os.mkfifo(here / name)
        outcome = _outcome(read, here)
        (here / name).unlink()
        if beside.exists():
            beside.rename(here / name)
        assert isinstance(outcome, HeadlightError) or not isinstance(outcome, BaseException), name
        if name.suffix in (".safetensors", ".pt") and name in files:
            assert isinstance(outcome, HeadlightError), name
            assert name.name in str(outcome)
