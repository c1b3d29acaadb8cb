"""The state of an unfinished scan on the disk, in the folder `.scan` of its tree.

identity.json   model, corpus and settings
warm.npz        the calibration
shard-*.npz     finished shards that are not merged yet
state.npz       merged results of the shards before number `next`
"""

import json
from pathlib import Path
from typing import Any

from headlight.model.base.files import read_json, remove, remove_parts
from headlight.model.corpus.calibration import Calibration
from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.folder import IDENTITY, WORK, check_folder, clear
from headlight.model.corpus.identity import check_same
from headlight.model.corpus.packing import refusing_damage, unpacked
from headlight.model.corpus.results import ScanResults
from headlight.model.corpus.settings import ScanSettings
from headlight.model.nn.config import TransformerConfig


class State:
    """Merged results so far, and finished shards that wait for earlier ones."""

    def __init__(self, folder: Path, cfg: TransformerConfig, settings: ScanSettings) -> None:
        self._tree, self._folder, self._cfg, self._settings = folder, folder / WORK, cfg, settings
        self.results, self.next = ScanResults.empty(cfg, settings), 0
        self._saved = 0

    def begin(self, identity: dict[str, Any]) -> None:
        """Resume the scan in the folder, or begin a new one.

        Raises:
            ScanError: the folder has another scan, or a damaged one.
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
                self.results = ScanResults.from_arrays(arrays, self._cfg, self._settings)
                self.next = self._saved = int(arrays["next"])
        remove_parts(self._folder)
        self.fold()

    @property
    def documents(self) -> int:
        """Number of completed documents."""
        return self.results.counts["documents"] + self.results.counts["skipped"]

    @property
    def calibration(self) -> Calibration | None:
        """The calibration, None before it is finished."""
        path = self._folder / "warm.npz"
        if not path.is_file():
            return None
        with refusing_damage(f"{WORK}/{path.name}"):
            return Calibration.from_bytes(path.read_bytes(), f"{WORK}/{path.name}")

    def save_calibration(self, calibration: Calibration) -> None:
        """Save the calibration."""
        write_whole(self._folder / "warm.npz", calibration.to_bytes())

    def has(self, number: int) -> bool:
        """Whether a shard is finished."""
        return number < self.next or self._shard(number).is_file()

    def keep(self, number: int, data: bytes) -> None:
        """Save a finished shard, and merge the shards that are next."""
        write_whole(self._shard(number), data)
        self.fold()

    def fold(self) -> None:
        """Merge the finished shards that are next."""
        while (path := self._shard(self.next)).is_file():
            with refusing_damage(f"{WORK}/{path.name}"):
                arrays = unpacked(path.read_bytes(), f"{WORK}/{path.name}")
                self.results.merge(ScanResults.from_arrays(arrays, self._cfg, self._settings))
            self.next += 1

    def save(self) -> None:
        """Save the merged results, and delete the files of the shards in them."""
        if self.next > self._saved:
            write_whole(self._folder / "state.npz", self.results.to_bytes(next=self.next))
            for number in range(self._saved, self.next):
                remove(self._shard(number))
            self._saved = self.next

    def end(self) -> None:
        """Remove the working folder of a finished scan."""
        clear(self._tree, WORK)

    def _shard(self, number: int) -> Path:
        return self._folder / f"shard-{number:08}.npz"
