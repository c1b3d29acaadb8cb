"""Split the residual stream at a position into components: embeddings, heads, MLPs, and changes by edits."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.layers.mlp import MoE
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.layers.scores import mix
from headlight.model.runs.edits import head_name
from headlight.model.runs.head import patterns
from headlight.model.runs.host import kept
from headlight.model.runs.linear import attention_bias, check_split, has_attention_bias, norm_bias, written
from headlight.model.runs.run import Run

EDITS = "the run's edits"


@dataclass(frozen=True)
class Part:
    """A component that writes to a stream; `head` is None for a layer's attention bias, its MLP and its experts.

    Where a stream is split by a dictionary, `feature` is which of its features it is.
    """

    name: str
    layer: int | None = None
    head: int | None = None
    feature: int | None = None


@dataclass(frozen=True, eq=False)
class Parts:
    """The components of the stream at one position in the order of writing, their vectors, and the stream itself."""

    parts: tuple[Part, ...]
    vectors: Float[Tensor, "part d_model"]
    stream: Float[Tensor, " d_model"]


def logits_at(run: Run, position: int) -> Float[Tensor, " d_vocab"]:
    """The logits at a position."""
    return run.model.capped(before_cap_at(run, position))


@kept
@torch.inference_mode()
def before_cap_at(run: Run, position: int) -> Float[Tensor, " d_vocab"]:
    """The same before any soft cap, where logits are still sums over the writes to the stream."""
    if run.cfg.pools_mean:
        return run.model.before_cap(run.stream(run.cfg.n_layers)[None])[0, 0]
    return run.model.before_cap(stream_at(run, position)[None, None])[0, 0]


def stream_at(run: Run, position: int, layer: int | None = None) -> Float[Tensor, " d_model"]:
    """The stream at a position before a layer, or after all of them."""
    return run.stream(run.cfg.n_layers if layer is None else layer, slice(position, position + 1))[0]


def parts_at(run: Run, position: int, layer: int | None = None) -> Parts:
    """The components of the stream at a position before a layer, or after all of them.

    Of a run with edits one more part is what these have changed beside what is written.

    Raises:
        InputError: the model's stream is no sum of parts.
    """
    check_split(run.model)
    n_layers = run.cfg.n_layers if layer is None else layer
    return with_edits(run, *_written_before(run, position, n_layers), stream_at(run, position, n_layers))


def with_edits(
    run: Run, parts: tuple[Part, ...], vectors: Float[Tensor, "part d_model"], stream: Float[Tensor, " d_model"]
) -> Parts:
    """The components of a stream and, for a run with edits, the changes that these made beside them."""
    if run.edits:
        parts, vectors = (*parts, Part(EDITS)), torch.cat([vectors, (stream - vectors.sum(0))[None]])
    return Parts(parts, vectors, stream)


def names_at(run: Run, position: int, layer: int) -> tuple[Part, ...]:
    """The components that `parts_at` returns at a position before a layer, without vectors and changes by edits."""
    return _written_before(run, position, layer)[0]


def _written_before(run: Run, position: int, layer: int) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    parts, vectors = _all_parts(run, position)
    n_parts = sum(part.layer is None or part.layer < layer for part in parts)
    return parts[:n_parts], vectors[:n_parts]


@kept
def _all_parts(run: Run, position: int) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    parts = [Part(name) for name, _ in run.embeddings()]
    vectors = [embedding[position] for _, embedding in run.embeddings()]
    for layer in range(run.cfg.n_layers):
        parts += [Part(head_name((layer, head)), layer, head) for head in range(run.cfg.n_heads)]
        W_O = widened(run.model.block(layer).attn.W_O.detach())
        writes = torch.einsum("hd,hdm->hm", z_of(run, layer, [position])[0], W_O)
        vectors += written(run, layer, writes, position)
        if has_attention_bias(run.model, layer):
            parts.append(Part(f"L{layer} attention bias", layer))
            vectors.append(attention_bias(run, layer, position))
        if not run.cfg.attn_only:
            by_name = _mlp_parts(run, layer, position)
            parts += [Part(name, layer) for name in by_name]
            vectors += by_name.values()
    return tuple(parts), torch.stack(vectors)


def _mlp_parts(run: Run, layer: int, position: int) -> dict[str, Float[Tensor, " d_model"]]:
    """A layer's MLP write; for experts one write per chosen expert and the shared one, and the bias of a norm after."""
    block = run.model.block(layer)
    if not isinstance(block, Block) or not isinstance(block.mlp, MoE):
        return {f"L{layer} MLP": run.cache["mlp_out", layer][position]}
    resid_pre = stream_at(run, position, layer)
    resid_mid = resid_pre + run.cache["attn_out", layer][position]
    read = block.mlp_in(resid_pre[None, None], resid_mid[None, None])
    experts = {
        f"L{layer} expert {index}": written(run, layer, output[0], position, "ln2_post")
        for index, _, _, output in block.mlp.by_expert(read, NO_TAP)
    }
    if (shared := block.mlp.shared(read, NO_TAP)) is not None:
        experts[f"L{layer} shared expert"] = written(run, layer, shared[0, 0], position, "ln2_post")
    bias = norm_bias(run, layer, "ln2_post")
    return experts if bias is None else experts | {f"L{layer} MLP's norm bias": bias}


@torch.inference_mode()
def z_of(run: Run, layer: int, queries: list[int]) -> Float[Tensor, "query head d_value"]:
    """The weighted sum of values of every head of a layer, as it was in the run, at these positions."""
    names = [f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern", "z")]
    edited = any(map(run.tap.look, names))
    rows = list(range(len(run.tokens))) if edited else queries  # an edit finds a query by its place among all
    z = mix(patterns(run, layer, rows)[None], run.values(layer)[None])
    return run.tap(names[2], z)[0, queries] if edited else z[0]
