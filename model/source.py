"""Where a model's weights came from."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """What was opened: the name it was asked for by, its folder or file, its family and its weight files.

    `revision` is the hub's commit hash, and None for what did not come from the hub. `note` says what part of a folder,
    or of several, this is, if it is not what one would expect.
    """

    name: str
    path: Path
    family: str
    weights: tuple[Path, ...]
    revision: str | None = None
    note: str = ""

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the weight files' bytes in hexadecimal, several files one after the other in the order of names.

        The files are read when this is first asked for; for a single file it is what `sha256sum` prints.
        """
        digest = hashlib.sha256()
        for path in self.weights:
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        return digest.hexdigest()
