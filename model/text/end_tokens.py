"""Start and end tokens of a model's output, by the files beside its weights."""

from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import read_json, refuse_pointer

GENERATION_CONFIG = "generation_config.json"


def end_tokens(folder: Path, d_vocab: int) -> tuple[int, ...]:
    """The ids under eos_token_id of generation_config.json, or of config.json where that says nothing of them.

    Raises:
        CheckpointError: a file is a pointer, without which a text would not end.
    """
    for name in (GENERATION_CONFIG, "config.json"):
        settings = _settings(folder / name)
        value = settings.get("eos_token_id")
        if value is None and isinstance(text := settings.get("text_config"), dict):
            value = text.get("eos_token_id")
        listed = value if isinstance(value, list) else [value]
        ids = [token for token in listed if type(token) is int and 0 <= token < d_vocab]
        if ids:
            return tuple(dict.fromkeys(ids))
    return ()


def forced_token(folder: Path, d_vocab: int) -> int | None:
    """The token that a target has to begin with, behind the start token, by forced_bos_token_id; None for any."""
    for name in (GENERATION_CONFIG, "config.json"):
        token = _settings(folder / name).get("forced_bos_token_id")
        if type(token) is int and 0 <= token < d_vocab:
            return token
    return None


def _settings(path: Path) -> dict[str, Any]:
    """Settings in a file; empty where it is missing or damaged."""
    refuse_pointer(path)
    try:
        return read_json(path) if path.is_file() else {}
    except CheckpointError:
        return {}
