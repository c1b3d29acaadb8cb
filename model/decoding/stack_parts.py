"""Streams of an encoder's and a decoder's stack as sums of what their components wrote.

Where a stack normalises its stream after each addition, what was written before counts as it is behind these norms, at
the scales that they have in this pass; their biases are components too. So the components add up to the stream.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.attribution.parts import Part, Parts
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import normalized, read_back, rescaled, scale_of
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.layers.attention import Attention
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.runs.edits import head_name
from headlight.model.runs.linear import norm_of
from headlight.model.runs.run import EMBEDDINGS

Stack = Literal["encoder", "decoder"]
Write = Literal["attn", "cross_attn", "mlp"]
Vectors = Float[Tensor, "*part d_model"]

WRITES: dict[Stack, tuple[Write, ...]] = {"encoder": ("attn", "mlp"), "decoder": ("attn", "cross_attn", "mlp")}
SUMS: dict[Write, str] = {"attn": "resid_mid", "cross_attn": "resid_mid_cross", "mlp": "resid_post"}
# Heads of the decoder are told apart by what they read; everything of the encoder carries its name.
HEADS: dict[tuple[Stack, Write], str] = {
    ("encoder", "attn"): "encoder ",
    ("decoder", "attn"): "self ",
    ("decoder", "cross_attn"): "cross ",
}
PREFIX: dict[Stack, str] = {"encoder": "encoder ", "decoder": ""}
KEPT = {
    *("hook_embed", "hook_pos_embed", "hook_q", "hook_k", "hook_v", "hook_z", "hook_attn_scores", "hook_pattern"),
    *("hook_mlp_out", *(f"hook_{name}" for name in SUMS.values())),
}


@dataclass(frozen=True)
class StackPart(Part):
    """A component of an encoder-decoder: of a head also which stack it is in and which attention of its layer."""

    stack: Stack | None = None
    write: Write | None = None


@dataclass(frozen=True)
class Stage:
    """One addition to a stack's stream; `place` counts a layer's additions from 1, as its norms do."""

    stack: Stack
    layer: int
    write: Write
    place: int

    @property
    def block(self) -> str:
        """The layer's module."""
        return f"{self.stack}.blocks.{self.layer}"

    @property
    def module(self) -> str:
        """The module that writes."""
        return f"{self.block}.{self.write}"


@dataclass(frozen=True, eq=False)
class Pass:
    """One forward pass of an encoder-decoder over a source and the target that its decoder reads.

    `logits` are those after each token that the decoder reads.
    """

    model: Seq2SeqTransformer
    source_tokens: Int[Tensor, " source"]
    read: Int[Tensor, " target"]
    cache: ActivationCache
    logits: Float[Tensor, "target d_vocab"]

    def kept(self, name: str) -> Float[Tensor, "..."]:
        """An activation, without the batch's axis."""
        return self.cache[name][0]

    @cached_property
    def stages(self) -> dict[Stack, tuple[Stage, ...]]:
        """The additions to each stack's stream, in order."""
        depth: dict[Stack, int] = {
            "encoder": self.model.cfg.n_encoder_layers,
            "decoder": self.model.cfg.n_decoder_layers,
        }
        return {
            stack: tuple(
                Stage(stack, layer, write, place)
                for layer in range(depth[stack])
                for place, write in enumerate(writes, 1)
            )
            for stack, writes in WRITES.items()
        }

    def index(self, stack: Stack, layer: int, write: Write) -> int:
        """The place of an addition among those of its stack."""
        return layer * len(WRITES[stack]) + WRITES[stack].index(write)

    def attention(self, stage: Stage) -> Attention:
        """The attention that writes at a stage."""
        attention = self.model.get_submodule(stage.module)
        assert isinstance(attention, Attention)  # every stage but an MLP's
        return attention

    def norm(self, stage: Stage) -> Norm | None:
        """The norm of a stage: before what writes, or behind the addition."""
        return norm_of(self.model.get_submodule(f"{stage.block}.ln{stage.place}"))

    def norm_before(self, stage: Stage) -> Norm | None:
        """The norm between the stream and what writes at a stage; None where the stream is read as it is."""
        return self.norm(stage) if self.model.cfg.norm_first else None

    def norm_behind(self, stage: Stage) -> Norm | None:
        """The norm of the stream itself once a stage was added to it; None where writes are just added up."""
        return None if self.model.cfg.norm_first else self.norm(stage)

    def final_norm(self, stack: Stack) -> Norm | None:
        """The norm of a stack's output; None where there is none."""
        return norm_of(self.model.get_submodule(f"{stack}.ln_final"))

    def z(self, stage: Stage) -> Float[Tensor, "pos head d_value"]:
        """The weighted sum of values of every head that writes at a stage."""
        return self.kept(f"{stage.module}.hook_z")


@torch.inference_mode()
def run_pass(model: Seq2SeqTransformer, source: Int[Tensor, " source"], read: Int[Tensor, " target"]) -> Pass:
    """Run a model over source tokens and the tokens that its decoder reads, and keep what explanations need."""
    logits, cache = model.run_with_cache(
        source[None], read[None], names_filter=lambda name: name.rpartition(".")[2] in KEPT
    )
    return Pass(model, source, read, cache, logits[0])


def carried(run: Pass, stack: Stack, vectors: Vectors, position: int, first: int, last: int | None = None) -> Vectors:
    """What was written at a stage, as it is in the stream once the stages up to `last` were added; in float64."""
    vectors = vectors.double()
    for stage in run.stages[stack][first:last]:
        norm = run.norm_behind(stage)
        if norm is not None:
            vectors = rescaled(vectors, norm, scale_behind(run, stage, norm, position))
    return vectors


def read_back_to(
    run: Pass, stage: Stage, direction: Float[Tensor, " d_model"], position: int
) -> Float[Tensor, " d_model"]:
    """Vector whose product with what a stage writes equals that of `direction` with it at the end of the stack."""
    direction, first = direction.double(), run.index(stage.stack, stage.layer, stage.write)
    for later in reversed(run.stages[stage.stack][first:]):
        norm = run.norm_behind(later)
        if norm is not None:
            direction = read_back(direction, norm, scale_behind(run, later, norm, position))
    return direction


def scale_behind(run: Pass, stage: Stage, norm: Norm, position: int) -> Float[Tensor, ""]:
    """Divisor of the norm behind a stage at a position, in float64."""
    return scale_of(run.kept(f"{stage.block}.hook_{SUMS[stage.write]}")[position], norm)


@torch.inference_mode()
def parts_before(run: Pass, stack: Stack, position: int, last: int | None = None) -> Parts:
    """The components of a stack's stream at a position before one of its stages, or after all; in float64."""
    parts, vectors = list[StackPart](), list[Float[Tensor, "part d_model"]]()
    for first, of_stage, written in _written(run, stack, position, last):
        parts += of_stage
        vectors.append(carried(run, stack, written, position, first, last))
    together = torch.cat(vectors)
    return Parts(tuple(parts), together, together.sum(0))


@torch.inference_mode()
def parts_of_memory(run: Pass, position: int) -> Parts:
    """The components of the encoder's output at a source token, which cross-attention reads; in float64."""
    read, norm = parts_before(run, "encoder", position), run.final_norm("encoder")
    if norm is None:
        return read
    parts, vectors = read.parts, normalized(read.vectors, read.stream, norm)
    if norm.b is not None:
        parts, vectors = (*parts, StackPart("encoder final norm bias")), torch.cat([vectors, norm.b.double()[None]])
    return Parts(parts, vectors, vectors.sum(0))


def _written(
    run: Pass, stack: Stack, position: int, last: int | None
) -> Iterator[tuple[int, list[StackPart], Float[Tensor, "part d_model"]]]:
    """Components in the order of writing, each with the stage from which on norms stand behind it."""
    yield 0, *_embedded(run, stack, position)
    for index, stage in enumerate(run.stages[stack][:last]):
        yield index, *_written_at(run, stage, position)
        norm = run.norm_behind(stage)
        if norm is not None and norm.b is not None:
            name = f"{PREFIX[stack]}L{stage.layer} {_short(stage)} norm bias"
            yield index + 1, [StackPart(name, stage.layer, stack=stack)], norm.b.double()[None]


def _short(stage: Stage) -> str:
    """What writes at a stage, in the name of a bias."""
    if stage.write == "mlp":
        return "MLP"
    return HEADS[stage.stack, stage.write].strip() if stage.stack == "decoder" else "attention"


def _embedded(run: Pass, stack: Stack, position: int) -> tuple[list[StackPart], Float[Tensor, "part d_model"]]:
    """The embeddings; where they are normalised together, each at the scale of this pass."""
    hooks = {name: f"{stack}.hook_{hook}" for name, hook in EMBEDDINGS.items()}
    present = {name: run.kept(hook)[position].double() for name, hook in hooks.items() if hook in run.cache}
    vectors, names = torch.stack([*present.values()]), list(present)
    norm = norm_of(run.model.get_submodule(f"{stack}.embed_ln"))
    if norm is not None:
        vectors = normalized(vectors, vectors.sum(0), norm)
        if norm.b is not None:
            names, vectors = [*names, "embed norm bias"], torch.cat([vectors, norm.b.double()[None]])
    return [StackPart(f"{PREFIX[stack]}{name}", stack=stack) for name in names], vectors


def _written_at(run: Pass, stage: Stage, position: int) -> tuple[list[StackPart], Float[Tensor, "part d_model"]]:
    """What an MLP writes; or every head, and behind them the bias of their output."""
    stack, layer = stage.stack, stage.layer
    if stage.write == "mlp":
        part = StackPart(f"{PREFIX[stack]}L{layer} MLP", layer, stack=stack)
        return [part], run.kept(f"{stage.block}.hook_mlp_out")[[position]].double()
    attention, prefix = run.attention(stage), HEADS[stack, stage.write]
    W_O = widened(attention.W_O.detach()).double()
    vectors = torch.einsum("hd,hdm->hm", run.z(stage)[position].double(), W_O)
    parts = [
        StackPart(f"{prefix}{head_name((layer, head))}", layer, head, stack=stack, write=stage.write)
        for head in range(len(W_O))
    ]
    if attention.b_O.any():
        parts.append(StackPart(f"{PREFIX[stack]}L{layer} {_short(stage)} output bias", layer, stack=stack))
        vectors = torch.cat([vectors, attention.b_O.detach().double()[None]])
    return parts, vectors
