"""One shard of a corpus: some documents, processed by a single worker."""

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
from headlight.model.corpus.ablation_effects import ablation_sums
from headlight.model.corpus.calibration import Calibration, calibrate
from headlight.model.corpus.documents import Document
from headlight.model.corpus.figures import Moments
from headlight.model.corpus.gathering import Gatherer
from headlight.model.corpus.measures import measure
from headlight.model.corpus.results import ScanResults
from headlight.model.corpus.samples import Bars
from headlight.model.corpus.sequences import CutSequence, batches, cut, sampling_key
from headlight.model.corpus.settings import ScanSettings
from headlight.model.corpus.watching import UnitGatherer, UnitTap, Watched, watched
from headlight.model.nn.transformer import Transformer
from headlight.model.roles.detectors import is_punctuation
from headlight.model.runs.run import tokenizer_of
from headlight.model.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class Job:
    """A shard's documents with the state at its start; without `calibration` it is a calibration job.

    `ablated` are the documents on which heads are ablated.
    """

    number: int
    documents: tuple[Document, ...]
    ablated: frozenset[int] = frozenset()
    calibration: Calibration | None = None
    bars: Bars | None = None


class Worker:
    """Load a model and process shards with it, on one thread."""

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
        """Neurons and features that are recorded."""
        return watched(self.model, self._settings)

    def __call__(self, job: Job) -> bytes:
        """Process a shard and return its serialised results."""
        with _same_bits():
            if job.calibration is None or job.bars is None:
                sequences = [each for cuts in self._read(job.documents)[0].values() for each in cuts]
                return calibrate(self.model, sequences, self._settings, self.units).to_bytes()
            return self._scanned(job, job.calibration, job.bars).to_bytes()

    def _scanned(self, job: Job, calibration: Calibration, bars: Bars) -> ScanResults:
        """Compute the results of a shard's documents; a document with non-finite numbers is skipped."""
        cuts, skipped = self._read(job.documents)
        while True:
            results, sums = self._measured(cuts, calibration, bars)
            bad = [document for document, each in sums.items() if not np.isfinite(each).all()]
            if not bad:
                break
            for document in bad:
                skipped[document] = "the model's numbers are not finite"
                del cuts[document]
        results.moments = results.moments if not sums else Moments.from_documents(np.stack(list(sums.values())))
        names = {document.index: document.name for document in job.documents}
        results.name_documents(names)
        for document in sorted(skipped):
            results.skip(names[document], skipped[document])
        for document in sorted(job.ablated & cuts.keys()):
            drawn = sampling_key(self._settings.seed, document)
            sequence = cuts[document][drawn % len(cuts[document])]
            results.effects.add(document, drawn, ablation_sums(self.model, sequence.tokens, calibration.means))
        return results

    def _read(self, documents: Sequence[Document]) -> tuple[dict[int, list[CutSequence]], dict[int, str]]:
        """Cut documents into sequences; the second result is why others have none."""
        tokenizer, length = tokenizer_of(self.model), min(self._settings.length, self.model.cfg.n_ctx)
        bos = tokenizer.bos_token_id if self._settings.bos else None
        cuts: dict[int, list[CutSequence]] = {}
        skipped: dict[int, str] = {}
        for document in documents:
            try:
                if document.text is None:
                    raise InputError(document.reason)
                tokens = tokenizer.to_tokens(document.text, parse_special=False)[0].tolist()  # a stranger's text
                if sequences := cut(document.index, document.name, tokens, length, bos):
                    cuts[document.index] = sequences
                else:
                    skipped[document.index] = "it has fewer than 2 tokens"
            except InputError as error:
                skipped[document.index] = str(error)
        return cuts, skipped

    def _measured(
        self, cuts: dict[int, list[CutSequence]], calibration: Calibration, bars: Bars
    ) -> tuple[ScanResults, dict[int, Float[np.ndarray, "layer head quantity"]]]:
        """Compute the results of these sequences, and each document's sums."""
        model, settings, sequences = self.model, self._settings, [each for rows in cuts.values() for each in rows]
        results = ScanResults.empty(model.cfg, settings)
        gatherer = Gatherer(results, settings, calibration, bars, sequences)
        of_units = UnitGatherer(results.units, calibration.units, settings.seed, model.cfg.d_vocab)
        is_mark = partial(_is_mark, tokenizer_of(model))
        sums = {document: np.zeros_like(results.moments.totals) for document in cuts}
        for batch in batches(sequences, settings.n_at_once(model.cfg.n_ctx)):
            also = UnitTap(self.units, batch, of_units.see)
            measured = measure(model, batch, is_mark, partial(gatherer.take, batch), also)
            for sequence, each in zip(batch.sequences, measured, strict=True):
                sums[sequence.document] += each
        gatherer.finish()
        of_units.finish()
        n_tokens = sum(len(sequence.tokens) for sequence in sequences)
        results.counts = {"documents": len(cuts), "sequences": len(sequences), "tokens": n_tokens, "skipped": 0}
        return results, sums


@contextmanager
def _same_bits() -> Iterator[None]:
    """Fix the order of sums, and with it their last bits, wherever shards of a scan run on a machine."""
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
