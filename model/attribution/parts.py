"""Split the residual stream at a position into components: embeddings, heads, MLPs, and changes by edits."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.measure.score_parts import normalized
from headlight.model.nn.blocks import Block
from headlight.model.nn.hooks import NO_TAP
from headlight.model.nn.layers.embeddings import EmbedProject
from headlight.model.nn.layers.mlp import MoE
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.layers.scores import mix
from headlight.model.runs.edits import head_name
from headlight.model.runs.head import patterns
from headlight.model.runs.host import kept
from headlight.model.runs.linear import attention_bias, has_attention_bias, norm_bias, norm_of, written
from headlight.model.runs.run import EMBEDDINGS, WRITERS, Run
from headlight.model.runs.stream_norms import norms_before, stream_norms, through_norms

EDITS = "the run's edits"
SHORT = WRITERS | {"attn_out": "attn", "conv_out": "conv"}  # in names that have to be short


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

    Where norms of the stream itself stand behind what was written, they count at this run's scales, and their biases
    are components too. Of a run with edits one more part is what these have changed beside what is written.
    """
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


@dataclass(frozen=True, eq=False)
class _Group:
    """Components written at once, as they are added to the stream behind so many of its norms."""

    parts: tuple[Part, ...]
    vectors: Float[Tensor, "part d_model"]
    n_norms: int = 0


def _written_before(run: Run, position: int, layer: int) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    last = norms_before(run, layer)
    groups = [group for group in _groups(run, position) if group.parts[0].layer is None or group.parts[0].layer < layer]
    vectors = [through_norms(run, group.vectors, position, group.n_norms, last) for group in groups]
    return tuple(part for group in groups for part in group.parts), torch.cat(vectors)


@kept
def _groups(run: Run, position: int) -> tuple[_Group, ...]:
    """All components, in the order of writing."""
    norms = {(norm.layer, norm.part): (index, norm) for index, norm in enumerate(stream_norms(run))}
    groups, n_norms = [_embedded(run, position)], 0
    for layer in range(run.cfg.n_layers):
        for written_part, _ in run.cfg.written(layer):
            parts, vectors = _written(run, layer, written_part, position)
            groups.append(_Group(parts, vectors, n_norms))
            if (layer, written_part) not in norms:
                continue
            index, norm = norms[layer, written_part]
            n_norms = index + 1
            if norm.norm.b is not None:
                of_bias = Part(f"L{layer} {SHORT[written_part]} norm bias", layer)
                groups.append(_Group((of_bias,), norm.norm.b[None].double(), n_norms))
    return tuple(groups)


def _written(
    run: Run, layer: int, written_part: str, position: int
) -> tuple[tuple[Part, ...], Float[Tensor, "part d_model"]]:
    """The components of one of a layer's writes, by its hook name."""
    if written_part == "conv_out":
        return (Part(f"L{layer} {WRITERS[written_part]}", layer),), run.cache[written_part, layer][[position]]
    if written_part == "mlp_out":
        by_name = _mlp_parts(run, layer, position)
        return tuple(Part(name, layer) for name in by_name), torch.stack([*by_name.values()])
    parts = [Part(head_name((layer, head)), layer, head) for head in range(run.cfg.n_heads)]
    W_O = widened(run.model.block(layer).attn.W_O.detach())
    vectors = written(run, layer, torch.einsum("hd,hdm->hm", z_of(run, layer, [position])[0], W_O), position)
    if has_attention_bias(run.model, layer):
        parts.append(Part(f"L{layer} attention bias", layer))
        vectors = torch.cat([vectors, attention_bias(run, layer, position)[None]])
    return tuple(parts), vectors


def _embedded(run: Run, position: int) -> _Group:
    """The embeddings; where they are normalised or widened together, each at the scale of this run."""
    model, parts = run.model, tuple(name for name, hook in EMBEDDINGS.items() if hook in run.cache)
    vectors = torch.stack([run.cache[EMBEDDINGS[name]][position] for name in parts])
    if (norm := norm_of(model.embed_ln)) is not None:
        vectors = normalized(vectors, vectors.sum(0), norm)
        if norm.b is not None:
            parts, vectors = (*parts, "embed norm bias"), torch.cat([vectors, norm.b.double()[None]])
    if isinstance(model.embed_project, EmbedProject):
        W, b = widened(model.embed_project.W.detach()).double(), model.embed_project.b.detach().double()
        vectors = vectors.double() @ W
        if b.any():
            parts, vectors = (*parts, "embed projection bias"), torch.cat([vectors, b[None]])
    return _Group(tuple(map(Part, parts)), vectors.to(run.cache["embed"]))


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
    return experts if bias is None else experts | {f"L{layer} MLP norm bias": bias}


@torch.inference_mode()
def z_of(run: Run, layer: int, queries: list[int]) -> Float[Tensor, "query head d_value"]:
    """The weighted sum of values of every head of a layer, as it was in the run, at these positions."""
    names = [f"blocks.{layer}.attn.hook_{name}" for name in ("attn_scores", "pattern", "z")]
    edited = any(map(run.tap.look, names))
    rows = list(range(len(run.tokens))) if edited else queries  # an edit finds a query by its place among all
    z = mix(patterns(run, layer, rows)[None], run.values(layer)[None])
    return run.tap(names[2], z)[0, queries] if edited else z[0]
