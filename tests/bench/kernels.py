"""What each of the fast ways in `model/compute` wins: the same work without it, over the work with it, in turns."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from headlight.model import Transformer, load
from headlight.model.compute import backend, products
from headlight.model.decoding import greedy
from headlight.model.nn import attention_kernel
from headlight.model.nn.hooks import Tap
from headlight.model.nn.layers.norms import LayerNorm, LayerNormPre
from tests.bench.bench import Bench
from tests.bench.figures import Figure, Turns, ratio
from tests.bench.prompt import prompt
from tests.bench.timing import cost

NEVER = 10**9
N_NEW = 8  # tokens written, each of which is one row times all weights


def _plain_norm(norm: LayerNorm, x: Tensor, tap: Tap) -> Tensor:
    return LayerNormPre.forward(norm, x, tap) * norm.w + norm.b


def _plain_rows(x: Tensor, W: Tensor) -> Tensor:
    return backend.backend().multiply(x, W, None)


def _plain_columns(x: Tensor, W: Tensor) -> Tensor:
    return backend.backend().multiply(x, W.T, None)


Without = Callable[[], AbstractContextManager[Any]]
PASS: dict[str, Without] = {
    "a head at a time": lambda: patch.object(attention_kernel, "LONG", NEVER),
    "the fastest product": lambda: patch.object(backend, "_in_use", backend.measured()[0]),
    "q, k and v in one product": lambda: patch.object(products, "_joined", return_value=None),
}
TOKEN: dict[str, Without] = {
    "LayerNorm in one step": lambda: patch.object(LayerNorm, "forward", _plain_norm),
    "weighted rows": lambda: patch.object(products, "_weighted_rows", _plain_rows),
    "dot products in blocks": lambda: patch.object(products, "_dot_products", _plain_columns),
    "the fastest product": PASS["the fastest product"],
    "q, k and v in one product": PASS["q, k and v in one product"],
}


def measure(bench: Bench) -> Iterator[Figure]:
    """Without each way over with all, of a pass over the longest prompt and of writing tokens."""
    model, longest = load(bench.folder), max(bench.setting.lengths)
    d_vocab = model.cfg.d_vocab
    yield from _ratios(f"{longest} tokens", PASS, partial(_run, model, prompt(longest, d_vocab, "cpu")), bench)
    yield from _ratios("a written token", TOKEN, partial(_write, model, prompt(16, d_vocab, "cpu")), bench)


def _run(model: Transformer, tokens: Tensor) -> None:
    model(tokens)


def _write(model: Transformer, tokens: Tensor) -> None:
    greedy(model, tokens, max_new_tokens=N_NEW)


def _ratios(title: str, ways: dict[str, Without], work: Callable[[], None], bench: Bench) -> Iterator[Figure]:
    turns: Turns = {name: [] for name in ("all", *ways)}
    for number in range(bench.setting.rounds + 1):
        for name, costs in turns.items():
            with ExitStack() as stack, torch.inference_mode():
                if name in ways:
                    stack.enter_context(ways[name]())
                spent, _ = cost(work)
            if number:  # the first does not count
                costs.append(spent)
    for name in ways:
        yield ratio("kernels", f"{title}: without {name} / with", turns[name], turns["all"])
