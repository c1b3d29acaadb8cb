"""The activations that a run keeps of its forward pass, with a thumbnail and scores of each pattern."""

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.measure import Measure, attention
from headlight.model.measure.mean_scores import MeanScores, side_by_side
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.layers import place
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits.editing import EditTap

THUMBNAIL = 64  # pixels on a side at most
KEPT = ("hook_v", "hook_attn_out", "hook_mlp_out", "_embed", "_post.hook_scale", "_norm.hook_scale")
STREAMS = ("hook_resid_pre", "hook_resid_mid", "hook_resid_post")  # kept where an edit changes them


class Reduce(Tap):
    """Keeps the activations in `KEPT`, queries and keys, and edited streams; of each pattern a thumbnail and scores.

    What is kept is copied, all layers of a kind side by side: left where the pass put them, the kept ones would pin the
    memory of those that passed between them (100 MB at 1024 tokens of GPT-2).
    """

    def __init__(self, tokens: Int[Tensor, " pos"], model: Transformer, editing: EditTap) -> None:
        self._n_layers, self._editing, self._mean_scores = model.cfg.n_layers, editing, MeanScores(tokens)
        layers = range(model.cfg.n_layers)
        self._compared = {f"blocks.{at}.attn.{name}" for at in layers for name in model.block(at).attn.compared}
        self._shelves: dict[str, Iterator[Tensor]] = {}
        self.kept: dict[str, Tensor] = {}
        self.thumbnails: list[Tensor] = []
        self.scores: list[dict[str, Measure]] = []
        self._n_heads, self._thumbnails, self._scores = model.cfg.n_heads, list[Tensor](), list[dict[str, Measure]]()

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        part = name.rpartition(".")[2]
        if self._keeps(name):
            kind = name.split(".", 2)[-1]  # in whichever layer
            if kind not in self._shelves:
                n_layers = self._n_layers if name.startswith("blocks.") else 1
                self._shelves[kind] = iter(torch.empty(n_layers, *activation.shape[1:]))
            self.kept[name] = next(self._shelves[kind]).copy_(activation[0])
        elif self._is_edited_stream(name):
            self.kept[name] = activation[0].cpu().clone()
        elif part == "hook_pattern" and activation.ndim == 2:
            self._watch(activation)
        elif part == "hook_pattern":
            self.thumbnails.append(attention.max_pool(activation[0].cpu(), THUMBNAIL))
            self.scores.append(self._mean_scores(activation[0].cpu()))
        return activation

    def look(self, name: str) -> Look:
        part = name.rpartition(".")[2]
        if part == "hook_pattern":
            return Look.BY_HEAD
        return Look.WHOLE if self._keeps(name) or self._is_edited_stream(name) else Look.NEVER

    def _keeps(self, name: str) -> bool:
        return name.endswith(KEPT) or name in self._compared

    def _is_edited_stream(self, name: str) -> bool:
        return name.endswith(STREAMS) and self._editing.look(name) is not Look.NEVER

    def _watch(self, pattern: Float[Tensor, "query key"]) -> None:
        """Reduce one head of a long prompt: a layer's patterns at once would take 50 MB at 1024 tokens of GPT-2."""
        self._thumbnails.append(attention.max_pool(pattern, THUMBNAIL))
        self._scores.append(self._mean_scores(pattern[None]))
        if len(self._scores) == self._n_heads:
            self.thumbnails.append(torch.stack(self._thumbnails))
            self.scores.append(side_by_side(self._scores))
            self._thumbnails, self._scores = [], []


def hidden_bins(cfg: TransformerConfig, n_pos: int) -> Bool[Tensor, "*layer rows columns"]:
    """Bins of a thumbnail in which every cell is masked: for all layers or, with windows, for each [layer, 1]."""
    positions = place(cfg.attention_dir, None, n_pos, torch.device("cpu"))
    if cfg.window_size is None:
        return ~attention.max_pool(positions.mask[0, 0], THUMBNAIL)
    masks = [positions.mask_within(cfg.window(layer))[0] for layer in range(cfg.n_layers)]
    return ~attention.max_pool(torch.stack(masks), THUMBNAIL)
