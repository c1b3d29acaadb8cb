"""Documents cut into sequences, and sequences put together into batches."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.nn.hooks import Chain, Tap
from headlight.model.nn.transformer import Transformer

MIN_FILLED, MIN_BATCH = 3 / 4, 1 / 8  # of a batch's width, and of its tokens: measured on documents of all lengths
MIN_TOKENS = 2  # tokens, of which the second has something to look at
MAX_SEQUENCES = 2**20  # sequences of one document, which a sequence's number has room for


@dataclass(frozen=True)
class CutSequence:
    """Consecutive tokens of a document, after a beginning-of-sequence token if any; `start` is their position."""

    document: int
    name: str
    number: int
    start: int
    tokens: tuple[int, ...]

    @property
    def identity(self) -> int:
        """A number unique in the corpus, small enough for an exact float64."""
        return self.document * MAX_SEQUENCES + self.number

    def sampling_key(self, seed: int) -> int:
        """Return this sequence's sampling key."""
        return sampling_key(seed, self.identity)


def sampling_key(seed: int, identity: int) -> int:
    """Hash a number with the seed to 62 bits, so that every worker samples the same."""
    digest = hashlib.blake2b(f"{seed}:{identity}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def cut(document: int, name: str, tokens: Sequence[int], length: int, bos: int | None) -> list[CutSequence]:
    """Cut a document's tokens into sequences of one length; the last may be shorter, and is dropped below 2 tokens."""
    before = () if bos is None else (bos,)
    step = length - len(before)
    cuts = [(start, (*before, *tokens[start : start + step])) for start in range(0, len(tokens), step)][:MAX_SEQUENCES]
    whole = [(start, row) for start, row in cuts if len(row) >= MIN_TOKENS]
    return [CutSequence(document, name, number, start, row) for number, (start, row) in enumerate(whole)]


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of sequences, padded on the right; `real` marks the tokens that are not padding."""

    sequences: Sequence[CutSequence]
    tokens: Int[Tensor, "batch pos"]
    lengths: Int[Tensor, " batch"]
    real: Bool[Tensor, "batch pos"]

    @property
    def mask(self) -> Int[Tensor, "batch pos"] | None:
        """1 for real tokens; None where all are."""
        return None if self.real.all() else self.real.long()


def batches(sequences: Sequence[CutSequence], n_tokens: int) -> Iterator[Batch]:
    """Group sequences into batches of at most `n_tokens` with padding, the long ones first.

    A batch ends early where the next sequence would need much padding, unless the batch is still small.
    """
    some: list[CutSequence] = []
    for sequence in sorted(sequences, key=lambda sequence: -len(sequence.tokens)):
        if some:
            widest = len(some[0].tokens)
            is_short = len(sequence.tokens) < MIN_FILLED * widest and len(some) * widest >= MIN_BATCH * n_tokens
            if is_short or (len(some) + 1) * widest > n_tokens:
                yield batch(some)
                some = []
        some.append(sequence)
    if some:
        yield batch(some)


def batch(sequences: Sequence[CutSequence]) -> Batch:
    """Sequences as one batch."""
    lengths = torch.tensor([len(sequence.tokens) for sequence in sequences])
    tokens = torch.zeros(len(sequences), int(lengths.max()), dtype=torch.long)
    for row, sequence in zip(tokens, sequences, strict=True):
        row[: len(sequence.tokens)] = torch.tensor(sequence.tokens)
    return Batch(sequences, tokens, lengths, torch.arange(tokens.shape[1]) < lengths[:, None])


def show(model: Transformer, batch: Batch, *taps: Tap) -> None:
    """Run a batch through all layers with these taps; the logits are not computed."""
    device, mask = model.embed.W_E.device, batch.mask
    mask = None if mask is None else mask.to(device)
    with torch.inference_mode():
        model(batch.tokens.to(device), mask, tap=Chain(*taps), stop_at_layer=model.cfg.n_layers)
