"""One shard of a corpus: some documents, computed by one worker from the first to the last figure."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
import torch
from jaxtyping import Float

from headlight.model.base.errors import InputError
from headlight.model.checkpoints.loading import load
from headlight.model.compute.backend import settled
from headlight.model.corpus.documents import Document
from headlight.model.corpus.figures import Moments
from headlight.model.corpus.found import Found
from headlight.model.corpus.gathering import Gatherer
from headlight.model.corpus.mattering import effects_on
from headlight.model.corpus.measures import measure
from headlight.model.corpus.samples import Bars
from headlight.model.corpus.sequences import CutSequence, batches, cut, lot
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.warm import Warm, warm_up
from headlight.model.corpus.watching import UnitGatherer, UnitTap, Watched, watched
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.detectors import is_punctuation
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Job:
    """A shard's documents, and what is known when its turn comes; without `warm` it is for the warm-up.

    `ablated` are the documents on which heads are ablated.
    """

    number: int
    documents: tuple[Document, ...]
    ablated: frozenset[int] = frozenset()
    warm: Warm | None = None
    bars: Bars | None = None


class Worker:
    """Opens a model, and computes one shard after the other with it, on one thread."""

    def __init__(self, model: str, settings: ScanSettings) -> None:
        self._name, self._settings = model, settings

    @property
    def on_gpu(self) -> bool:
        """Whether it needs a GPU of its own."""
        return self._settings.device == "cuda"

    @cached_property
    def model(self) -> Transformer:
        """The model, where it is to run."""
        return load(self._name, dtype=self._settings.dtype).to(self._settings.device)

    @cached_property
    def units(self) -> tuple[Watched, ...]:
        """Which neurons and features are watched."""
        return watched(self.model, self._settings)

    def __call__(self, job: Job) -> bytes:
        """What a shard gives, as a file."""
        with _same_bits():
            if job.warm is None or job.bars is None:
                sequences = [each for cuts in self._read(job.documents)[0].values() for each in cuts]
                return warm_up(self.model, sequences, self._settings, self.units).to_bytes()
            return self._scanned(job, job.warm, job.bars).to_bytes()

    def _scanned(self, job: Job, warm: Warm, bars: Bars) -> Found:
        """All that is found in a shard's documents."""
        cuts, skipped = self._read(job.documents)
        while True:
            found, sums = self._measured(cuts, warm, bars)
            bad = [document for document, each in sums.items() if not np.isfinite(each).all()]
            if not bad:
                break
            for document in bad:
                skipped[document] = "the model's numbers are not finite"
                del cuts[document]
        found.moments = found.moments if not sums else Moments.of(np.stack(list(sums.values())))
        names = {document.index: document.name for document in job.documents}
        found.name_documents(names)
        for document in sorted(skipped):
            found.skip(names[document], skipped[document])
        for document in sorted(job.ablated & cuts.keys()):
            drawn = lot(self._settings.seed, document)
            sequence = cuts[document][drawn % len(cuts[document])]
            found.effects.add(document, drawn, effects_on(self.model, sequence.tokens, warm.means))
        return found

    def _read(self, documents: Sequence[Document]) -> tuple[dict[int, list[CutSequence]], dict[int, str]]:
        """The documents' sequences, and why others have none."""
        tokenizer, length = tokenizer_of(self.model), min(self._settings.length, self.model.cfg.n_ctx)
        bos = tokenizer.bos_token_id if self._settings.bos else None
        cuts: dict[int, list[CutSequence]] = {}
        skipped: dict[int, str] = {}
        for document in documents:
            try:
                if document.text is None:
                    raise InputError(document.reason)
                tokens = tokenizer.to_tokens(document.text, parse_special=False)[0].tolist()  # a stranger's text
                if found := cut(document.index, document.name, tokens, length, bos):
                    cuts[document.index] = found
                else:
                    skipped[document.index] = "it has fewer than 2 tokens"
            except InputError as error:
                skipped[document.index] = str(error)
        return cuts, skipped

    def _measured(
        self, cuts: dict[int, list[CutSequence]], warm: Warm, bars: Bars
    ) -> tuple[Found, dict[int, Float[np.ndarray, "layer head quantity"]]]:
        """What is found in some documents' sequences, and each document's sums."""
        model, settings, sequences = self.model, self._settings, [each for rows in cuts.values() for each in rows]
        found = Found.nothing(model.cfg, settings)
        gatherer = Gatherer(found, settings, warm, bars, sequences)
        of_units = UnitGatherer(found.units, warm.units, settings.seed, model.cfg.d_vocab)
        is_mark = partial(_is_mark, tokenizer_of(model))
        sums = {document: np.zeros_like(found.moments.totals) for document in cuts}
        for batch in batches(sequences, settings.n_at_once(model.cfg.n_ctx)):
            also = UnitTap(self.units, batch, of_units.see)
            measured = measure(model, batch, is_mark, partial(gatherer.take, batch), also)
            for sequence, each in zip(batch.sequences, measured, strict=True):
                sums[sequence.document] += each
        gatherer.finish()
        of_units.finish()
        n_tokens = sum(len(sequence.tokens) for sequence in sequences)
        found.counts = {"documents": len(cuts), "sequences": len(sequences), "tokens": n_tokens, "skipped": 0}
        return found, sums


@contextmanager
def _same_bits() -> Iterator[None]:
    """The order of sums, and with it their last bits, is the same wherever shards of a scan run on a machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with settled():
            yield
    finally:
        torch.set_num_threads(threads)


@lru_cache(2**18)  # the tokens of a vocabulary, from one shard to the next
def _is_mark(tokenizer: Tokenizer, token: int) -> bool:
    return is_punctuation(tokenizer.to_string(token))
