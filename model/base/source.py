"""Where a model's weights came from."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headlight.model.base.files import open_file

BLOCK = 2**24  # bytes read at a time


@dataclass(frozen=True)
class Source:
    """What was opened: the name it was asked for by, its folder or file, its family and its weight files.

    `revision` is the hub's commit hash, and None for what did not come from the hub. `note` says what part of a folder,
    or of several, this is, if it is not what one would expect. `unread` are settings of config.json that
    nothing goes by, as "name = value".
    """

    name: str
    path: Path
    family: str
    weights: tuple[Path, ...]
    revision: str | None = None
    note: str = ""
    unread: tuple[str, ...] = ()
    _digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def file_bytes(self) -> int:
        """Bytes of the weight files."""
        return sum(path.stat().st_size for path in self.weights)

    @property
    def is_hashed(self) -> bool:
        """Whether `sha256` is known, so that no file has to be read for it."""
        return bool(self._digest)

    @property
    def sha256(self) -> str:
        """SHA-256 of the weight files' bytes in hexadecimal, several files one after the other in the order of names.

        The files are read when this is first asked for; for a single file it is what `sha256sum` prints.
        """
        return self.hashed(lambda done, total: None)

    def hashed(self, tell: Callable[[int, int], None]) -> str:
        """`sha256`; where the files are read for it, `tell` hears how many bytes are done, and of how many."""
        if not self._digest:
            digest, done, total = hashlib.sha256(), 0, self.file_bytes
            for path in self.weights:
                with open_file(path) as file:
                    while block := file.read(BLOCK):
                        tell(done, total)
                        digest.update(block)
                        done += len(block)
            self._digest.append(digest.hexdigest())
        return self._digest[0]
