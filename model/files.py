"""Reading the small files that lie beside a checkpoint's weights."""

import json
from pathlib import Path
from typing import Any

from headlight.model.errors import CheckpointError


def reason(error: Exception, path: Path) -> str:
    """What an error about a file says, with its name for its path, which is not for everybody who sees a page."""
    return str(error).replace(str(path), path.name)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object.

    Raises:
        CheckpointError: the file is missing or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as JSON ({reason(error, path)}). Copy or download it again."
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}; it has to hold a JSON object.")
    return content
