"""Resolve a path to a model: a file in a model's folder means the folder, as does a folder around one model."""

import os
import re
from itertools import islice
from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.lora_settings import CONFIG as ADAPTER_CONFIG
from headlight.model.text.tokenizer_files import BESIDE, VOCABULARIES

CONFIGS = ("config.json", ADAPTER_CONFIG)
MODULES = "modules.json"  # sentence-transformers' list of what stands behind each other
MAX_DEPTH, MAX_FOLDERS, MAX_ENTRIES = 3, 100, 2000  # of a search for models inside a folder
SUFFIXES = (".safetensors", ".gguf", ".pt", ".pth", ".bin", ".ckpt", ".pkl")  # of files that may hold a model
CLASSIFIER = "classifier.safetensors"  # what `save_classifier` of the fine-tuning writes
FIRST_CONFIG = "bert_config.json"  # of the first BERTs
TRAINERS = ("optimizer.pt", "scheduler.pt", "rng_state.pth", "training_args.bin", "trainer_state.json")
OF_FOLDERS = {*CONFIGS, *VOCABULARIES, *BESIDE, *TRAINERS, "generation_config.json", "README.md"}
WEIGHTS = re.compile(
    r"(pytorch_)?model(-\d+-of-\d+)?\.(safetensors|bin)(\.index\.json)?|adapter_model\.(safetensors|bin)"
)


def model_at(path: Path) -> Path:
    """The folder or file of the model that a path means, which is the path itself unless there is just one other."""
    if path.is_file():
        return path.parent if _is_of_folder(path) else path
    inside = inner_models(path)
    if current := _current_snapshot(path):
        return current
    if not inside and (files := _single_files(path)):
        return files[0] if len(files) == 1 else path
    return inside[0] if len(inside) == 1 else path


def _single_files(folder: Path) -> list[Path]:
    """The files of weights in a folder that has no config.json beside them."""
    if any((folder / name).is_file() for name in (*CONFIGS, FIRST_CONFIG, CLASSIFIER)):
        return []
    return [path for path in folder.glob("*") if path.suffix in SUFFIXES and path.is_file()]


def inner_models(folder: Path) -> list[Path]:
    """The nearest folders in a folder that look like models; a training's last checkpoint first.

    Of a sentence-transformers folder only the model itself counts, not what stands behind it.
    """
    if any((folder / name).is_file() for name in CONFIGS):
        return []
    inside = [folder]
    for _ in range(MAX_DEPTH):
        inside = [path for holder in inside[:MAX_FOLDERS] for path in _folders(holder)]
        models = [path for path in inside if any((path / name).is_file() for name in CONFIGS)]
        if models:
            encoders = [path for path in models if path.name.startswith("0_") and (path.parent / MODULES).is_file()]
            return sorted(encoders or models, key=_step)
    return []


def _folders(folder: Path) -> list[Path]:
    """The folders in a folder, but for hidden ones; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            some = [entry for entry in islice(entries, MAX_ENTRIES) if not entry.name.startswith(".")]
            return sorted(Path(entry.path) for entry in some if entry.is_dir())
    except OSError:
        return []


def _step(path: Path) -> tuple[int, str]:
    number = re.fullmatch(r"(?:checkpoint|step|epoch)\D*(\d+)", path.name)
    return (-int(number[1]) if number else 0), path.name


def _is_of_folder(path: Path) -> bool:
    """Whether a file is one of those of which a Hugging Face folder is made, and lies in one."""
    if path.name not in OF_FOLDERS and not WEIGHTS.fullmatch(path.name):
        return False
    if (path.parent / ADAPTER_CONFIG).is_file():
        return True
    try:
        return bool(read_json(path.parent / "config.json"))
    except CheckpointError:
        return False


def _current_snapshot(folder: Path) -> Path | None:
    """Snapshot folder in the hub's cache of a repository's main branch when it was last fetched."""
    branch = folder / "refs" / "main"
    if not branch.is_file() or branch.stat().st_size > 100:
        return None
    commit = branch.read_text(errors="replace").strip()
    snapshot = folder / "snapshots" / commit
    return snapshot if re.fullmatch(r"[0-9a-f]{40}", commit) and snapshot.is_dir() else None
