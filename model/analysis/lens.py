"""The logit lens: what the model would predict if it stopped after each layer.

The logits of all layers and positions are never held: they are computed once, a tile of positions x vocabulary at a
time. All layers of a position are in the same tile, because the last one's distribution is what they are compared with.

Following tokens is apart from reading the layers: what is expensive does not depend on the token.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.analysis import Measure
from model.errors import HeadlightError

# A tile of logits: 4 MB in float32, so that the passes over it after the matrix product find it in the cache.
ROWS, WORDS = 512, 2048

Rows = Float[Tensor, "row d_model"]
Streams = Iterable[Float[Tensor, "pos d_model"]]
Normalize = Callable[[Rows], Rows]


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The lens at every layer and position, layers in the order given and the final distribution last.

    - top_tokens, top_probs [layer, pos, k]: the most probable token ids, best first, and their probabilities.
    - log_normalizer [layer, pos]: log of the sum of exp(logit) over the vocabulary, in nats; log p = logit - this.
    - entropy [layer, pos]: of the layer's distribution, in nats.
    - kl_from_final [layer, pos]: KL(final || layer) in nats, what is lost by taking the layer's distribution for the
      final one.
    """

    top_tokens: Measure
    top_probs: Measure
    log_normalizer: Measure
    entropy: Measure
    kl_from_final: Measure


@torch.no_grad()
def logit_lens(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    k: int = 10,
) -> LogitLens:
    """Read every layer's residual stream through the final norm and the unembedding.

    `resid` ends with the stream that the model itself unembeds. `normalize` is the final norm, gain and bias included.
    Tokens of equal probability are listed lowest id first.

    Raises:
        HeadlightError: k is outside the vocabulary.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens". The KL divergence has the direction of Belrose et
    al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned Lens".
    """
    if not 1 <= k <= len(b_U):
        raise HeadlightError(f"k is {k}; the vocabulary has {len(b_U)} tokens: ask for 1 to {len(b_U)} top tokens.")
    blocks = [_read(rows, W_U, b_U, k) for rows, _ in _blocks(resid, normalize)]
    top_tokens, top_probs, log_normalizer, entropy, kl = (
        torch.cat(parts, dim=1) for parts in zip(*blocks, strict=True)
    )
    axes = ("layer", "pos")
    return LogitLens(
        top_tokens=Measure("top tokens", "token id", (*axes, "k"), top_tokens),
        top_probs=Measure("top probability", "probability", (*axes, "k"), top_probs),
        log_normalizer=Measure("log normalizer", "nats", axes, log_normalizer),
        entropy=Measure("entropy", "nats", axes, entropy),
        kl_from_final=Measure("KL(final || layer)", "nats", axes, kl),
    )


@torch.no_grad()
def chosen_probabilities(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    log_normalizer: Measure,
    chosen: Int[Tensor, "pos chosen"],
) -> Measure:
    """The probability of each position's chosen token ids at every layer [layer, pos, chosen].

    With the lens's `log_normalizer` no other token's logit is needed.

    Raises:
        HeadlightError: a chosen token is outside the vocabulary.
    """
    _check_chosen(len(b_U), chosen)
    logits = [_chosen_logits(rows, W_U, b_U, chosen[here]) for rows, here in _blocks(resid, normalize)]
    log_probs = torch.cat(logits, dim=1) - log_normalizer.values[..., None]
    # Two products of different shape round differently; by that a certain token could get above 1.
    return Measure("probability", "probability", ("layer", "pos", "chosen"), log_probs.clamp_max(0).exp())


@torch.no_grad()
def chosen_ranks(
    resid: Streams,
    normalize: Normalize,
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"],
) -> Measure:
    """1 plus the number of tokens more probable than each position's chosen ids, at every layer [layer, pos, chosen].

    A rank takes all logits of its position: give `resid` only the positions that are wanted.

    Raises:
        HeadlightError: a chosen token is outside the vocabulary.
    """
    _check_chosen(len(b_U), chosen)
    ranks = torch.cat([_rank(rows, W_U, b_U, chosen[here]) for rows, here in _blocks(resid, normalize)], dim=1)
    return Measure("rank", "rank", ("layer", "pos", "chosen"), ranks)


def _blocks(resid: Streams, normalize: Normalize) -> Iterator[tuple[Float[Tensor, "layer some d_model"], slice]]:
    """All layers' normalised streams at some positions at a time, and which."""
    streams = list(resid)
    step = max(1, ROWS // len(streams))
    for start in range(0, len(streams[0]), step):
        here = slice(start, start + step)
        normalized = normalize(torch.cat([stream[here] for stream in streams]))
        yield normalized.reshape(len(streams), -1, normalized.shape[-1]), here


def _tiles(
    normalized: Float[Tensor, "layer pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
) -> Iterator[tuple[int, Float[Tensor, "layer pos word"]]]:
    """The logits of some words at a time, and the id of the first."""
    for first in range(0, len(b_U), WORDS):
        words = slice(first, first + WORDS)
        yield first, normalized @ W_U[:, words] + b_U[words]


def _check_chosen(d_vocab: int, chosen: Int[Tensor, "pos chosen"]) -> None:
    outside = chosen[(chosen < 0) | (chosen >= d_vocab)]
    if outside.numel():
        raise HeadlightError(f"Token id {outside[0].item()} was chosen; choose ids from 0 to {d_vocab - 1}.")


def _read(
    normalized: Float[Tensor, "layer pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    k: int,
) -> tuple[Tensor, ...]:
    """The fields of `LogitLens` for some positions, by one pass over the vocabulary."""
    top_logits = normalized.new_full((*normalized.shape[:2], k), -torch.inf)
    top_ids = torch.zeros_like(top_logits, dtype=torch.long)
    summaries = []
    for first, logits in _tiles(normalized, W_U, b_U):
        _keep_best(top_logits, top_ids, logits, first)
        summaries.append(_summarise(logits))
    log_normalizer, entropy, kl = _combine(torch.stack(summaries, dim=1))
    return top_ids, (top_logits - log_normalizer[..., None]).exp(), log_normalizer, entropy, kl


def _chosen_logits(
    normalized: Float[Tensor, "layer pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"],
) -> Float[Tensor, "layer pos chosen"]:
    return torch.einsum("lpd,dpc->lpc", normalized, W_U[:, chosen]) + b_U[chosen]


def _rank(
    normalized: Float[Tensor, "layer pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"],
) -> Int[Tensor, "layer pos chosen"]:
    """The chosen tokens' ranks at some positions, by one pass over the vocabulary."""
    own_logits = _chosen_logits(normalized, W_U, b_U, chosen)
    ranks = torch.ones_like(own_logits, dtype=torch.long)
    for first, logits in _tiles(normalized, W_U, b_U):
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


def _keep_best(
    top_logits: Float[Tensor, "layer pos k"],
    top_ids: Int[Tensor, "layer pos k"],
    logits: Float[Tensor, "layer pos word"],
    first: int,
) -> None:
    """Merge a tile whose words start at id `first` into the best so far. Of equal logits the lower id comes first."""
    k = top_logits.shape[-1]
    rows = logits.amax(dim=-1) > top_logits[..., -1]
    found_logits, found_ids = _best(logits[rows], k)
    merged_logits = torch.cat([top_logits[rows], found_logits], dim=-1)
    merged_ids = torch.cat([top_ids[rows], found_ids + first], dim=-1)
    # Stable, and earlier tiles hold the lower ids.
    order = merged_logits.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    top_logits[rows] = merged_logits.gather(-1, order)
    top_ids[rows] = merged_ids.gather(-1, order)


def _best(logits: Float[Tensor, "row word"], k: int) -> tuple[Float[Tensor, "row best"], Int[Tensor, "row best"]]:
    """The k best words of each row, or all if there are fewer. Of equal logits the lower id comes first."""
    # topk leaves the order of equal logits open, so rows that have some among the best k + 1 are sorted in full.
    values, ids = logits.topk(min(k + 1, logits.shape[-1]))
    tied = (values[:, 1:] == values[:, :-1]).any(dim=-1)
    ids[tied] = logits[tied].sort(dim=-1, descending=True, stable=True).indices[:, : ids.shape[-1]]
    return values[:, :k], ids[:, :k]


def _summarise(logits: Float[Tensor, "layer pos word"]) -> Float[Tensor, "3 layer pos"]:
    """Of the softmax over this tile's words alone: log of its denominator, entropy, KL(last layer || layer).

    Overwrites `logits`: another tile of fresh memory would cost more than the arithmetic.
    """
    peak = logits.amax(dim=-1, keepdim=True)
    shifted = logits.sub_(peak)
    weights = shifted.exp()
    total = weights.sum(dim=-1)
    entropy = total.log() - torch.linalg.vecdot(weights, shifted) / total
    cross_entropy = total.log() - torch.linalg.vecdot(weights[-1], shifted) / total[-1]
    return torch.stack([peak.squeeze(-1) + total.log(), entropy, cross_entropy - entropy[-1]])


def _combine(tiles: Float[Tensor, "3 tile layer pos"]) -> tuple[Tensor, Tensor, Tensor]:
    """The same three for the whole vocabulary, by the chain rules of entropy and of the KL divergence.

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
