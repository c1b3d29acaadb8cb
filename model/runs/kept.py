"""The activations that a run keeps of its forward pass, with a thumbnail and scores of each pattern."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.measure import Measure, attention
from headlight.model.measure.mean_scores import MeanScores
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits.editing import NO_EDITS, EditTap

THUMBNAIL = 64  # pixels on a side at most
KEPT = ("hook_v", "hook_attn_out", "hook_mlp_out", "hook_conv_out", "_embed", "_post.hook_scale", "_norm.hook_scale")
STREAMS = ("hook_resid_pre", "hook_resid_mid", "hook_resid_post")  # kept where an edit changes them


class Reduce(Tap):
    """Keeps the activations in `KEPT`, queries and keys, and edited streams; of each pattern a thumbnail and scores.

    What is kept is copied, all layers of a kind side by side: left where the pass put them, the kept ones would pin the
    memory of those that passed between them (100 MB at 1024 tokens of GPT-2).
    """

    def __init__(self, tokens: Int[Tensor, " pos"], model: Transformer, editing: EditTap = NO_EDITS) -> None:
        self._n_layers, self._editing, self._mean_scores = model.cfg.n_layers, editing, MeanScores(tokens)
        self._n_pos, self._n_heads = len(tokens), model.cfg.n_heads
        layers = range(model.cfg.n_layers)
        self._compared = {f"blocks.{at}.attn.{name}" for at in layers for name in model.block(at).attn.compared}
        self._shelves: dict[str, Iterator[Tensor]] = {}
        self.kept: dict[str, Tensor] = {}
        self.thumbnails: list[Tensor] = []
        self.scores: list[dict[str, Measure]] = []

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        part = name.rpartition(".")[2]
        if self._keeps(name):
            kind = name.split(".", 2)[-1]  # in whichever layer
            if kind not in self._shelves:
                n_layers = self._n_layers if name.startswith("blocks.") else 1
                dtype = torch.promote_types(activation.dtype, torch.float32)
                self._shelves[kind] = iter(torch.empty(n_layers, *activation.shape[1:], dtype=dtype))
            self.kept[name] = next(self._shelves[kind]).copy_(activation[0])
        elif self._is_edited_stream(name):
            self.kept[name] = activation[0].cpu().clone()
        elif part == "hook_pattern":
            self.thumbnails.append(attention.max_pool(activation[0].cpu(), THUMBNAIL))
            self.scores.append(self._mean_scores(activation[0].cpu()))
        return activation

    def look(self, name: str) -> Look:
        part = name.rpartition(".")[2]
        if part == "hook_pattern":
            return Look.BY_ROWS
        return Look.WHOLE if self._keeps(name) or self._is_edited_stream(name) else Look.NEVER

    def _keeps(self, name: str) -> bool:
        return name.endswith(KEPT) or name in self._compared

    def _is_edited_stream(self, name: str) -> bool:
        return name.endswith(STREAMS) and self._editing.look(name) is not Look.NEVER

    def rows(self, name: str, rows: Float[Tensor, "query key"], head: int, first_query: int) -> None:
        """Reduce some rows of a long prompt: a layer's patterns at once would take 50 MB at 1024 tokens of GPT-2."""
        if not head and not first_query:
            self._columns = rows.new_zeros(self._n_heads, self._n_pos, min(THUMBNAIL, self._n_pos))
            self._sums = torch.zeros(len(self._mean_scores.names), self._n_heads)
        end = first_query + len(rows)
        self._columns[head, first_query:end] = attention.max_pool_keys(rows, self._n_pos, THUMBNAIL)
        self._sums[:, head] += self._mean_scores.sums(rows[None], first_query)[:, 0]
        if head == self._n_heads - 1 and end == self._n_pos:
            self.thumbnails.append(attention.max_pool(self._columns, THUMBNAIL))
            self.scores.append(self._mean_scores.means(self._sums))


def hidden_bins(cfg: TransformerConfig, n_pos: int) -> Bool[Tensor, "*layer rows columns"]:
    """Bins of a thumbnail in which every cell is masked: for all layers or, with windows, for each [layer, 1]."""
    positions = place(cfg.attention_dir, None, n_pos, torch.device("cpu"))
    if cfg.window_size is None:
        return ~attention.max_pool(positions.mask[0, 0], THUMBNAIL)
    masks = [positions.mask_within(cfg.window(layer))[0] for layer in range(cfg.n_layers)]
    return ~attention.max_pool(torch.stack(masks), THUMBNAIL)
