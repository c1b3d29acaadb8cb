"""Logit lens: the model's predictions if it stopped after each layer.

All layers' logits are never in memory at once: they are computed once, a tile of positions x vocabulary at a time. All
layers of a position are in the same tile, because they are compared with the last one's distribution.

Following tokens is apart from reading the layers: what is expensive does not depend on the token.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import HeadlightError
from headlight.model.lens.best_words import BestWords
from headlight.model.measure import Measure
from headlight.model.measure.best import at_most

# A tile of logits: 4 MB in float32, so that the passes over it after the matrix product find it in the cache.
ROWS, WORDS = 512, 2048

Rows = Float[Tensor, "row d_model"]
Streams = Iterable[Float[Tensor, "pos d_model"]]
Normalize = Callable[[Rows], Rows]
Words = Float[Tensor, "d_model word"]
Bias = Float[Tensor, " word"]
Multiply = Callable[[Rows, Words, Bias], Float[Tensor, "row word"]]


def multiply_by_torch(rows: Rows, W: Words, b: Bias) -> Float[Tensor, "row word"]:
    """rows @ W + b; `headlight.model.compute.affine` takes the machine's fastest product."""
    return torch.addmm(b, rows, W)


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The lens at every layer and position, layers in order and the final distribution last.

    - top_tokens, top_probs [layer, pos, k]: the most probable token ids, best first, and their probabilities.
    - log_normalizer [layer, pos]: log of the sum of exp(logit) over the vocabulary, in nats; log p = logit - this.
    - final_probs [layer, pos]: probability of the final answer, the last layer's best token at that position.
    - entropy [layer, pos]: of the layer's distribution, in nats.
    - kl_from_final [layer, pos]: KL(final || layer) in nats, what is lost by taking the layer's distribution for the
      final one.
    """

    top_tokens: Measure
    top_probs: Measure
    log_normalizer: Measure
    final_probs: Measure
    entropy: Measure
    kl_from_final: Measure


@torch.no_grad()
def logit_lens(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_embed d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    k: int = 10,
    multiply: Multiply = multiply_by_torch,
    soft_cap: float | None = None,
) -> LogitLens:
    """Read every layer's residual stream through the final norm and the unembedding.

    `resid` ends with the stream that the model itself unembeds. `normalize` is the final norm, gain and bias included.
    A `soft_cap` c makes c tanh(x / c) of every logit x.
    Tokens of equal probability are listed lowest id first; a vocabulary of fewer than k is listed whole.

    Raises:
        InputError: k is below 1.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens". The KL divergence has the direction of Belrose et
    al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned Lens".
    """
    k = at_most(k, len(b_U))
    blocks = [_read(rows, _Unembed(W_U, b_U, multiply, soft_cap), k) for rows, _ in _blocks(resid, normalize)]
    top_tokens, top_probs, log_normalizer, final_probs, entropy, kl = (
        torch.cat(parts, dim=1) for parts in zip(*blocks, strict=True)
    )
    axes = ("layer", "pos")
    return LogitLens(
        top_tokens=Measure("top tokens", "token id", (*axes, "k"), top_tokens),
        top_probs=Measure("top probability", "probability", (*axes, "k"), top_probs),
        log_normalizer=Measure("log normalizer", "nats", axes, log_normalizer),
        final_probs=Measure("probability of the final answer", "probability", axes, final_probs),
        entropy=Measure("entropy", "nats", axes, entropy),
        kl_from_final=Measure("KL(final || layer)", "nats", axes, kl),
    )


def joined(parts: Sequence[LogitLens]) -> LogitLens:
    """The lens of positions that were read some at a time, one part after the other."""
    first = vars(parts[0]).items()
    values = {name: torch.cat([vars(part)[name].values for part in parts], dim=1) for name, _ in first}
    return LogitLens(**{name: replace(each, values=values[name]) for name, each in first})


def at(read: LogitLens, index: int) -> LogitLens:
    """The lens of one position alone, by its place among those that were read."""
    return LogitLens(
        **{name: replace(each, values=each.values[:, index : index + 1]) for name, each in vars(read).items()}
    )


def unread(like: LogitLens, n_layers: int, n_pos: int) -> LogitLens:
    """The lens of layers and positions that are not read: as many tokens each, all -1; all else not a number."""
    return LogitLens(**{name: nothing(each, n_layers, n_pos) for name, each in vars(like).items()})


def nothing(like: Measure, n_layers: int, n_pos: int) -> Measure:
    """A measure of layers and positions that are not read: -1, or not a number."""
    fill = math.nan if like.values.is_floating_point() else -1
    return replace(like, values=like.values.new_full((n_layers, n_pos, *like.values.shape[2:]), fill))


@torch.no_grad()
def chosen_probabilities(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_embed d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    log_normalizer: Measure,
    chosen: Int[Tensor, "pos chosen"],
    soft_cap: float | None = None,
) -> Measure:
    """The probability of each position's chosen token ids at every layer [layer, pos, chosen].

    With the lens's `log_normalizer` no other token's logit is needed.

    Raises:
        HeadlightError: a chosen token is outside the vocabulary.
    """
    _check_chosen(len(b_U), chosen)
    unembed = _Unembed(W_U, b_U, multiply_by_torch, soft_cap)
    logits = [unembed.chosen(rows, chosen[here]) for rows, here in _blocks(resid, normalize)]
    log_probs = torch.cat(logits, dim=1) - log_normalizer.values[..., None]
    # Two products of different shape round differently; by that a certain token could get above 1.
    return Measure("probability", "probability", ("layer", "pos", "chosen"), log_probs.clamp_max(0).exp())


@torch.no_grad()
def chosen_ranks(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_embed d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"],
    multiply: Multiply = multiply_by_torch,
) -> Measure:
    """1 plus the number of tokens more probable than each position's chosen ids, at every layer [layer, pos, chosen].

    A rank takes all logits of its position: give `resid` only the positions that are wanted.

    Raises:
        HeadlightError: a chosen token is outside the vocabulary.
    """
    _check_chosen(len(b_U), chosen)
    unembed = _Unembed(W_U, b_U, multiply)  # a soft cap changes no rank
    ranks = torch.cat([_rank(rows, unembed, chosen[here]) for rows, here in _blocks(resid, normalize)], dim=1)
    return Measure("rank", "rank", ("layer", "pos", "chosen"), ranks)


def _blocks(resid: Streams, normalize: Normalize) -> Iterator[tuple[Float[Tensor, "layer some d_model"], slice]]:
    """All layers' normalised streams at some positions at a time, and which."""
    streams = list(resid)
    step = max(1, ROWS // len(streams))
    for start in range(0, len(streams[0]), step):
        here = slice(start, start + step)
        normalized = normalize(torch.cat([stream[here] for stream in streams]))
        yield normalized.reshape(len(streams), -1, normalized.shape[-1]), here


class _Unembed(NamedTuple):
    """The unembedding, what multiplies with it, and what the logits stay below."""

    W_U: Float[Tensor, "d_model d_vocab"]
    b_U: Float[Tensor, " d_vocab"]
    multiply: Multiply
    soft_cap: float | None = None

    def tiles(
        self, normalized: Float[Tensor, "layer pos d_model"]
    ) -> Iterator[tuple[int, Float[Tensor, "layer pos word"]]]:
        """The logits of some words at a time, and the id of the first."""
        rows = normalized.flatten(0, 1)
        for first in range(0, len(self.b_U), WORDS):
            words = slice(first, first + WORDS)
            logits = self.multiply(rows, self.W_U[:, words], self.b_U[words]).view(*normalized.shape[:2], -1)
            yield first, self._capped(logits)

    def chosen(
        self, normalized: Float[Tensor, "layer pos d_model"], ids: Int[Tensor, "pos chosen"]
    ) -> Float[Tensor, "layer pos chosen"]:
        """The logits of each position's own words."""
        logits = torch.einsum("lpd,dpc->lpc", normalized, self.W_U[:, ids].to(normalized.dtype)) + self.b_U[ids]
        return self._capped(logits)

    def _capped(self, logits: Float[Tensor, "layer pos word"]) -> Float[Tensor, "layer pos word"]:
        return logits if self.soft_cap is None else self.soft_cap * (logits / self.soft_cap).tanh()


def _check_chosen(d_vocab: int, chosen: Int[Tensor, "pos chosen"]) -> None:
    outside = chosen[(chosen < 0) | (chosen >= d_vocab)]
    if outside.numel():
        raise HeadlightError(f"Token id {outside[0].item()} was chosen; choose ids from 0 to {d_vocab - 1}.")


def _read(normalized: Float[Tensor, "layer pos d_model"], unembed: _Unembed, k: int) -> tuple[Tensor, ...]:
    """The fields of `LogitLens` for some positions, by one pass over the vocabulary."""
    n_layers, n_pos, _ = normalized.shape
    best, summaries = BestWords(k, normalized.new_full((n_layers * n_pos,), -torch.inf)), []
    for first, logits in unembed.tiles(normalized):
        peaks = best.look_at(logits.flatten(0, 1), first)
        summaries.append(_summarise(logits, peaks.view(n_layers, n_pos)))
    log_normalizer, entropy, kl = _combine(torch.stack(summaries, dim=1))
    top_ids, top_logits = (each.view(n_layers, n_pos, k) for each in best.top_k())
    final_logits = unembed.chosen(normalized, top_ids[-1, :, :1])[..., 0]
    # Two products of different shape round differently; by that a certain token could get above 1.
    final_probs = (final_logits - log_normalizer).clamp_max(0).exp()
    return top_ids, (top_logits - log_normalizer[..., None]).exp(), log_normalizer, final_probs, entropy, kl


def _rank(
    normalized: Float[Tensor, "layer pos d_model"], unembed: _Unembed, chosen: Int[Tensor, "pos chosen"]
) -> Int[Tensor, "layer pos chosen"]:
    """The chosen tokens' ranks at some positions, by one pass over the vocabulary."""
    own_logits = unembed.chosen(normalized, chosen)
    ranks = torch.ones_like(own_logits, dtype=torch.long)
    for first, logits in unembed.tiles(normalized):
        _overwrite(logits, chosen - first, own_logits)
        for i, own in enumerate(own_logits.unbind(-1)):
            ranks[..., i] += (logits > own[..., None]).sum(dim=-1)
    return ranks


def _overwrite(
    logits: Float[Tensor, "layer pos word"],
    chosen: Int[Tensor, "pos chosen"],
    values: Float[Tensor, "layer pos chosen"],
) -> None:
    """Give the chosen words in this tile the logits they have outside it.

    Two products of different shape round differently; by that a token could outrank itself.
    """
    pos, i = ((chosen >= 0) & (chosen < logits.shape[-1])).nonzero(as_tuple=True)
    logits[:, pos, chosen[pos, i]] = values[:, pos, i]


def _summarise(
    logits: Float[Tensor, "layer pos word"], peak: Float[Tensor, "layer pos"]
) -> Float[Tensor, "3 layer pos"]:
    """Of the softmax over this tile's words alone: log of its denominator, entropy, KL(last layer || layer).

    Overwrites `logits`: another tile of fresh memory would cost more than the arithmetic.
    """
    shifted = logits.sub_(peak[..., None])
    weights = shifted.exp()
    total = weights.sum(dim=-1)
    cross_entropy = total.log() - torch.einsum("pw,lpw->lp", weights[-1], shifted) / total[-1]
    entropy = total.log() - shifted.mul_(weights).sum(dim=-1) / total
    return torch.stack([peak + total.log(), entropy, cross_entropy - entropy[-1]])


def _combine(tiles: Float[Tensor, "3 tile layer pos"]) -> tuple[Tensor, Tensor, Tensor]:
    """The three numbers of the whole vocabulary from its tiles, by the chain rules of entropy and of KL divergence.

    A word is drawn by drawing its tile, then the word in it: H = H(tile) + sum over tiles of p(tile) H(word | tile),
    and likewise KL.

    Source: Cover and Thomas 2006, "Elements of Information Theory", theorems 2.5.1 and 2.5.3.
    """
    log_total, entropy, kl = tiles
    log_all = log_total.logsumexp(dim=0)
    log_p = log_total - log_all
    final_log_p = log_p[:, -1:]
    entropy = (log_p.exp() * (entropy - log_p)).sum(dim=0)
    kl = (final_log_p.exp() * (kl + final_log_p - log_p)).sum(dim=0)
    # Rounding alone can make it negative.
    return log_all, entropy, kl.clamp_min(0)
