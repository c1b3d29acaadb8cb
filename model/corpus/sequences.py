"""Documents cut into sequences, and sequences put together into batches."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.nn.hooks import Chain, Tap
from headlight.model.nn.transformer import Transformer

LEAST_FILLED, LEAST_BATCH = 3 / 4, 1 / 8  # of a batch's width, and of its tokens: measured on documents of all lengths
SHORTEST = 2  # tokens, of which the second has something to look at
MOST_CUT = 2**20  # sequences of one document, which a sequence's number has room for


@dataclass(frozen=True)
class CutSequence:
    """Some tokens of a document, a beginning-of-sequence token before them if asked for; `start` is the first one's
    place in the document.
    """

    document: int
    name: str
    number: int
    start: int
    tokens: tuple[int, ...]

    @property
    def identity(self) -> int:
        """A number that no other sequence of the corpus has, small enough for a float64 to hold it exactly."""
        return self.document * MOST_CUT + self.number

    def lot(self, seed: int) -> int:
        """The number that this sequence draws: 62 bits that only the seed and its identity decide."""
        return lot(seed, self.identity)


def lot(seed: int, identity: int) -> int:
    """62 bits drawn for something by its number and the seed: the same whoever asks, and whenever."""
    digest = hashlib.blake2b(f"{seed}:{identity}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 2


def cut(document: int, name: str, tokens: Sequence[int], length: int, bos: int | None) -> list[CutSequence]:
    """A document's tokens in sequences of one length, the last as long as what is left.

    The rest is left out where it is too short to look at anything.
    """
    before = () if bos is None else (bos,)
    step = length - len(before)
    cuts = [(start, (*before, *tokens[start : start + step])) for start in range(0, len(tokens), step)][:MOST_CUT]
    whole = [(start, row) for start, row in cuts if len(row) >= SHORTEST]
    return [CutSequence(document, name, number, start, row) for number, (start, row) in enumerate(whole)]


@dataclass(frozen=True, eq=False)
class Batch:
    """Sequences side by side, padded on the right; `real` are the tokens that are no padding."""

    sequences: Sequence[CutSequence]
    tokens: Int[Tensor, "batch pos"]
    lengths: Int[Tensor, " batch"]
    real: Bool[Tensor, "batch pos"]

    @property
    def mask(self) -> Int[Tensor, "batch pos"] | None:
        """1 for real tokens; None where all are."""
        return None if self.real.all() else self.real.long()


def batches(sequences: Sequence[CutSequence], n_tokens: int) -> Iterator[Batch]:
    """The sequences in batches of at most so many tokens with their padding, the long ones first.

    A batch ends earlier where the next sequence would be padded much, unless that leaves too few to be worth a pass.
    """
    some: list[CutSequence] = []
    for sequence in sorted(sequences, key=lambda sequence: -len(sequence.tokens)):
        if some:
            widest = len(some[0].tokens)
            is_short = len(sequence.tokens) < LEAST_FILLED * widest and len(some) * widest >= LEAST_BATCH * n_tokens
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
    """A pass of the model over a batch, as far as to its last layer, for what looks on."""
    device, mask = model.embed.W_E.device, batch.mask
    mask = None if mask is None else mask.to(device)
    with torch.inference_mode():
        model(batch.tokens.to(device), mask, tap=Chain(*taps), stop_at_layer=model.cfg.n_layers)
