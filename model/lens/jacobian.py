"""The mean Jacobian of the final stream with respect to the stream after each layer, by reverse differentiation."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.hooks import Look, Tap
from headlight.model.nn.transformer import Transformer

SKIP = 16  # first positions, which most heads use as a place to rest and whose streams are like no others
AT_ONCE = 16  # rows of the Jacobians that travel in one batch


class _Watch(Tap):
    """Keeps the states of the stream with their graph, which begins at the first of them."""

    def __init__(self, states: Sequence[int]) -> None:
        self._names = {f"blocks.{state}.hook_resid_pre": state for state in states}
        self.kept: dict[int, Tensor] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name not in self._names:
            return activation
        if not activation.requires_grad:
            activation = activation.detach().requires_grad_()
        self.kept[self._names[name]] = activation
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if name in self._names else Look.NEVER


def prompt_jacobians(
    model: Transformer, tokens: Int[Tensor, " pos"], states: Sequence[int], skip: int = SKIP
) -> dict[int, Float[Tensor, "d_model d_model"]]:
    """One prompt's Jacobians: rows are dimensions of the final stream, columns those of the state.

    Of a position p of the state, the Jacobians of the final stream at all positions from p on are summed; then the mean
    over p is taken. The first `skip` positions and the last one are left out, of both. This is the average that the
    published lenses are made of: a state is also what later positions read.

    Raises:
        InputError: a prompt of no more than `skip` + 1 tokens, or no states.

    Source: Anthropic's `jlens`, `fitting.py`, 2026 (Apache-2.0), which says that it is the reduction of the paper.
    """
    counted = slice(skip, len(tokens) - 1)
    if len(tokens) < skip + 2 or not states:
        raise InputError(
            f"A Jacobian takes a prompt of at least {skip + 2} tokens and one layer; {len(tokens)} tokens and "
            f"{len(states)} layers were passed."
        )
    d_model, jacobians = model.cfg.d_model, {state: list[Tensor]() for state in states}
    watch = _Watch(states)
    with torch.enable_grad():
        final = model(tokens.expand(AT_ONCE, -1), tap=watch, stop_at_layer=model.cfg.n_layers)
        sources = [watch.kept[state] for state in states]
        for first in range(0, d_model, AT_ONCE):
            wanted = _one_hot(final, counted, first)
            gradients = torch.autograd.grad(final, sources, wanted, retain_graph=first + AT_ONCE < d_model)
            for state, gradient in zip(states, gradients, strict=True):
                jacobians[state].append(gradient[: d_model - first, counted].mean(1))
    return {state: torch.cat(rows) for state, rows in jacobians.items()}


def _one_hot(final: Float[Tensor, "row pos d_model"], counted: slice, first: int) -> Float[Tensor, "row pos d_model"]:
    """In each row of the batch one dimension of the final stream, at all positions that count."""
    wanted = torch.zeros_like(final)
    for row, dimension in enumerate(range(first, min(first + len(final), final.shape[-1]))):
        wanted[row, counted, dimension] = 1.0
    return wanted
