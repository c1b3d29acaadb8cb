"""Resolve a path to a model: a file in a model's folder means the folder, as does a folder around one model."""

import re
from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json
from headlight.model.checkpoints.lora_settings import CONFIG as ADAPTER_CONFIG
from headlight.model.text.tokenizer_files import BESIDE, VOCABULARIES

CONFIGS = ("config.json", ADAPTER_CONFIG)
OF_FOLDERS = {*CONFIGS, *VOCABULARIES, *BESIDE, "generation_config.json"}
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
    return inside[0] if len(inside) == 1 else path


def inner_models(folder: Path) -> list[Path]:
    """The folders in a folder, or in its snapshots, that look like models; a training's last checkpoint first."""
    if not folder.is_dir() or any((folder / name).is_file() for name in CONFIGS):
        return []
    holders = [holder for holder in (folder, folder / "snapshots") if holder.is_dir()]
    inside = [path for holder in holders for path in holder.iterdir() if path.is_dir()]
    return sorted((path for path in inside if any((path / name).is_file() for name in CONFIGS)), key=_step)


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
        return "model_type" in read_json(path.parent / "config.json")
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
