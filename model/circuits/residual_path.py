"""From what is written to what reads it, in a model that normalises its stream after each addition, as BERT does.

There an edge goes through every norm between its two ends. Each reader has a stream of its own, built from all writes
before it: the embeddings, then a layer's heads, a norm, its MLP, a norm. With one edge from the baseline only that
sender's write differs in the reader's stream, and the norms are computed anew, as they are in path patching. So with
all edges every reader has the prompt's stream, and with none the baseline's. Without norms these streams are sums.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure.score_parts import rescaled
from headlight.model.nn.blocks import AttnOnlyBlock
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.linear import norm_of
from headlight.model.runs.stream_norms import scales_of

Sums = Sequence[Float[Tensor, "row pos d_model"]]  # what is written at each stage: embeddings, heads, MLP, heads, ...
Gradients = Float[Tensor, "row receiver pos d_model"]


def stage_starts(model: Transformer) -> list[int]:
    """The place of each stage's first sender, and of one behind the last."""
    sizes = [1, *(model.cfg.n_heads, 1) * model.cfg.n_layers]
    return list(accumulate(sizes, initial=0))


def sums_of(model: Transformer, writes: Float[Tensor, "row sender pos d_model"]) -> list[Tensor]:
    """What is written at each stage: its senders' writes, and the biases of attention, which no sender writes."""
    totals = [writes[:, start:stop].sum(1) for start, stop in pairwise(stage_starts(model))]
    return [total + constant_of(model, stage).to(total) for stage, total in enumerate(totals, start=-1)]


def constant_of(model: Transformer, stage: int) -> Float[Tensor, "..."]:
    """What no sender writes at a stage: the bias of a layer's attention."""
    if stage % 2:
        return torch.zeros(())
    block = model.block(stage // 2)
    return widened(block.attn.b_O.detach()) * block.residual_scale


def stream_of(model: Transformer, sums: Sums) -> Float[Tensor, "row pos d_model"]:
    """The stream that is read once so many stages have written."""
    stream = begun = sums[0]
    for stage, total in enumerate(sums[1:]):
        layer, is_mlp = divmod(stage, 2)
        block = model.block(layer)
        stream = block.after("mlp_out" if is_mlp else "attn_out", stream + total)
        if is_mlp:
            stream = begun = block.end(begun, stream)
    return stream


def streams_of_writes(
    model: Transformer, writes: Float[Tensor, "row sender pos d_model"]
) -> Float[Tensor, "row stage pos d_model"]:
    """The stream before each layer's heads and after them, and the final one."""
    sums = sums_of(model, writes)
    return torch.stack([stream_of(model, sums[:n]) for n in range(1, len(sums) + 1)], 1)


def gradients_of_writes(model: Transformer, sums: Sums, of_readers: Gradients) -> Iterator[tuple[int, Gradients]]:
    """The gradients for what readers read, carried back to what is written at each stage, the last stage first.

    They are exact derivatives: norms are differentiated where they stand in a run, whose `sums` these are. At a stage
    the readers are the last of all receivers, those behind it.

    Args:
        model: the model.
        sums: what is written at each stage of the run.
        of_readers: the gradient for what each receiver reads.
    """
    in_layer, carried = of_readers.shape[1] // model.cfg.n_layers, of_readers[:, -1:]
    for layer in reversed(range(model.cfg.n_layers)):
        block, mlp = model.block(layer), (layer + 1) * in_layer - 1  # the place of its MLP among the receivers
        begun = stream_of(model, sums[: 2 * layer + 1])
        attended = begun + sums[2 * layer + 1]
        ended = block.after("attn_out", attended) + sums[2 * layer + 2]
        carried, beside = _back(partial(_ended, block), (ended, begun), carried)
        yield 2 * layer + 1, carried
        carried = torch.cat([of_readers[:, [mlp]], carried], 1)
        (carried,) = _back(partial(block.after, "attn_out"), (attended,), carried)
        yield 2 * layer, carried
        carried[:, 1:] += beside
        carried = torch.cat([of_readers[:, layer * in_layer : mlp], carried], 1)
    yield -1, carried


def _ended(block: AttnOnlyBlock, summed: Tensor, begun: Tensor) -> Tensor:
    """The stream after a layer, of its sum with the MLP's write and of that before the layer."""
    return block.end(begun, block.after("mlp_out", summed))


def _back(
    function: Callable[..., Tensor], inputs: Sequence[Float[Tensor, "row pos d_model"]], gradients: Gradients
) -> tuple[Gradients, ...]:
    """The gradients of each reader for a function's inputs, from those for its output."""
    shape = gradients.shape[:2]
    with torch.inference_mode(False), torch.enable_grad():
        leaves = [
            each.detach()[:, None].expand(-1, shape[1], -1, -1).flatten(0, 1).clone().requires_grad_()
            for each in inputs
        ]
        back = torch.autograd.grad(
            function(*leaves), leaves, gradients.flatten(0, 1), allow_unused=True, materialize_grads=True
        )
    return tuple(each.unflatten(0, shape) for each in back)


def parts_read(
    model: Transformer, writes: Float[Tensor, "row sender pos d_model"]
) -> Iterator[tuple[int, Tensor, Float[Tensor, "row sender pos d_model"]]]:
    """What is read at each stage, the stream and what each sender's write is in it, norms held at their scales."""
    sums, starts, parts = sums_of(model, writes), stage_starts(model), writes[:, :1]
    for stage in range(2 * model.cfg.n_layers + 1):
        if stage:
            part, layer = ("mlp_out", "attn_out")[stage % 2], (stage - 1) // 2
            parts = torch.cat([parts, writes[:, starts[stage] : starts[stage + 1]]], 1)
            norm = norm_of(model.block(layer).norm_after(part))
            if norm is not None:
                summed = stream_of(model, sums[:stage]) + sums[stage]
                scales = torch.stack([scales_of(stream, norm) for stream in summed]).to(parts)
                parts = rescaled(parts, norm, 1.0) / scales[:, None, :, None]
        yield stage, stream_of(model, sums[: stage + 1]), parts
