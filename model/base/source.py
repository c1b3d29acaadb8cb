"""Origin of a model's weights."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headlight.model.base.files import open_file

BLOCK = 2**24  # bytes read at a time


@dataclass(frozen=True)
class Source:
    """Origin of a model's weights.

    Attributes:
        name: the name that it was loaded by.
        path: its folder or file.
        family: the checkpoint family that read it.
        weights: its weight files.
        revision: the commit hash on the hub; None for a model from elsewhere.
        note: what part of the files this is, where that is not obvious, such as a merged LoRA.
        unread: settings in config.json that nothing uses, as "name = value".
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
    def short_name(self) -> str:
        """The name where others read it: of a path its last part, of a file with its folder."""
        path = Path(self.name)
        if self.revision is not None or not path.name:  # a name on the hub has a slash too
            return self.name
        return "/".join(path.parts[-2:]) if path.suffix == ".safetensors" else path.name

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
        """SHA-256 of the weight files' bytes in hexadecimal; several files are concatenated in the order of names.

        The files are read on first use. For a single file it equals the output of `sha256sum`.
        """
        return self.hashed(lambda done, total: None)

    def hashed(self, tell: Callable[[int, int], None]) -> str:
        """Return `sha256`, reporting progress to `tell(done, total)` in bytes where the files have to be read."""
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
