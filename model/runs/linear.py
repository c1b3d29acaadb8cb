"""Linear parts of a model under frozen norm scales, so that the contributions to a stream can be separated.

A norm takes off a mean, if it is LayerNorm, and divides by a scale. With the scale that it had in a run it is a linear
map, so that what each part of a stream becomes adds up to what the whole becomes.
"""

from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.base.errors import InputError
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import read_back, rescaled
from headlight.model.nn.blocks import Block
from headlight.model.nn.layers.mlp import MLP
from headlight.model.nn.layers.norms import LayerNormPre, RMSNormPre
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.run import Run

Written = Float[Tensor, "*part d_model"]
BiasName = Literal["b_Q", "b_K", "b_V", "b_O"]
Behind = Literal["ln1_post", "ln2_post"]  # the norm behind a layer's heads, or behind its MLP


def norm_of(norm: nn.Module) -> Norm | None:
    """A normalisation layer as the analyses count it; None where there is none."""
    if not isinstance(norm, RMSNormPre):
        return None
    gain, bias = (None if each is None else each.detach() for each in (getattr(norm, name, None) for name in "wb"))
    return Norm(norm.eps, gain, bias, centred=isinstance(norm, LayerNormPre))


def norm_before(model: Transformer, layer: int) -> Norm | None:
    """The norm between the stream and a layer's heads; None where they read the stream as it is."""
    return None if model.cfg.post_norm else norm_of(model.block(layer).ln1)


def norm_before_mlp(model: Transformer, layer: int) -> Norm | None:
    """The norm between the stream and a layer's MLP; None where that reads the stream as it is."""
    block = model.block(layer)
    return None if model.cfg.post_norm or not isinstance(block, Block) else norm_of(block.mlp_norm)


def norm_behind(model: Transformer, layer: int, behind: Behind = "ln1_post") -> Norm | None:
    """Norm between a layer's heads or MLP and the stream; None where they write to it directly."""
    return norm_of(model.block(layer).get_submodule(behind))


def written(run: Run, layer: int, output: Written, position: int, behind: Behind = "ln1_post") -> Written:
    """Parts of a layer's heads' or MLP's output at a position, as they are added to the stream.

    Where a norm stands there its scale is the run's own, and its bias belongs to no part.
    """
    norm, scales = norm_behind(run.model, layer, behind), write_scales(run, layer, behind)
    if norm is not None and scales is not None:
        output = rescaled(output, norm, scales[position])
    return output if run.cfg.residual_scale == 1.0 else output * run.cfg.residual_scale


def attention_bias(run: Run, layer: int, position: int) -> Float[Tensor, " d_model"]:
    """Write of a layer's attention at a position apart from its heads: b_O, and the bias of the norm behind it."""
    constant = written(run, layer, run.model.block(layer).attn.b_O.detach(), position)
    bias = norm_bias(run, layer, "ln1_post")
    return constant if bias is None else constant + bias


def has_bias(model: Transformer, layer: int, name: BiasName) -> bool:
    """Whether a layer's attention has such a bias: where an architecture has none, zeros stand for it."""
    return bool(getattr(model.block(layer).attn, name).any())


def has_any_bias(model: Transformer) -> bool:
    """Whether a model has a bias anywhere."""
    named = ((name.rpartition(".")[2].lstrip("_"), parameter) for name, parameter in model.named_parameters())
    return any(name.startswith("b") and bool(parameter.any()) for name, parameter in named)


def has_attention_bias(model: Transformer, layer: int) -> bool:
    """Whether a layer's attention writes anything whatever its heads do."""
    norm = norm_behind(model, layer)
    return has_bias(model, layer, "b_O") or (norm is not None and norm.b is not None)


def has_attention_biases(model: Transformer) -> bool:
    """Whether that is so of any layer."""
    return any(has_attention_bias(model, layer) for layer in range(model.cfg.n_layers))


def has_mlp_bias(model: Transformer, layer: int) -> bool:
    """Whether a layer's MLP writes anything whatever its neurons do."""
    block, norm = model.block(layer), norm_behind(model, layer, "ln2_post")
    own = isinstance(block, Block) and isinstance(block.mlp, MLP) and bool(block.mlp.b_out.any())
    return own or (norm is not None and norm.b is not None)


def mlp_read_back(
    run: Run, layer: int, direction: Float[Tensor, " d_model"], position: int
) -> Float[Tensor, " d_model"]:
    """Vector whose product with an MLP's output at a position equals that of `direction` with its write."""
    norm, scales = norm_behind(run.model, layer, "ln2_post"), write_scales(run, layer, "ln2_post")
    back = direction * run.cfg.residual_scale
    return back if norm is None or scales is None else read_back(back, norm, scales[position])


def norm_bias(run: Run, layer: int, behind: Behind) -> Float[Tensor, " d_model"] | None:
    """The write of a norm's bias after attention or MLP; None where there is no such bias."""
    norm = norm_behind(run.model, layer, behind)
    return None if norm is None or norm.b is None else norm.b * run.cfg.residual_scale


def writes_at_unit_scale(model: Transformer, layer: int, output: Written, behind: Behind = "ln1_post") -> Written:
    """Parts of a layer's heads' or MLP's output as added to the stream, with the norm's scale set to 1."""
    norm, factor = norm_behind(model, layer, behind), model.cfg.residual_scale
    output = output if norm is None else rescaled(output, norm, 1.0)
    return output if factor == 1.0 else output * factor


def write_scales(run: Run, layer: int, behind: Behind = "ln1_post") -> Float[Tensor, " pos"] | None:
    """Divisor at each position of the norm behind a layer's heads or MLP; None without one."""
    kept = f"blocks.{layer}.{behind}.hook_scale"
    return run.cache[kept][:, 0] if kept in run.cache else None


def head_norm(norm: nn.Module, head: int, d_head: int) -> Norm | None:
    """The normalisation of one head's queries or keys, or one group's; None where there is none."""
    folded = norm_of(norm)
    if folded is None:
        return None
    gain, bias = (
        each if each is None or each.shape == (d_head,) else each.reshape(-1, d_head)[head]
        for each in (folded.w, folded.b)
    )
    return replace(folded, w=gain, b=bias)


def embedded_tokens(model: Transformer) -> Float[Tensor, "d_vocab d_model"]:
    """Initial stream of each token: its row of W_E, scaled, normalised and widened as the model does."""
    embed, cfg = model.embed, model.cfg
    changed = cfg.post_embedding_ln or cfg.embeddings_ln or cfg.embedding_scale != 1.0 or cfg.project_embeddings
    if not changed:
        return widened(embed.W_E)
    return model.begun(embed(torch.arange(len(embed.W_E), device=embed.W_E.device)[None]))[0]


def turning(model: Transformer, layer: int, distance: int) -> Float[Tensor, "d_head d_head"] | None:
    """Rotation between a layer's query q and a key `distance` tokens before it: q R · k.

    Queries are as long as in the first context, where later ones grow. None where the layer turns nothing. Where norms
    of queries and keys stand behind that, their gains are counted, and the key is the text's first.
    """
    attn = model.block(layer).attn
    rotary = attn.rotary
    if rotary is None:
        return None
    ends = torch.tensor([[distance], [0]])
    identity = torch.eye(model.cfg.d_head).expand(2, 1, -1, -1)
    of_query, of_key = rotary.turn(identity, rotary.waves(ends, distance + 1))[:, 0]
    if model.cfg.qk_norm_after_rotary:
        norms = (head_norm(norm, 0, model.cfg.d_head) for norm in (attn.q_norm, attn.k_norm))
        of_query, of_key = (
            each if norm is None or norm.w is None else each * widened(norm.w)
            for each, norm in zip((of_query, of_key), norms, strict=True)
        )
    return of_query @ of_key.T


def no_split(model: Transformer) -> str:
    """Reason why no stream of a model is the sum of its components' writes; a sentence for the user, or empty."""
    if not model.cfg.post_norm:
        return ""
    return (
        "This model normalises the stream itself after each addition, so that what a part wrote is rescaled by every "
        "later layer: its stream is no plain sum of parts."
    )


def no_logits(model: Transformer) -> str:
    """Reason why a model has no logits; a sentence for the user, or empty."""
    return "This model has no head, and so no logits." if model.cfg.output == "none" else ""


def no_reading(model: Transformer) -> str:
    """Reason why no logit is a sum over writes to the final stream; a sentence for the user, or empty."""
    if reason := no_logits(model):
        return reason
    if model.cfg.mlm_act_fn is None and model.cfg.pooler_act_fn is None:
        return no_split(model)
    return (
        "Between this model's last stream and its logits stands a layer with an activation function, so that no logit "
        "is a plain sum over what was written to the stream."
    )


def check_split(model: Transformer) -> None:
    """Refuse a model whose streams are no sums.

    Raises:
        InputError: it says why.
    """
    if reason := no_split(model):
        raise InputError(reason)


def check_reading(model: Transformer) -> None:
    """Refuse a model whose logits are not sums over the writes to the stream.

    Raises:
        InputError: it says why.
    """
    if reason := no_reading(model):
        raise InputError(reason)


def check_logits(model: Transformer) -> None:
    """Refuse a model without a head.

    Raises:
        InputError: it says why.
    """
    if reason := no_logits(model):
        raise InputError(reason)
