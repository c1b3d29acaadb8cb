"""The logit lens: what the model would predict if it stopped after each layer.

The logits of all layers and positions are never held: they are computed once, a tile of positions x vocabulary at a
time. All layers of a position are in the same tile, because the last one's distribution is what they are compared with.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from model.analysis import Measure
from model.errors import HeadlightError

# A tile of logits: 4 MB in float32, so that the passes over it after the matrix product find it in the cache.
ROWS, WORDS = 512, 2048

Rows = Float[Tensor, "row d_model"]


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The lens at every layer and position, layers in the order given and the final distribution last.

    - top_tokens, top_probs [layer, pos, k]: the most probable token ids, best first, and their probabilities.
    - chosen_probs, chosen_ranks [layer, pos, chosen]: probability of the chosen tokens and their rank, which is 1 plus
      the number of more probable tokens.
    - entropy [layer, pos]: of the layer's distribution, in nats.
    - kl_from_final [layer, pos]: KL(final || layer) in nats, what is lost by taking the layer's distribution for the
      final one.
    """

    top_tokens: Measure
    top_probs: Measure
    chosen_probs: Measure
    chosen_ranks: Measure
    entropy: Measure
    kl_from_final: Measure


@torch.no_grad()
def logit_lens(
    resid: Iterable[Float[Tensor, "pos d_model"]],
    normalize: Callable[[Rows], Rows],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"] | None = None,
    k: int = 10,
) -> LogitLens:
    """Read every layer's residual stream through the final norm and the unembedding.

    `resid` ends with the stream that the model itself unembeds. `normalize` is the final norm, gain and bias included.
    `chosen` holds token ids to follow, a row for each position. Tokens of equal probability are listed lowest id first.

    Raises:
        HeadlightError: k or a chosen token is outside the vocabulary.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens". The KL divergence has the direction of Belrose et
    al. 2023, "Eliciting Latent Predictions from Transformers with the Tuned Lens".
    """
    streams = list(resid)
    n_pos = len(streams[0])
    if chosen is None:
        chosen = torch.empty(n_pos, 0, dtype=torch.long, device=W_U.device)
    _check(len(b_U), chosen, k)
    step = max(1, ROWS // len(streams))
    blocks = []
    for start in range(0, n_pos, step):
        here = slice(start, start + step)
        normalized = normalize(torch.cat([stream[here] for stream in streams]))
        by_layer = normalized.reshape(len(streams), -1, normalized.shape[-1])
        blocks.append(_read(by_layer, W_U, b_U, chosen[here], k))
    top_tokens, top_probs, chosen_probs, chosen_ranks, entropy, kl = (
        torch.cat(parts, dim=1) for parts in zip(*blocks, strict=True)
    )
    axes = ("layer", "pos")
    return LogitLens(
        top_tokens=Measure("top tokens", "token id", (*axes, "k"), top_tokens),
        top_probs=Measure("top probability", "probability", (*axes, "k"), top_probs),
        chosen_probs=Measure("probability", "probability", (*axes, "chosen"), chosen_probs),
        chosen_ranks=Measure("rank", "rank", (*axes, "chosen"), chosen_ranks),
        entropy=Measure("entropy", "nats", axes, entropy),
        kl_from_final=Measure("KL(final || layer)", "nats", axes, kl),
    )


def _check(d_vocab: int, chosen: Int[Tensor, "pos chosen"], k: int) -> None:
    if not 1 <= k <= d_vocab:
        raise HeadlightError(f"k is {k}; the vocabulary has {d_vocab} tokens: ask for 1 to {d_vocab} top tokens.")
    outside = chosen[(chosen < 0) | (chosen >= d_vocab)]
    if outside.numel():
        raise HeadlightError(f"Token id {outside[0].item()} was chosen; choose ids from 0 to {d_vocab - 1}.")


def _read(
    normalized: Float[Tensor, "layer pos d_model"],
    W_U: Float[Tensor, "d_model d_vocab"],
    b_U: Float[Tensor, " d_vocab"],
    chosen: Int[Tensor, "pos chosen"],
    k: int,
) -> tuple[Tensor, ...]:
    """The fields of `LogitLens` for some positions, by one pass over the vocabulary."""
    chosen_logits = torch.einsum("lpd,dpc->lpc", normalized, W_U[:, chosen]) + b_U[chosen]
    ranks = torch.ones_like(chosen_logits, dtype=torch.long)
    top_logits = normalized.new_full((*normalized.shape[:2], k), -torch.inf)
    top_ids = torch.zeros_like(top_logits, dtype=torch.long)
    summaries = []
    for first in range(0, len(b_U), WORDS):
        words = slice(first, first + WORDS)
        logits = normalized @ W_U[:, words] + b_U[words]
        _overwrite(logits, chosen - first, chosen_logits)
        for i, own in enumerate(chosen_logits.unbind(-1)):
            ranks[..., i] += (logits > own[..., None]).sum(dim=-1)
        _keep_best(top_logits, top_ids, logits, first)
        summaries.append(_summarise(logits))
    log_total, entropy, kl = _combine(torch.stack(summaries, dim=1))
    top_probs = (top_logits - log_total[..., None]).exp()
    chosen_probs = (chosen_logits - log_total[..., None]).exp()
    return top_ids, top_probs, chosen_probs, ranks, entropy, kl


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
