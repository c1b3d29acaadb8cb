"""What is read of unchanged runs: the metric after every layer, and head patterns between places."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.experiments.runs import Prompts
from headlight.model.nn.cache import activation_name
from headlight.model.nn.hooks import Collect


@torch.inference_mode()
def lens(prompts: Prompts, where: Int[Tensor, "row place"]) -> Float[Tensor, "row layer place"]:
    """The metric that the final norm and the unembedding read off the stream before each layer, and after the last.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    model, n_rows = prompts.model, len(prompts.rows)
    rows = torch.arange(n_rows, device=where.device)[:, None]
    keep = Collect(
        [activation_name("resid_pre", layer) for layer in range(model.cfg.n_layers)],
        lambda stream: stream[rows, where.clamp(min=0)],
    )
    final = prompts.final_stream(keep)
    streams = torch.stack([*keep.kept.values(), final[rows, where.clamp(min=0)]], 1)  # [row, layer, place, d_model]
    of_row = torch.arange(n_rows)[:, None].expand(n_rows, streams.shape[1] * streams.shape[2]).flatten().tolist()
    return prompts.readout(streams.flatten(0, 2)[:, None], of_row).reshape(streams.shape[:3]).cpu()


def pairs_of(where: Int[Tensor, "row place"], is_causal: bool) -> tuple[tuple[int, int], ...]:
    """Query and key of every pair of places that some row's head can look along, later queries first."""
    places = range(where.shape[1])
    return tuple(
        (query, key)
        for query in reversed(places)
        for key in places
        if not is_causal or bool((where[:, key] <= where[:, query]).any())
    )


@torch.inference_mode()
def head_patterns(
    prompts: Prompts, where: Int[Tensor, "row place"], pairs: Sequence[tuple[int, int]]
) -> Float[Tensor, "row layer head pair"]:
    """How much each head attends from one place to another, for pairs of query and key; NaN where it cannot look."""
    query, key = (where[:, [pair[side] for pair in pairs]].clamp(min=0) for side in (0, 1))
    rows = torch.arange(len(prompts.rows), device=where.device)[:, None]
    keep = Collect(
        [activation_name("pattern", layer) for layer in range(prompts.model.cfg.n_layers)],
        lambda pattern: pattern[rows, :, query, key].transpose(1, 2),  # [row, pair, head] before
    )
    prompts.final_stream(keep)
    values = torch.stack(list(keep.kept.values()), 1)
    is_causal = prompts.model.cfg.attention_dir == "causal"
    return values.masked_fill((key > query)[:, None, None], torch.nan).cpu() if is_causal else values.cpu()
