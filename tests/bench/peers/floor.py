"""The machine's own limit: the matrix products of a task, or the reading of its weights, and nothing else."""

import json
from functools import cache
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

ROWS, WORDS = 512, 2048  # a tile of logits that stays in the cache


class Peer:
    """Products with random weights of the checkpoint's shapes, their results in memory that is used again."""

    def __init__(self, device: str) -> None:
        self.device = device

    def version(self) -> str:
        return f"torch {torch.__version__}"

    def load(self, folder: str) -> None:
        config = json.loads((Path(folder) / "config.json").read_text())
        self.d_model, d_vocab, self.n_heads = config["n_embd"], config["vocab_size"], config["n_head"]
        widths = [(self.d_model, 3), (self.d_model, 1), (self.d_model, 4), (4 * self.d_model, 1)]  # QKV, O, in, out
        self.layers = [
            [torch.randn(d_in, times * self.d_model, device=self.device) for d_in, times in widths]
            for _ in range(config["n_layer"])
        ]
        self.W_E = torch.randn(d_vocab, self.d_model, device=self.device)
        self.file = next(Path(folder).glob("*.safetensors"))

    @cache  # noqa: B019 (one peer a process)
    def memory(self, n_rows: int, width: int) -> Tensor:
        return torch.randn(n_rows, width, device=self.device)

    def product(self, n_rows: int, W: Tensor) -> None:
        torch.mm(self.memory(n_rows, W.shape[0]), W, out=self.memory(n_rows, W.shape[1]))

    def forward(self, n_tokens: int) -> None:
        """The products of the layers and the unembedding; attention's two are left out."""
        for W in [W for layer in self.layers for W in layer] + [self.W_E.T]:
            self.product(n_tokens, W)

    def lens(self, n_tokens: int) -> None:
        """All layers' streams times the unembedding, a tile at a time."""
        rows = n_tokens * (len(self.layers) + 1)
        tiles = self.W_E.split(WORDS)
        for start in range(0, rows, ROWS):
            for tile in tiles:
                self.product(min(ROWS, rows - start), tile.T)

    def generate(self, n_new: int) -> None:
        """Reads every weight once for each token: none is written faster."""
        for _ in range(n_new):
            for W in [W for layer in self.layers for W in layer] + [self.W_E]:
                W.view(8, -1).sum(1)

    def patching(self, n_tokens: int) -> None:
        """The layers' products, as tall as the variants in flight."""
        for above, layer in enumerate(self.layers[1:], start=1):
            for W in layer:
                self.product(n_tokens * self.n_heads * above, W)

    def read(self) -> None:
        """Every number of the checkpoint's file once, through a map of it as `load` makes one."""
        with safe_open(self.file, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 (it is no dict)
                file.get_tensor(name).aminmax()
