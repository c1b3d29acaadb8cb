"""Reading the small files that lie beside a checkpoint's weights."""

import json
from pathlib import Path
from typing import Any

from headlight.model.errors import CheckpointError


def reason(error: Exception, path: Path) -> str:
    """What an error about a file says, with its name for its path, which is not for everybody who sees a page."""
    return str(error).replace(str(path), path.name)


def read_json(path: Path, unique: bool = False) -> dict[str, Any]:
    """A JSON file that holds an object, in which with `unique` nothing may have a name twice.

    Raises:
        CheckpointError: the file is missing or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique if unique else None)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as JSON ({reason(error, path)}). Copy or download it again."
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}; it has to hold a JSON object.")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands there twice Python would take the last without a word."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"it names {name!r} twice")
        found[name] = value
    return found
