"""Layers between the final stream and a classifier's logits, and other outputs beside a language model's."""

from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.compute import product
from headlight.model.nn.config import DenseActivation, TransformerConfig
from headlight.model.nn.hooks import Tap
from headlight.model.nn.layers.mlp import ACTIVATIONS
from headlight.model.nn.layers.norms import NoNorm
from headlight.model.nn.layers.parameters import normal, widened, zeros


class Pooler(nn.Module):
    """A linear layer and an activation function.

    Source: Devlin et al. 2018, "BERT"; transformers' BertPooler and RobertaClassificationHead.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.pooler_act_fn is not None  # else there would be none
        self.W, self.b = normal(cfg.d_model, cfg.d_model), zeros(cfg.d_model)
        self.act_fn = ACTIVATIONS[cfg.pooler_act_fn]

    def forward(self, resid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        pre = product(resid, self.W, "batch pos d_model, d_model d_pooled -> batch pos d_pooled", self.b)
        return tap("hook_post", self.act_fn(tap("hook_pre", pre)))


class LabelHead(nn.Module):
    """An encoder-decoder's classifier: a linear layer, tanh, and one more to the labels.

    Source: transformers' BartClassificationHead.
    """

    def __init__(self, d_model: int, n_labels: int) -> None:
        super().__init__()
        self.W, self.b = normal(d_model, d_model), zeros(d_model)
        self.W_U, self.b_U = normal(d_model, n_labels), zeros(n_labels)

    def forward(self, resid: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos label"]:
        pre = product(resid, self.W, "batch pos d_model, d_model d_pooled -> batch pos d_pooled", self.b)
        post = tap("hook_post", tap("hook_pre", pre).tanh())
        return tap("hook_out", product(post, self.W_U, "batch pos d_model, d_model label -> batch pos label", self.b_U))


class ValueHead(nn.Module):
    """A linear layer from each token's normalised stream to its value.

    Source: trl's AutoModelForCausalLMWithValueHead.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.W, self.b = normal(cfg.d_model, 1), zeros(1)

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos 1"]:
        values = product(normalized, self.W, "batch pos d_model, d_model value -> batch pos value", self.b)
        return tap("hook_value", values)


class SentenceDense(nn.Module):
    """A linear layer and an activation function on a whole sentence.

    Source: sentence-transformers' Dense.
    """

    def __init__(self, d_in: int, d_out: int, act_fn: DenseActivation) -> None:
        super().__init__()
        self.W, self.b = normal(d_in, d_out), zeros(d_out)
        self.act_fn = None if act_fn == "identity" else ACTIVATIONS[act_fn]

    def forward(self, sentence: Float[Tensor, " d_in"]) -> Float[Tensor, " d_out"]:
        """In the precision of the sentence."""
        linear = sentence @ widened(self.W).to(sentence) + self.b.to(sentence)
        return linear if self.act_fn is None else self.act_fn(linear)


def build_sentence_dense(cfg: TransformerConfig) -> nn.ModuleList:
    """The layers behind the pooling, in order."""
    widths = [cfg.d_model, *(width for width, _ in cfg.sentence_dense)]
    return nn.ModuleList(
        SentenceDense(d_in, d_out, act) for d_in, (d_out, act) in zip(widths, cfg.sentence_dense, strict=False)
    )


def build_pooler(cfg: TransformerConfig) -> nn.Module:
    """Build the pooler that the config asks for, or the identity."""
    return NoNorm() if cfg.pooler_act_fn is None else Pooler(cfg)
