"""Reading the small files that lie beside a checkpoint's weights."""

import json
from pathlib import Path
from typing import Any

from model.errors import CheckpointError


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object.

    Raises:
        CheckpointError: the file is missing or holds something else.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} cannot be read as JSON ({error}). Copy or download it again.") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}; it has to hold a JSON object.")
    return content
