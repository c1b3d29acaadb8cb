"""Two runs of as many tokens, and variants of one of them in which parts are the other's.

The variants travel as one batch: row 0 is the run itself, and the others join it where they begin to differ from it.
Each is a change of the residual stream, so that a layer's attention is not computed for those that join after it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.cache import ActivationCache
from model.errors import InputError
from model.hooks import NO_TAP, Chain, Collect, Tap
from model.layers import visible_keys
from model.patching.grids import Part, Variant, check_variant, row_bytes
from model.transformer import Transformer

Tokens = Int[Tensor, "1 pos"]
Streams = Float[Tensor, "variant pos d_model"]
Into = Literal["A", "B"]
SAME = 1e-6  # logits; two differences that are closer leave nothing to be shared
AT_ONCE = 2**30  # bytes that variants in flight may take


@dataclass(frozen=True)
class LogitDifference:
    """What is measured: the target's logit less the distractor's (token ids) at a position."""

    target: int
    distractor: int
    position: int


class Patching:
    """Runs A and B, one of which (`into`) is to be patched with what the other computed.

    `a` and `b` are the logit difference in the two runs. Where attention is causal, only the `n_pos` tokens up to the
    position at which it is measured are run: what comes later has no say.

    Raises:
        InputError: prompts of different length, a token or a position that there is not, or no difference between A
            and B of which a share could be taken.
    """

    def __init__(self, model: Transformer, a: Tokens, b: Tokens, asked: LogitDifference, into: Into = "A") -> None:
        _check(model, a, b, asked)
        self.model, self.asked, self.into = model, asked, into
        self.n_pos = asked.position + 1 if model.cfg.attention_dir == "causal" else a.shape[1]
        tokens = torch.cat([a, b] if into == "A" else [b, a])[:, : self.n_pos]
        self.tokens = tokens[:1].to(model.embed.W_E.device)
        self.base, self.source, (base, source) = self._run(tokens.to(model.embed.W_E.device))
        self.a, self.b = (base, source) if into == "A" else (source, base)
        if abs(self.b - self.a) <= SAME:
            raise InputError(
                f"Target less distractor is {self.a:.6f} logits in A and {self.b:.6f} in B: with no difference between "
                "them there is no share of it to measure. Choose another target or distractor, or change B."
            )

    @torch.inference_mode()
    def _run(self, tokens: Int[Tensor, "2 pos"]) -> tuple[ActivationCache, ActivationCache, list[float]]:
        keep, n_layers = Collect(self.names), self.model.cfg.n_layers
        resid = self.model(tokens, tap=keep, stop_at_layer=n_layers)
        base, source = ({name: kept[row] for name, kept in keep.kept.items()} for row in (0, 1))
        return ActivationCache(base, n_layers), ActivationCache(source, n_layers), self.read(resid).tolist()

    @property
    def names(self) -> list[str]:
        """The activations that are kept of both runs."""
        parts = ["hook_resid_pre", "attn.hook_z", "hook_attn_out"]
        parts += [] if self.model.cfg.attn_only else ["hook_mlp_out"]
        return [f"blocks.{layer}.{part}" for layer in range(self.model.cfg.n_layers) for part in parts]

    @property
    def nbytes(self) -> int:
        """What is kept of both runs."""
        return sum(kept.nbytes for cache in (self.base, self.source) for kept in cache.values())

    def read(self, resid: Streams) -> Float[Tensor, " variant"]:
        """Target less distractor of streams after the last layer, of all positions or of the one that is measured."""
        resid = resid[:, [self.asked.position if resid.shape[1] > 1 else 0]]
        pair = [self.asked.target, self.asked.distractor]
        W_U, b_U = self.model.unembed.W_U[:, pair], self.model.unembed.b_U[pair]
        target, distractor = (self.model.ln_final(resid, NO_TAP)[:, 0] @ W_U + b_U).unbind(-1)
        return target - distractor

    def share(self, differences: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """How far logit differences are from A's to B's: 0 at A's, 1 at B's, not clipped."""
        return (differences - self.a) / (self.b - self.a)

    def change(self, part: Part, layer: int) -> Float[Tensor, "pos ..."]:
        """By how much the other run's part differs."""
        return self.source[part, layer] - self.base[part, layer]

    def differences(self, variants: Sequence[Variant], at_once: int = AT_ONCE) -> Float[Tensor, " variant"]:
        """The logit difference of each variant, as many of them in flight as take no more than so many bytes.

        Raises:
            InputError: a variant that there is not, or not even one would fit.
        """
        pieces = [self._differences(piece) for piece in self.pieces(variants, at_once)]
        return torch.cat(pieces) if pieces else torch.empty(0)

    def pieces(self, variants: Sequence[Variant], at_once: int = AT_ONCE) -> Iterator[Sequence[Variant]]:
        """The variants in as many pieces as fit in so many bytes each, with the run itself.

        Raises:
            InputError: as `differences`.
        """
        most = self.most_at_once(at_once)
        for start in range(0, len(variants), most):
            yield variants[start : start + most]

    def most_at_once(self, at_once: int) -> int:
        """How many variants fit in so many bytes, with the run itself.

        Raises:
            InputError: not even one.
        """
        row = row_bytes(self.model.cfg, self.n_pos)
        if at_once < 2 * row:
            raise InputError(
                f"One variant of {self.n_pos} tokens takes about {2 * row / 2**20:,.1f} MiB with the run itself, and "
                f"{at_once / 2**20:,.1f} MiB are allowed. Shorten the prompts or allow more."
            )
        return at_once // row - 1

    @torch.inference_mode()
    def _differences(self, variants: Sequence[Variant]) -> Float[Tensor, " variant"]:
        for variant in variants:
            check_variant(variant, self.model.cfg, self.n_pos)
        order = sorted(range(len(variants)), key=lambda row: self._site(variants[row]))
        joining: dict[str, list[Tensor]] = {}
        for row in order:
            _, _, name = self._site(variants[row])
            joining.setdefault(name, []).append(self._written(variants[row]))
        first = min(variant.layer for variant in variants)
        found = self.run_on(first, {name: torch.stack(rows) for name, rows in joining.items()})
        return torch.empty_like(found).index_copy_(0, torch.tensor(order, device=found.device), found)

    def _site(self, variant: Variant) -> tuple[int, int, str]:
        """Where a variant joins: layer, place in it, and the stream's name there."""
        if variant.part == "resid_pre":
            return variant.layer, 0, f"blocks.{variant.layer}.hook_resid_pre"
        if variant.part == "mlp_out":
            return variant.layer, 2, f"blocks.{variant.layer}.hook_resid_post"
        return variant.layer, 1, self.after_attention(variant.layer)

    def after_attention(self, layer: int) -> str:
        """The name of the stream to which a layer's attention has been added."""
        return f"blocks.{layer}.hook_resid_{'post' if self.model.cfg.attn_only else 'mid'}"

    def _written(self, variant: Variant) -> Float[Tensor, "pos d_model"]:
        """By how much a variant's stream differs where it joins."""
        if variant.part == "z":
            heads = range(self.model.cfg.n_heads) if variant.head is None else [variant.head]
            change = torch.stack([self.head_change(variant.layer, head) for head in heads]).sum(0)
        else:
            change = self.change(variant.part, variant.layer)
        if variant.position is None:
            return change
        alone = torch.zeros_like(change)
        alone[variant.position] = change[variant.position]
        return alone

    def head_change(self, layer: int, head: int) -> Float[Tensor, "pos d_model"]:
        """By how much the stream changes where a head's z is the other run's."""
        W_O = self.model.get_parameter(f"blocks.{layer}.attn.W_O")
        return self.change("z", layer)[:, head] @ W_O[head].to(self.base["z", layer].dtype)

    @torch.inference_mode()
    def run_on(self, layer: int, joining: Mapping[str, Streams], tap: Tap = NO_TAP) -> Float[Tensor, " variant"]:
        """The logit differences of those that join a run that starts at a layer, by the streams' names, in order.

        What joins is how much a variant's stream differs from the run's own there; `tap` sees what the others leave.
        """
        model, last = self.model, self.model.cfg.n_layers - 1
        growing = _Growing(joining, self.after_attention(last), self.asked.position)
        resid = self.base["resid_pre", layer][None]
        visible = visible_keys(model.cfg.attention_dir, None, self.n_pos, resid.device)
        for index in range(layer, last + 1):
            resid = model.blocks[index](resid, visible, Chain(growing, tap).within(f"blocks.{index}"))
        return self.read(resid)[1:]


class _Growing(Tap):
    """Lets variants join the run in row 0; after the last attention only the position that is read goes on."""

    def __init__(self, joining: Mapping[str, Streams], last_attention: str, position: int) -> None:
        self._joining, self._last_attention, self._position = joining, last_attention, position

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        change = self._joining.get(name)
        if change is not None:
            if activation.shape[1] < change.shape[1]:
                change = change[:, [self._position]]
            activation = torch.cat([activation, activation[:1] + change])
        return activation[:, [self._position]] if name == self._last_attention else activation


def _check(model: Transformer, a: Tensor, b: Tensor, asked: LogitDifference) -> None:
    if a.shape != b.shape:
        raise InputError(
            f"A has {a.shape[1]} tokens and B {b.shape[1]}: position by position, one can stand in for the other only "
            "where they have as many. Add or leave out words until they do."
        )
    if not 0 <= asked.position < a.shape[1]:
        raise InputError(f"There is no position {asked.position}: the prompts have tokens 0 to {a.shape[1] - 1}.")
    d_vocab = model.cfg.d_vocab_out or model.cfg.d_vocab
    for name, token in (("target", asked.target), ("distractor", asked.distractor)):
        if not 0 <= token < d_vocab:
            raise InputError(f"The {name} is token {token}; the vocabulary has ids 0 to {d_vocab - 1}.")
    if asked.target == asked.distractor:
        raise InputError("Target and distractor are the same token, so that they never differ. Choose two.")
