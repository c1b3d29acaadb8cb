"""A thumbnail and mean scores of every head's pattern, from a run's queries and keys, some queries at a time.

No pattern is ever whole: at 8,192 tokens one head's alone would take 268 MB. Where a score is a scaled dot product and
attention is causal, as in most models, a block's rows stay in the processor's cache, and keys that none of its queries
sees are left out.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headlight.model.measure import Measure, attention
from headlight.model.measure.mean_scores import MeanScores, stack
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers import place
from headlight.model.runs.head import edits_patterns, pattern_blocks, patterns_of_layers, query_blocks
from headlight.model.runs.host import HERE, Steps
from headlight.model.runs.run import LONG, Run

THUMBNAIL = 64  # pixels on a side at most
MAX_ROWS = 256  # queries at a time: of more, too many keys are computed that their queries do not see
CELLS = 2**20  # scores at a time: more take longer, as they leave the processor's cache, and so do fewer
HIDDEN = -1e30


@dataclass(frozen=True, eq=False)
class Summaries:
    """Of every head's pattern the maxima over bins, and mean scores."""

    thumbnails: Float[Tensor, "layer head rows columns"]
    scores: dict[str, Measure]


def summarize(made: Run) -> Summaries:
    """Thumbnails and mean scores of all patterns, as edits have changed them, layer by layer.

    A long prompt's layers are kept one by one where the host keeps anything: who breaks off goes on from there.

    Raises:
        HeadlightError: the run's host lets no more work in.
    """
    is_long = len(made.tokens) >= LONG
    steps, mean_scores = Steps(made.host if is_long else HERE, made.cfg.n_layers), MeanScores(made.tokens)
    thumbnails, scores = list[Tensor](), list[dict[str, Measure]]()
    with made.host.turn() if is_long else nullcontext(), torch.inference_mode():
        for layers in _few_layers(made):
            summarized = partial(_of_layers, made, layers, mean_scores)
            is_kept = is_long and made.host.caches
            pooled, sums = made.keep(("summaries", layers), summarized) if is_kept else summarized()
            thumbnails.append(pooled)
            scores += map(mean_scores.means, sums.split(made.cfg.n_heads, 1))
            steps.add(len(layers))
    by_layer = made.cfg.n_layers, made.cfg.n_heads
    return Summaries(torch.cat(thumbnails).unflatten(0, by_layer), stack(scores))


def hidden_bins(cfg: TransformerConfig, n_pos: int) -> Bool[Tensor, "*layer rows columns"]:
    """Bins of a thumbnail in which every cell is masked: for all layers or, with windows, for each [layer, 1]."""
    positions = place(cfg.attention_dir, None, n_pos, torch.device("cpu"))
    if cfg.window_size is None:
        return ~attention.max_pool(positions.mask[0, 0], THUMBNAIL)
    masks = [positions.mask_within(cfg.window(layer))[0] for layer in range(cfg.n_layers)]
    return ~attention.max_pool(torch.stack(masks), THUMBNAIL)


def _few_layers(made: Run) -> Iterator[range]:
    """Layers whose patterns are summarized together, of a long prompt one at a time.

    One of 32 tokens would else take three times as long, with as many operations on few numbers.
    """
    n_layers, n_pos = made.cfg.n_layers, len(made.tokens)
    together = 1 if n_pos >= LONG else max(1, attention.CACHED // (made.cfg.n_heads * n_pos**2))
    return (range(first, min(first + together, n_layers)) for first in range(0, n_layers, together))


def _of_layers(
    made: Run, layers: range, mean_scores: MeanScores
) -> tuple[Float[Tensor, "layer_head rows columns"], Float[Tensor, "score layer_head"]]:
    """Of each head's pattern a thumbnail, and the sums of its scores over all queries."""
    n_pos, n_heads, layer = len(made.tokens), made.cfg.n_heads, layers[0]
    attn, is_causal = made.model.block(layer).attn, made.cfg.attention_dir == "causal"
    if n_pos >= LONG and attn.has_plain_scores and is_causal and not edits_patterns(made, layer):
        columns, sums = torch.zeros(n_heads, n_pos, min(THUMBNAIL, n_pos)), torch.zeros(len(mean_scores.names), n_heads)
        for head, first, scores in _causal_scores(made, layer, attn.attn_scale):
            pooled, added = mean_scores.sums_of_scores(scores, first, THUMBNAIL)
            columns[head, first : first + len(scores), : pooled.shape[1]] = pooled
            sums[:, head] += added
        return attention.max_pool(columns, THUMBNAIL), sums
    parts = list[Tensor]()
    sums = torch.zeros(len(mean_scores.names), len(layers) * n_heads)
    for queries, rows in _blocks(made, layers):
        parts.append(attention.max_pool_keys(rows, n_pos, THUMBNAIL))
        sums += mean_scores.sums(rows, queries.start)
    return attention.max_pool(torch.cat(parts, 1), THUMBNAIL), sums


def _blocks(made: Run, layers: range) -> Iterator[tuple[slice, Float[Tensor, "layer_head query key"]]]:
    """All patterns of these layers, some queries' rows at a time."""
    if len(layers) == 1:
        return pattern_blocks(made, layers[0])
    blocks = query_blocks(len(made.tokens))
    return ((queries, patterns_of_layers(made, layers, queries).flatten(0, 1)) for queries in blocks)


def _causal_scores(made: Run, layer: int, attn_scale: float) -> Iterator[tuple[int, int, Float[Tensor, "query key"]]]:
    """Scores of some queries of each head in turn, with the first of these queries; memory is used again for the next.

    Keys after the last of the queries are left out.
    """
    q = (made.queries(layer) / attn_scale).transpose(0, 1).contiguous()
    k = made.keys(layer).transpose(0, 1).contiguous()
    most_rows = max(1, min(MAX_ROWS, CELLS // q.shape[1]))
    memory = q.new_empty(most_rows * q.shape[1])
    later = torch.ones(most_rows, most_rows, dtype=torch.bool).triu(1)
    for first, head in product(range(0, q.shape[1], most_rows), range(len(q))):
        made.host.check()
        queries = q[head, first : first + most_rows]
        n_rows, n_keys = len(queries), first + len(queries)
        scores = memory[: n_rows * n_keys].view(n_rows, n_keys)
        torch.mm(queries, k[made.cfg.group_of(head), :n_keys].T, out=scores)
        scores[:, first:].masked_fill_(later[:n_rows, :n_rows], HIDDEN)
        yield head, first, scores
