"""Pooling of a sentence encoder's tokens, by the files of sentence-transformers beside it."""

from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.base.files import open_file, parse_json
from headlight.model.nn.config import OutputPosition

MODULES, MAX_BYTES = "modules.json", 2**20
KINDS: dict[str, OutputPosition] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "first",
    "pooling_mode_lasttoken": "last",
}


def is_sentence_encoder(folder: Path) -> bool:
    """Whether sentence-transformers' list of modules lies beside a model."""
    return folder.is_dir() and (folder / MODULES).is_file()


def pooling_of(folder: Path) -> tuple[OutputPosition, str]:
    """Tokens that are pooled into a sentence, and a note; "each" where no file states it in a supported way.

    Raises:
        CheckpointError: one of the files cannot be read.
    """
    modules = _read(folder / MODULES)
    listed = [each for each in modules if isinstance(each, dict)] if isinstance(modules, list) else []
    kinds = {str(each.get("type", "")).rpartition(".")[2]: str(each.get("path", "")) for each in listed}
    beside = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    note = f"a sentence encoder, whose {' and '.join(beside)} behind the pooling is not read" if beside else ""
    config = folder / Path(kinds.get("Pooling", "")).name / "config.json"
    settings = _read(config) if kinds.get("Pooling") and config.is_file() else {}
    chosen = [name for name, on in settings.items() if name.startswith("pooling_mode_") and on is True]
    if len(chosen) == 1 and chosen[0] in KINDS:
        return KINDS[chosen[0]], note or "a sentence encoder"
    return "each", f"a sentence encoder, whose pooling is not read ({', '.join(chosen) or 'none is set'})"


def _read(path: Path) -> Any:
    try:
        with open_file(path) as file:
            return parse_json(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} cannot be read as JSON ({error}). Copy or download it again.") from error
