"""A scan: a corpus read as a stream, computed in shards, merged in order, and written as a tree."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, islice, takewhile
from pathlib import Path
from time import monotonic

from headlight.model.base.errors import ScanError
from headlight.model.corpus.documents import Corpus, Document
from headlight.model.corpus.engines import Engine
from headlight.model.corpus.folder import WORK, check_folder, identity_of
from headlight.model.corpus.found import Found
from headlight.model.corpus.identity import check_same, identity
from headlight.model.corpus.reading import is_tree
from headlight.model.corpus.sequences import lot
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.shard import Job
from headlight.model.corpus.state import State
from headlight.model.corpus.warm import Warm, WarmUp, settled
from headlight.model.corpus.writing import write_tree
from headlight.model.nn.transformer import Transformer

SAVE_EVERY, WRITE_EVERY = 30.0, 120.0  # seconds; a page can open what there is so far


@dataclass(frozen=True)
class Progress:
    """How far a scan is: documents done, how many of them since it was taken up, and what was found.

    While the warm-up goes on, `warming` says how many sequences of it are done.
    """

    documents: int
    fresh: int
    found: Found
    warming: int | None = None


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

    def run(self, engine: Engine, watch: Watch = lambda progress: None) -> Found:
        """Scan what is left of the corpus, and write the tree.

        Raises:
            ScanError: the folder is another scan's, the disk is full, or there is nothing in the corpus to scan.
        """
        self._state.begin(self._identity)
        before = self._state.documents
        warm = self._state.warm or self._warmed(engine, watch)
        saved = written = monotonic()
        for number, data in engine.run(self._jobs(warm)):
            self._state.keep(number, data)
            watch(Progress(self._state.documents, self._state.documents - before, self._state.found))
            if monotonic() - saved > SAVE_EVERY:
                self._state.save()
                saved = monotonic()
            if monotonic() - written > WRITE_EVERY:
                self._write(complete=False)
                written = monotonic()
        self._state.save()
        self._write(complete=True)
        self._state.end()
        return self._state.found

    def _write(self, complete: bool) -> None:
        write_tree(self._folder, self._model, self._state.found, self._settings, self._identity, complete)

    def _warmed(self, engine: Engine, watch: Watch) -> Warm:
        """The warm-up: shards from the first on, until they hold enough sequences."""
        parts: dict[int, WarmUp] = {}
        jobs = (Job(number, documents) for number, documents in self._shards())
        for number, data in engine.run(jobs):
            parts[number] = WarmUp.from_bytes(data, "the warm-up")
            if enough := self._enough(parts):
                parts = enough
                break
            watch(Progress(0, 0, self._state.found, sum(len(part.strengths) for part in parts.values())))
        if not any(len(part.strengths) for part in parts.values()):
            raise ScanError(f"{self._corpus.name} holds no text of at least 2 tokens: there is nothing to scan.")
        warm = settled([parts[number] for number in sorted(parts)], self._settings.intervals)
        self._state.keep_warm(warm)
        return warm

    def _enough(self, parts: dict[int, WarmUp]) -> dict[int, WarmUp] | None:
        """The first shards that together hold as many sequences as are asked for, whichever came first."""
        n_sequences = 0
        for number in takewhile(parts.__contains__, count()):
            n_sequences += len(parts[number].strengths)
            if n_sequences >= self._settings.warmup:
                return {each: parts[each] for each in range(number + 1)}
        return None

    def _shards(self) -> Iterator[tuple[int, tuple[Document, ...]]]:
        """The corpus in shards of so many documents."""
        documents = islice(self._corpus.documents(), self._settings.documents or None)
        return enumerate(iter(lambda: tuple(islice(documents, self._settings.shard)), ()))

    def _jobs(self, warm: Warm) -> Iterator[Job]:
        """The shards that are not finished yet, each with what is known when it is taken."""
        lots: list[int] = []  # the smallest so far, negative, the largest of them first
        predicts = self._model.cfg.attention_dir == "causal"  # there is a next token
        for number, documents in self._shards():
            ablated = frozenset(each.index for each in documents if predicts and self._is_drawn(each.index, lots))
            if not self._state.has(number):
                yield Job(number, documents, ablated, warm, self._state.found.samples.bars())

    def _is_drawn(self, document: int, lots: list[int]) -> bool:
        """Whether a document's lot is among the smallest so far; in the end those among the smallest of all count."""
        drawn = -lot(self._settings.seed, document)
        if len(lots) < self._settings.ablate:
            heapq.heappush(lots, drawn)
            return True
        return bool(lots) and heapq.heappushpop(lots, drawn) != drawn
