"""What a scan keeps on the disk while it goes on, in the folder `.scan` of its tree.

identity.json   what it is of
warm.npz        what the warm-up gave
shard-*.npz     shards that are finished, and not in the state yet
state.npz       all that was found in the shards before number `next`
"""

import json
from pathlib import Path
from typing import Any

from headlight.model.base.files import PART, read_json
from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.folder import IDENTITY, WORK, check_folder, clear
from headlight.model.corpus.found import Found
from headlight.model.corpus.identity import check_same
from headlight.model.corpus.packing import refusing_damage, unpacked
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.warm import Warm
from headlight.model.nn.config import TransformerConfig


class State:
    """What has been found so far, and the shards that are finished but wait for earlier ones."""

    def __init__(self, folder: Path, cfg: TransformerConfig, settings: ScanSettings) -> None:
        self._tree, self._folder, self._cfg, self._settings = folder, folder / WORK, cfg, settings
        self.found, self.next = Found.nothing(cfg, settings), 0
        self._saved = 0

    def begin(self, identity: dict[str, Any]) -> None:
        """Take up what is there, or begin.

        Raises:
            ScanError: what is there is of something else, or damaged.
        """
        check_folder(self._tree)
        known = self._folder / IDENTITY
        if known.is_file():
            with refusing_damage(f"{WORK}/{IDENTITY}", f"Delete the folder {WORK}, and scan again."):
                before = read_json(known)
            check_same(before, identity, self._tree)
        else:
            write_whole(known, json.dumps(identity).encode())
        path = self._folder / "state.npz"
        if path.is_file():
            with refusing_damage(f"{WORK}/{path.name}"):
                arrays = unpacked(path.read_bytes(), f"{WORK}/{path.name}")
                self.found = Found.from_arrays(arrays, self._cfg, self._settings)
                self.next = self._saved = int(arrays["next"])
        for leftover in self._folder.glob(f".*{PART}"):
            leftover.unlink()
        self.fold()

    @property
    def documents(self) -> int:
        """How many documents are done."""
        return self.found.counts["documents"] + self.found.counts["skipped"]

    @property
    def warm(self) -> Warm | None:
        """What the warm-up gave, once it is over."""
        path = self._folder / "warm.npz"
        if not path.is_file():
            return None
        with refusing_damage(f"{WORK}/{path.name}"):
            return Warm.from_bytes(path.read_bytes(), f"{WORK}/{path.name}")

    def keep_warm(self, warm: Warm) -> None:
        """Write down what the warm-up gave."""
        write_whole(self._folder / "warm.npz", warm.to_bytes())

    def has(self, number: int) -> bool:
        """Whether a shard is finished."""
        return number < self.next or self._shard(number).is_file()

    def keep(self, number: int, data: bytes) -> None:
        """Write down a finished shard, and fold what is next."""
        write_whole(self._shard(number), data)
        self.fold()

    def fold(self) -> None:
        """Add the finished shards that are next to what was found."""
        while (path := self._shard(self.next)).is_file():
            with refusing_damage(f"{WORK}/{path.name}"):
                arrays = unpacked(path.read_bytes(), f"{WORK}/{path.name}")
                self.found.merge(Found.from_arrays(arrays, self._cfg, self._settings))
            self.next += 1

    def save(self) -> None:
        """Write down what was found, after which the shards in it are not needed any more."""
        if self.next > self._saved:
            write_whole(self._folder / "state.npz", self.found.to_bytes(next=self.next))
            for number in range(self._saved, self.next):
                self._shard(number).unlink(missing_ok=True)
            self._saved = self.next

    def end(self) -> None:
        """The scan is over: the tree says all."""
        clear(self._tree, WORK)

    def _shard(self, number: int) -> Path:
        return self._folder / f"shard-{number:08}.npz"
