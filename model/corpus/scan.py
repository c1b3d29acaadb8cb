"""A scan: a corpus read as a stream, computed in shards, merged in order, and written as a tree."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice, takewhile
from pathlib import Path
from time import monotonic

from headlight.model.base.errors import ScanError
from headlight.model.corpus.calibration import Calibration, CalibrationPart, merge_parts
from headlight.model.corpus.documents import Corpus, Document
from headlight.model.corpus.engines import Engine
from headlight.model.corpus.folder import WORK, check_folder, identity_of
from headlight.model.corpus.identity import check_same, identity
from headlight.model.corpus.reading import is_tree
from headlight.model.corpus.results import ScanResults
from headlight.model.corpus.sequences import sampling_key
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Job
from headlight.model.corpus.state import State
from headlight.model.corpus.writing import write_tree
from headlight.model.nn.transformer import Transformer

SAVE_EVERY, WRITE_EVERY = 30.0, 120.0  # seconds; a page can open what there is so far


@dataclass(frozen=True)
class Progress:
    """Progress of a scan: documents done, how many of them in this session, and the results so far.

    During calibration, `calibrating` is the number of sequences done.
    """

    documents: int
    fresh: int
    results: ScanResults
    calibrating: int | None = None


Watch = Callable[[Progress], None]


class Scan:
    """One scan in one folder, which goes on where it was when it was stopped."""

    def __init__(self, model: Transformer, corpus: Corpus, settings: ScanSettings, folder: Path) -> None:
        self._model, self._corpus, self._settings, self._folder = model, corpus, settings, folder
        self._identity = identity(model, corpus, settings)
        self._state = State(folder, model.cfg, settings)

    @property
    def is_complete(self) -> bool:
        """Whether the folder holds the finished tree of this very scan.

        Raises:
            ScanError: it holds another scan's, or somebody else's.
        """
        check_folder(self._folder)
        if not is_tree(self._folder) or (self._folder / WORK).is_dir():
            return False
        check_same(identity_of(self._folder) or {}, self._identity, self._folder)
        return True

    def run(self, engine: Engine, watch: Watch = lambda progress: None) -> ScanResults:
        """Scan the rest of the corpus, and write the tree.

        Raises:
            ScanError: the folder is another scan's, the disk is full, or there is nothing in the corpus to scan.
        """
        self._state.begin(self._identity)
        before = self._state.documents
        calibration = self._state.calibration or self._calibrate(engine, watch)
        saved = written = monotonic()
        for number, data in engine.run(self._jobs(calibration)):
            self._state.keep(number, data)
            watch(Progress(self._state.documents, self._state.documents - before, self._state.results))
            if monotonic() - saved > SAVE_EVERY:
                self._state.save()
                saved = monotonic()
            if monotonic() - written > WRITE_EVERY:
                self._write(complete=False)
                written = monotonic()
        self._state.save()
        self._write(complete=True)
        self._state.end()
        return self._state.results

    def _write(self, complete: bool) -> None:
        write_tree(self._folder, self._model, self._state.results, self._settings, self._identity, complete)

    def _calibrate(self, engine: Engine, watch: Watch) -> Calibration:
        """Run shards, from the first on, until they hold enough sequences to calibrate with."""
        parts: dict[int, CalibrationPart] = {}
        jobs = (Job(number, documents) for number, documents in self._shards())
        for number, data in engine.run(jobs):
            parts[number] = CalibrationPart.from_bytes(data, "the calibration")
            if enough := self._enough(parts):
                parts = enough
                break
            watch(Progress(0, 0, self._state.results, sum(len(part.strengths) for part in parts.values())))
        if not any(len(part.strengths) for part in parts.values()):
            raise ScanError(f"{self._corpus.name} holds no text of at least 2 tokens: there is nothing to scan.")
        calibration = merge_parts([parts[number] for number in sorted(parts)], self._settings.intervals)
        self._state.save_calibration(calibration)
        return calibration

    def _enough(self, parts: dict[int, CalibrationPart]) -> dict[int, CalibrationPart] | None:
        """Return the leading shards that together hold enough sequences, whichever finished first."""
        n_sequences = 0
        for number in takewhile(parts.__contains__, count()):
            n_sequences += len(parts[number].strengths)
            if n_sequences >= self._settings.warmup:
                return {each: parts[each] for each in range(number + 1)}
        return None

    def _shards(self) -> Iterator[tuple[int, tuple[Document, ...]]]:
        """The corpus in shards of this many documents."""
        documents = islice(self._corpus.documents(), self._settings.documents or None)
        return enumerate(iter(lambda: tuple(islice(documents, self._settings.shard)), ()))

    def _jobs(self, calibration: Calibration) -> Iterator[Job]:
        """Jobs of the unfinished shards, with the state at the time they are taken."""
        sampling_keys: list[int] = []  # the smallest so far, negative, the largest of them first
        predicts = self._model.cfg.attention_dir == "causal"  # there is a next token
        for number, documents in self._shards():
            ablated = frozenset(
                each.index for each in documents if predicts and self._is_drawn(each.index, sampling_keys)
            )
            if not self._state.has(number):
                yield Job(number, documents, ablated, calibration, self._state.results.samples.bars())

    def _is_drawn(self, document: int, sampling_keys: list[int]) -> bool:
        """Whether a document's sampling key is among the smallest so far; at the end the smallest of all count."""
        drawn = -sampling_key(self._settings.seed, document)
        if len(sampling_keys) < self._settings.ablate:
            heapq.heappush(sampling_keys, drawn)
            return True
        return bool(sampling_keys) and heapq.heappushpop(sampling_keys, drawn) != drawn
