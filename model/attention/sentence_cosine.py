"""Cosine between two prompts' embeddings by a sentence encoder, with the contribution of each head and token.

A sentence is the mean of its tokens' last hidden states, or one of them. That is linear, and so is every norm at the
scale that it has in the run, and a layer behind the pooling with its activation at the ratio that it has there. The
direction of the other sentence is carried back through them, layer by layer, and what was written is multiplied with it
where it was written. The sum of all parts is the cosine.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.base.errors import InputError
from headlight.model.measure import Measure
from headlight.model.measure.head_steps import Norm
from headlight.model.nn.config import OutputPosition, TransformerConfig
from headlight.model.nn.layers.output_heads import SentenceDense
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.layers.scores import mix
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.head import patterns
from headlight.model.runs.host import kept
from headlight.model.runs.linear import norm_behind, norm_of, write_scales
from headlight.model.runs.run import WRITERS, Run
from headlight.model.runs.stream_norms import scales_of, stream_norms

Rows = Float[Tensor, "pos d_model"]
DENSE_BIASES = "biases of Dense"  # the layers behind the pooling
ASSUMED: OutputPosition = "mean"  # where nothing beside a body says how it is pooled


@dataclass(frozen=True, eq=False)
class CosineParts:
    """Contributions of one sentence's parts to its cosine with another: they sum to it, and so do its `tokens`.

    What biases behind the pooling add is of no token.

    `heads` are [layer, head], `rest` [part] what `rest_names` name: embeddings, MLPs, and the biases of attention and
    of norms. `tokens` [pos] are what each token's own last hidden state adds.
    """

    cosine: Measure
    heads: Measure
    rest_names: tuple[str, ...]
    rest: Measure
    tokens: Measure


def embedding_width(cfg: TransformerConfig) -> int:
    """The width of a sentence's embedding."""
    return cfg.sentence_dense[-1][0] if cfg.sentence_dense else cfg.d_model


def no_cosine(comparison: Comparison) -> str:
    """Why there is no cosine of two sentences, where there is none; a sentence for the user."""
    if any(run.cfg.output != "none" for run in comparison.runs):
        return "A sentence's embedding is that of a body without a head: open a sentence encoder."
    if comparison.b is None:
        return "Choose a prompt B for the cosine between A's embedding and B's."
    if len({embedding_width(run.cfg) for run in comparison.runs}) > 1:
        return "The embeddings of A's model and B's have other widths, so there is no cosine between them."
    return ""


def pooling_of(run: Run) -> OutputPosition:
    """Tokens that are pooled into a sentence: those that the model's files state, or else all, by their mean."""
    return ASSUMED if run.cfg.output_position == "each" else run.cfg.output_position


def said_of_pooling(run: Run) -> str:
    """Describe how sentences are pooled, and whether the files say so."""
    names = {"mean": "mean of all tokens", "first": "first token", "last": "last token"}
    by = names[pooling_of(run)]
    return f"{by}, an assumption: no file says how" if run.cfg.output_position == "each" else by


def sentence_cosine(comparison: Comparison) -> dict[str, CosineParts]:
    """Contributions of A's and of B's parts to their cosine, each with the other sentence unchanged.

    Raises:
        InputError: there are no two sentences, or the model has a head.
    """
    if (reason := no_cosine(comparison)) or comparison.b is None:
        raise InputError(reason)
    a, b = comparison.a, comparison.b
    return {"A": _parts(a, _embedding(b)), "B": _parts(b, _embedding(a))}


def _weights(run: Run) -> Float[Tensor, " pos"]:
    """Weight of each token in the pooled sentence."""
    n_pos, by = len(run.tokens), pooling_of(run)
    if by == "mean":
        return torch.full((n_pos,), 1 / n_pos, dtype=torch.float64)
    return nn.functional.one_hot(torch.tensor(0 if by == "first" else n_pos - 1), n_pos).double()


@kept
@torch.inference_mode()
def _embedding(run: Run) -> Float[Tensor, " d_model"]:
    """The sentence's embedding, in float64."""
    sentence: Tensor = _pooled(run)
    for layer in run.model.sentence_dense:
        sentence = layer(sentence)
    return sentence


def _pooled(run: Run) -> Float[Tensor, " d_model"]:
    """The sentence before the layers behind its pooling."""
    return _weights(run) @ run.model.to_unembed(run.stream(run.cfg.n_layers)[None])[0].double()


def _before_dense(run: Run, direction: Float[Tensor, " d_out"]) -> tuple[Float[Tensor, " d_model"], float]:
    """Carry the direction back through the layers behind the pooling; return it with their biases' contribution.

    An activation function counts as the ratio of what it gave to what it took in this run.
    """
    sentence, layers = _pooled(run), list[tuple[SentenceDense, Tensor]]()
    for layer in run.model.sentence_dense:
        assert isinstance(layer, SentenceDense)
        layers.append((layer, sentence))
        sentence = layer(sentence)
    constant = 0.0
    for layer, taken in reversed(layers):
        W, b = widened(layer.W).double(), layer.b.double()
        if layer.act_fn is not None:
            pre = taken @ W + b
            direction = direction * torch.where(pre == 0, 0.0, layer.act_fn(pre) / pre)
        constant += float(b @ direction)
        direction = W @ direction
    return direction, constant


@torch.inference_mode()
def _parts(run: Run, other: Float[Tensor, " d_model"]) -> CosineParts:
    own, weights = _embedding(run), _weights(run)
    cosine = own @ other / (own.norm() * other.norm())
    towards, constant = _before_dense(run, other / (own.norm() * other.norm()))
    final = run.model.to_unembed(run.stream(run.cfg.n_layers)[None])[0].double()
    heads, rest = parts_along(run, weights[:, None] * towards)
    rest[DENSE_BIASES] = constant
    named = {name: value for name, value in rest.items() if abs(value) > 0}
    return CosineParts(
        Measure("cosine of A and B", "cosine", (), cosine),
        Measure("part of the cosine", "cosine", ("layer", "head"), heads),
        tuple(named),
        Measure("part of the cosine", "cosine", ("part",), torch.tensor([*named.values()], dtype=torch.float64)),
        Measure("part of the cosine", "cosine", ("pos",), weights * (final @ towards)),
    )


@torch.inference_mode()
def parts_along(run: Run, direction: Rows) -> tuple[Float[Tensor, "layer head"], dict[str, float]]:
    """Contribution of each head and other named part to the final states' product with a direction, by position.

    They sum to that product; what edits changed of the stream itself is a part of its own.
    """
    heads, rest, final = list[Tensor](), dict[str, float](), run.stream(run.cfg.n_layers)
    norms = {(norm.layer, norm.part): norm for norm in stream_norms(run)}
    back = _Back(direction)
    if (last := norm_of(run.model.ln_final)) is not None:
        back.through(last, scales_of(final, last))
    whole = back.contribution(final) + back.constant
    for layer in reversed(range(run.cfg.n_layers)):
        for part, _ in reversed(run.cfg.written(layer)):
            if (norm := norms.get((layer, part))) is not None:
                back.through(norm.norm, norm.scales)
            of_part = back.contribution(run.cache[part, layer])
            if part == "attn_out":
                heads.append(_of_heads(run, layer, back.direction))
                rest[f"L{layer} attention bias"] = of_part - float(heads[-1].sum())
            else:
                rest[f"L{layer} {WRITERS[part]}"] = of_part
    rest |= {name: back.contribution(part) for name, part in run.embeddings()}
    rest["norms' biases"] = back.constant
    if run.edits_stream:
        rest["edits of the stream"] = whole - sum(rest.values()) - float(torch.stack(heads).sum())
    return torch.stack(heads[::-1]), dict(reversed(rest.items()))


class _Back:
    """A direction at each position, carried back through norms, with the contribution of their biases."""

    def __init__(self, direction: Rows) -> None:
        self.direction, self.constant = direction, 0.0

    def through(self, norm: Norm, scales: Float[Tensor, " pos"]) -> None:
        """Before a norm with these divisors."""
        if norm.b is not None:
            self.constant += float((self.direction @ norm.b.double()).sum())
        self.direction = _read_back(self.direction, norm, scales)

    def contribution(self, written: Rows) -> float:
        """Contribution of a vector that was written there."""
        return float((written.double() * self.direction).sum())


def _read_back(direction: Rows, norm: Norm, scales: Float[Tensor, " pos"]) -> Rows:
    """Vectors whose products with a part equal the direction's products with the normalised part."""
    back = (direction if norm.w is None else direction * norm.w.double()) / scales[:, None]
    return back - back.mean(-1, keepdim=True) if norm.centred else back


def _of_heads(run: Run, layer: int, direction: Rows) -> Float[Tensor, " head"]:
    """Contribution of each head's writes at all positions along a direction, taken at the stream they are added to."""
    norm, scales = norm_behind(run.model, layer), write_scales(run, layer)
    if norm is not None and scales is not None:
        direction = _read_back(direction, norm, scales.double())
    z = mix(patterns(run, layer, list(range(len(run.tokens))))[None], run.values(layer)[None])[0]
    W_O = widened(run.model.block(layer).attn.W_O.detach()).double()
    return torch.einsum("phv,hvd,pd->h", z.double(), W_O, direction * run.cfg.residual_scale)
