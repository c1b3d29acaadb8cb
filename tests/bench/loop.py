"""What a scan is measured against: a plain loop over transformers' attentions that adds up the same figures.

Each figure is one plain expression over all of a batch: the scan's own batches, or one sequence after the other, as
such loops are mostly written. HeadVis's six need the patterns alone, our five also the values, which hooks give.
Nothing else: no intervals, samples, histograms, tokens or pairs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from headlight.model.corpus.sequences import Batch


class Loop:
    """A GPT-2 of transformers, and what of each layer is caught on the way."""

    def __init__(self, path: str, is_mark: Callable[[int], bool], only_six: bool) -> None:
        from transformers import AutoModel

        self._model: Any = AutoModel.from_pretrained(path, attn_implementation="eager").eval()
        self._is_mark, self._only_six = is_mark, only_six
        self._values: list[Tensor] = []
        self._mixed: list[Tensor] = []
        cfg = self._model.config
        self._n_heads, self._d_head = cfg.n_head, cfg.n_embd // cfg.n_head
        for block in self._model.h:
            block.attn.c_attn.register_forward_hook(lambda _, given, out: self._values.append(out.chunk(3, -1)[2]))
            block.attn.c_proj.register_forward_pre_hook(lambda _, given: self._mixed.append(given[0]))
        self.sums = torch.zeros(cfg.n_layer, 6 if only_six else 11, cfg.n_head)

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
            shown = pattern if batch.mask is None else pattern.masked_fill(~seen, 0)
            self.sums[layer, :6] += six(shown, batch)
            if not self._only_six:
                lengths = [self._lengths(layer, each[layer], real) for each in (self._values, self._mixed)]
                stream = out.hidden_states[layer].norm(dim=-1)
                self.sums[layer, 6:] += five(shown, batch, self._is_mark, *lengths, stream)

    def _lengths(self, layer: int, given: Tensor, real: Tensor) -> Tensor:
        """How long what each head makes of these vectors in the stream is: [batch, head, pos]."""
        each = given.unflatten(-1, (self._n_heads, self._d_head)).transpose(1, 2)
        W_O = self._model.h[layer].attn.c_proj.weight.unflatten(0, (self._n_heads, self._d_head))
        return (each @ W_O).norm(dim=-1).masked_fill(~real[:, None], 0)


def six(shown: Tensor, batch: Batch) -> Tensor:
    """HeadVis's figures of one layer."""
    place = torch.arange(shown.shape[-1])
    apart = (place[:, None] - place).abs().float()
    induction = torch.zeros(shown.shape[1])
    for weights, (query, key) in zip(shown, _copies(batch), strict=True):
        found = weights[:, query, key + 1]
        induction += found.masked_fill(found < 0.01, 0).sum(-1)
    return torch.stack(
        [
            shown.diagonal(dim1=-2, dim2=-1).sum((0, 2)),
            shown.diagonal(-1, -2, -1).sum((0, 2)),
            -(shown * shown.clamp(min=1e-38).log()).sum((0, 2, 3)),
            (shown * apart).sum((0, 2, 3)),
            (shown * apart.square()).sum((0, 2, 3)),
            induction,
        ]
    )


def five(
    shown: Tensor, batch: Batch, is_mark: Callable[[int], bool], values: Tensor, writes: Tensor, stream: Tensor
) -> Tensor:
    """Ours of one layer, of how long values and writes are in the stream."""
    place = torch.arange(shown.shape[-1])
    apart = (place[:, None] - place).float()
    duplicate = torch.zeros(shown.shape[1])
    for weights, (query, key) in zip(shown, _copies(batch), strict=True):
        duplicate += weights[:, query, key].sum(-1)
    marks = torch.tensor([[is_mark(token) for token in row] for row in batch.tokens.tolist()])
    written = shown * values[:, :, None]
    return torch.stack(
        [
            duplicate,
            shown[:, :, 1:, 0].sum((0, 2)),
            (shown.tril(-1) * marks[:, None, None]).sum((0, 2, 3)),
            (written * apart).sum((0, 2, 3)) / written.sum((0, 2, 3)),
            (writes / stream[:, None]).sum((0, 2)),
        ]
    )


def _copies(batch: Batch) -> Sequence[tuple[Tensor, Tensor]]:
    """The queries and keys of equal tokens, row by row."""
    rows = [torch.tensor(sequence.tokens) for sequence in batch.sequences]
    found = [(tokens[:, None] == tokens).tril(-1).nonzero(as_tuple=True) for tokens in rows]
    return [(query, key) for query, key in found]
