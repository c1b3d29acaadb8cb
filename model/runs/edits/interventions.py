"""Interventions as taps: cut one edge of a head's pattern, or replace a head's whole output.

They act on every row of the batch. `abreast` lets several of them run side by side, each on a row of its own.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import Edit, HookPoint, Look, Tap
from headlight.model.runs.edits.kinds import Ablation


def cut_edge(layer: int, head: int, query: int, key: int, renormalise: bool = False, n_past: int = 0) -> Tap:
    """The tap that sets one entry of a head's pattern to zero, so that the query takes nothing from that key.

    Row = query, column = key, both counted from the first token; `n_past` positions were run before. With
    `renormalise` the row's other weights are rescaled to sum to 1; a row in which nothing remains stays zero.
    """

    def cut(pattern: Float[Tensor, "batch head query key"], hook: HookPoint) -> None:
        row = pattern[:, head, query - n_past]
        row[:, key] = 0
        if renormalise:
            total = row.sum(-1, keepdim=True)
            row /= torch.where(total > 0, total, 1)

    return Edit([((f"blocks.{layer}.attn.hook_pattern",), cut)])


def ablate_head(
    layer: int,
    head: int,
    mode: Ablation,
    replacement: Float[Tensor, "#pos d_value"] | None = None,
    n_prompt: int | None = None,
) -> Tap:
    """Tap that replaces a head's output (its z, before W_O), in the same mode at every position.

    - zero: nothing.
    - mean: the mean of z over this run's positions, or `replacement` [1, d_value] where the mean is taken elsewhere.
    - resample: `replacement` [pos, d_value], the head's z in another run of as many tokens.

    Where only the first `n_prompt` positions are the prompt's and the others were written behind it, the mean is taken
    over the prompt's alone, and put everywhere.

    Raises:
        InputError: resampling without a replacement, or a replacement of another length.
    """
    if mode == "resample" and replacement is None:
        raise InputError("To resample a head its z in another run is needed: give it as replacement.")

    def ablate(z: Float[Tensor, "batch pos head d_value"], hook: HookPoint) -> None:
        if mode == "zero":
            z[:, :, head] = 0
        elif replacement is None:
            z[:, :, head] = z[:, :n_prompt, head].mean(1, keepdim=True)
        elif len(replacement) not in (1, z.shape[1]):
            raise InputError(
                f"The replacement has {len(replacement)} positions and the run {z.shape[1]}: give one for each "
                "position, or one for all."
            )
        else:
            z[:, :, head] = replacement.to(z)

    return Edit([((f"blocks.{layer}.attn.hook_z",), ablate)])


def put_neuron(
    layer: int, neuron: int, value: float | None, positions: Sequence[int] = (), n_prompt: int | None = None
) -> Tap:
    """The tap that has a neuron give a value at these positions, or at all where none is named.

    Without a value it is the mean of what it gives over the run's positions, or the first `n_prompt` of them.
    """

    def put(post: Float[Tensor, "batch pos d_mlp"], hook: HookPoint) -> None:
        activation = post[:, :n_prompt, neuron].mean(1, keepdim=True) if value is None else value
        post[:, list(positions) or slice(None), neuron] = activation

    return Edit([((f"blocks.{layer}.mlp.hook_post",), put)])


def abreast(taps: Sequence[Tap]) -> Tap:
    """The tap that lets one run of a batch of one go on as several: row i is the result of `taps[i]` alone.

    The batch grows where the first of them acts; what comes before is computed once.
    """
    return _Abreast(taps)


class _Abreast(Tap):
    def __init__(self, taps: Sequence[Tap]) -> None:
        self._taps = taps

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if self.look(name) is Look.NEVER:
            return activation
        rows = activation.expand(len(self._taps), *activation.shape[1:]).split(1)
        return torch.cat([tap(name, row) for tap, row in zip(self._taps, rows, strict=True)])

    def look(self, name: str) -> Look:
        return max(tap.look(name) for tap in self._taps)


def check_head(cfg: TransformerConfig, layer: int, head: int) -> None:
    """Refuse a head that the model does not have.

    Raises:
        InputError: it says which there are.
    """
    if not (0 <= layer < cfg.n_layers and 0 <= head < cfg.n_heads):
        raise InputError(
            f"There is no head L{layer}H{head}: this model has layers 0 to {cfg.n_layers - 1} of heads 0 to "
            f"{cfg.n_heads - 1}. Choose one of these."
        )


def no_neurons(cfg: TransformerConfig) -> str:
    """Why a model's neurons have no layer and number, as a sentence for the user; empty where they have."""
    if cfg.attn_only:
        return "This model has no MLPs, only attention, and so no neurons."
    if cfg.num_experts is not None:
        return (
            "In this model's MLPs each token chooses some of several experts, so that a neuron is one of an expert "
            "that most tokens pass by: neurons have a layer and a number only in MLPs that all tokens share."
        )
    return ""


def check_neuron(cfg: TransformerConfig, layer: int, neuron: int) -> None:
    """Refuse a neuron that the model does not have.

    Raises:
        InputError: it says which there are.
    """
    if reason := no_neurons(cfg):
        raise InputError(reason)
    assert cfg.d_mlp is not None  # filled in by the config
    if not (0 <= layer < cfg.n_layers and 0 <= neuron < cfg.d_mlp):
        raise InputError(
            f"There is no neuron L{layer}N{neuron}: this model has layers 0 to {cfg.n_layers - 1} of neurons 0 to "
            f"{cfg.d_mlp - 1}. Choose one of these."
        )


def check_cell(cfg: TransformerConfig, n_tokens: int, query: int, key: int) -> None:
    """Refuse a cell that is not in the prompt, or that the query may not look at.

    Raises:
        InputError: it says why, and which keys there are.
    """
    for name, position in (("query", query), ("key", key)):
        if not 0 <= position < n_tokens:
            raise InputError(f"There is no {name} {position}: the prompt has tokens 0 to {n_tokens - 1}.")
    if cfg.attention_dir == "causal" and key > query:
        raise InputError(
            f"Query {query} cannot look at key {key}, which comes after it: the cell is above the diagonal, where a "
            f"causal head has no score. Choose a key from 0 to {query}."
        )
