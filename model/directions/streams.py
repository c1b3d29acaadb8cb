"""The residual stream of examples where they are read, in every layer."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import NotFiniteError
from headlight.model.directions.examples import Example, Examples
from headlight.model.nn.hooks import Collect
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.direction import state_hook
from headlight.model.runs.host import HERE, Host, Steps

MAX_TOKENS = 4096  # of a batch
Streams = Float[Tensor, "state row d_model"]


def read_streams(model: Transformer, examples: Examples, host: Host = HERE) -> Streams:
    """Return the stream before each layer and after the last, where each example is read.

    Prompts of one length are run together; nothing is padded.

    Raises:
        NotFiniteError: the model gives NaN or infinite values.
    """
    cfg, rows = model.cfg, examples.rows
    streams, steps = torch.empty(cfg.n_layers + 1, len(rows), cfg.d_model), Steps(host, len(rows))
    for batch in by_length(rows):
        streams[:, batch] = _read(model, [rows[place] for place in batch], host)
        steps.add(len(batch))
    if not streams.isfinite().all():
        raise NotFiniteError(
            "The residual stream of these prompts has NaN or infinite values, so no direction can be found in it. "
            "Check the model's weights."
        )
    return streams


def by_length(rows: Sequence[Example]) -> Iterator[list[int]]:
    """The places of rows of one length, as many as a batch takes."""
    lengths: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        lengths.setdefault(len(row.tokens), []).append(place)
    for length, places in lengths.items():
        size = max(1, MAX_TOKENS // length)
        yield from (places[start : start + size] for start in range(0, len(places), size))


def _read(model: Transformer, rows: Sequence[Example], host: Host) -> Streams:
    places = [row.place for row in rows]

    def reduce(stream: Float[Tensor, "row pos d_model"]) -> Float[Tensor, "row d_model"]:
        after_first = stream[:, 1:] if stream.shape[1] > 1 else stream
        read = [
            own.mean(0) if at is None else stream[row, at]
            for row, (own, at) in enumerate(zip(after_first, places, strict=True))
        ]
        return torch.stack(read).float().cpu()

    keep = Collect([state_hook(layer, model.cfg.n_layers) for layer in range(model.cfg.n_layers)], reduce)
    with host.turn(), torch.inference_mode():
        tokens: Int[Tensor, "row pos"] = torch.stack([row.tokens for row in rows]).to(host.device)
        last = host.on_device(model)(tokens, tap=keep, stop_at_layer=model.cfg.n_layers)
    return torch.stack([*keep.kept.values(), reduce(last)])
