"""What a scan is measured against: a plain loop over transformers' attentions that finds the same.

Each figure is one plain expression over all of a batch: the scan's own batches, or one sequence after the other, as
such loops are mostly written. HeadVis's six need the patterns alone; our five, of which one is a ratio of two sums,
also the values, which hooks give; and `Gathered` is what else a scan has of each head.
"""

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from headlight.model.corpus.counts import MIN_PAIR_WEIGHT
from headlight.model.corpus.results import BINS, DISTANCES
from headlight.model.corpus.sequences import Batch
from headlight.model.corpus.settings import ScanSettings

What = Literal["six", "eleven", "all"]
# The sums of a head, in order; each is of all queries, but for where a scan's figure is of some.
SUMS = ("self", "previous", "entropy", "distance", "squared_distance", "induction")
OUR_SUMS = ("duplicate", "first", "punctuation", "written", "written_distance", "write_share")


class Loop:
    """A GPT-2 of transformers, and what of each layer is caught on the way: `sums` is [layer, sum, head]."""

    def __init__(self, path: str, is_mark: Callable[[int], bool], what: What) -> None:
        from transformers import AutoModel

        self._model: Any = AutoModel.from_pretrained(path, attn_implementation="eager").eval()
        self._is_mark, self._only_six = is_mark, what == "six"
        self._values: list[Tensor] = []
        self._mixed: list[Tensor] = []
        cfg = self._model.config
        self._n_heads, self._d_head = cfg.n_head, cfg.n_embd // cfg.n_head
        if not self._only_six:
            for block in self._model.h:
                block.attn.c_attn.register_forward_hook(lambda _, inputs, out: self._values.append(out.chunk(3, -1)[2]))
                block.attn.c_proj.register_forward_pre_hook(lambda _, inputs: self._mixed.append(inputs[0]))
        n_sums = len(SUMS) + (0 if self._only_six else len(OUR_SUMS))
        self.sums = torch.zeros(cfg.n_layer, n_sums, cfg.n_head)
        self.gathered = Gathered(cfg.n_layer, cfg.n_head, cfg.vocab_size) if what == "all" else None

    @torch.inference_mode()
    def add(self, batch: Batch) -> None:
        """Add a batch's figures up."""
        self._values.clear()
        self._mixed.clear()
        out = self._model(
            batch.tokens,
            attention_mask=batch.mask,
            output_attentions=True,
            output_hidden_states=not self._only_six,
            use_cache=False,
        )
        real = torch.ones_like(batch.tokens, dtype=torch.bool) if batch.mask is None else batch.mask.bool()
        for layer, pattern in enumerate(out.attentions):
            seen = real[:, None, :, None] & real[:, None, None, :]
            weights = pattern if batch.mask is None else pattern.masked_fill(~seen, 0)
            figures = six(weights, batch)
            if not self._only_six:
                lengths = [self._lengths(layer, each[layer], real) for each in (self._values, self._mixed)]
                stream = out.hidden_states[layer].norm(dim=-1)
                figures += five(weights, batch, self._is_mark, *lengths, stream)
            stacked = torch.stack(figures)
            self.sums[layer] += stacked.sum(1)
            if self.gathered is not None:
                self.gathered.add(layer, weights, batch, stacked)

    def _lengths(self, layer: int, inputs: Tensor, real: Tensor) -> Tensor:
        """How long what each head makes of these vectors in the stream is: [batch, head, pos]."""
        each = inputs.unflatten(-1, (self._n_heads, self._d_head)).transpose(1, 2)
        W_O = self._model.h[layer].attn.c_proj.weight.unflatten(0, (self._n_heads, self._d_head))
        return (each @ W_O).norm(dim=-1).masked_fill(~real[:, None], 0)


class Gathered:
    """Each document's sums, for intervals; histograms; weight by token and by pair; and sequences, some a bucket."""

    def __init__(self, n_layers: int, n_heads: int, d_vocab: int) -> None:
        heads, settings = (n_layers, n_heads), ScanSettings()
        self.documents: dict[int, Tensor] = defaultdict(lambda: torch.zeros(n_layers, len(SUMS + OUR_SUMS), n_heads))
        self.distances = torch.zeros(*heads, len(DISTANCES) - 1)
        self.strengths = torch.zeros(*heads, BINS)
        self.tokens = torch.zeros(2, *heads, d_vocab)
        self.pairs: dict[tuple[int, int], Counter[tuple[int, int]]] = defaultdict(Counter)
        self._kept: dict[tuple[int, int, int], list[Any]] = defaultdict(list)
        self._counts: Counter[tuple[int, int, int]] = Counter()
        self._edges = torch.tensor(DISTANCES[1:-1])
        self._settings, self._random = settings, random.Random(0)

    def add(self, layer: int, pattern: Tensor, batch: Batch, figures: Tensor) -> None:
        """Add a layer's patterns on a batch, and its sums, [sum, row, head]."""
        for row, sequence in enumerate(batch.sequences):
            self.documents[sequence.document][layer] += figures[:, row]
        place = torch.arange(pattern.shape[-1])
        bins = torch.bucketize((place[:, None] - place).clamp(min=0), self._edges, right=True)
        self.distances[layer].index_add_(1, bins.flatten(), pattern.sum(0).flatten(1))
        later = pattern[:, :, 1:, 1:]
        weights, keys = later.max(-1)
        strengths = weights.amax(-1)
        for head, each in enumerate(strengths.T):
            self.strengths[layer, head] += torch.histc(each, BINS, 0, 1)
        tokens = batch.tokens[:, 1:]
        for side, sums in enumerate((later.sum(-1), later.sum(-2))):
            self.tokens[side, layer].index_add_(1, tokens.flatten(), sums.transpose(0, 1).flatten(1))
        row, head, query = (weights >= MIN_PAIR_WEIGHT).nonzero(as_tuple=True)
        of_query, of_key = tokens[row, query], tokens[row, keys[row, head, query]]
        columns = head, of_query, of_key, weights[row, head, query]
        for number, *pair, weight in zip(*(each.tolist() for each in columns), strict=True):
            self.pairs[layer, number][tuple(pair)] += weight
        for row, sequence in enumerate(batch.sequences):
            for head, strength in enumerate(strengths[row].tolist()):
                self._sample(layer, head, strength, pattern[row, head], sequence.identity)

    def _sample(self, layer: int, head: int, strength: float, pattern: Tensor, identity: int) -> None:
        """Keep a sequence if it is among the strongest, or is drawn among those of its bucket."""
        settings = self._settings
        slot = layer, head, min(int(strength * settings.intervals), settings.intervals - 1)
        kept, is_last = self._kept[slot], slot[2] == settings.intervals - 1
        self._counts[slot] += 1
        room = settings.top if is_last else settings.others
        place = len(kept) if len(kept) < room else self._random.randrange(self._counts[slot])
        if (len(kept) == room and strength <= kept[0][0]) if is_last else place >= room:
            return
        sample = (strength, identity, pattern.topk(min(settings.per_row, len(pattern))))
        if len(kept) < room:
            heapq.heappush(kept, sample)
        elif is_last:
            heapq.heapreplace(kept, sample)
        else:
            kept[place] = sample


def six(pattern: Tensor, batch: Batch) -> list[Tensor]:
    """The sums of HeadVis's figures in one layer, each [row, head]."""
    place = torch.arange(pattern.shape[-1])
    apart = (place[:, None] - place).abs().float()
    after = [weights[:, query, key + 1] for weights, (query, key) in zip(pattern, _copies(batch), strict=True)]
    return [
        pattern.diagonal(dim1=-2, dim2=-1).sum(-1),
        pattern.diagonal(-1, -2, -1).sum(-1),
        -(pattern * pattern.clamp(min=1e-38).log()).sum((-2, -1)),
        (pattern * apart).sum((-2, -1)),
        (pattern * apart.square()).sum((-2, -1)),
        torch.stack([weights.masked_fill(weights < 0.01, 0).sum(-1) for weights in after]),
    ]


def five(
    pattern: Tensor, batch: Batch, is_mark: Callable[[int], bool], values: Tensor, writes: Tensor, stream: Tensor
) -> list[Tensor]:
    """The sums of ours, of how long values and writes are in the stream."""
    place = torch.arange(pattern.shape[-1])
    apart = (place[:, None] - place).float()
    same = [weights[:, query, key].sum(-1) for weights, (query, key) in zip(pattern, _copies(batch), strict=True)]
    marks = torch.tensor([[is_mark(token) for token in row] for row in batch.tokens.tolist()])
    written = pattern * values[:, :, None]
    return [
        torch.stack(same),
        pattern[:, :, 1:, 0].sum(-1),
        (pattern.tril(-1) * marks[:, None, None]).sum((-2, -1)),
        written.sum((-2, -1)),
        (written * apart).sum((-2, -1)),
        (writes / stream[:, None]).sum(-1),
    ]


def _copies(batch: Batch) -> Sequence[tuple[Tensor, Tensor]]:
    """The queries and keys of equal tokens, row by row."""
    rows = [torch.tensor(sequence.tokens) for sequence in batch.sequences]
    pairs = [(tokens[:, None] == tokens).tril(-1).nonzero(as_tuple=True) for tokens in rows]
    return [(query, key) for query, key in pairs]
