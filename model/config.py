"""The settings that fix a decoder-only transformer's shape, under TransformerLens's names."""

import sys
from dataclasses import dataclass
from typing import Literal, get_args

from headlight.model.errors import ConfigError

Activation = Literal["relu", "gelu", "gelu_new", "silu"]
Normalization = Literal["LN", "LNPre"]
AttentionDirection = Literal["causal", "bidirectional"]

TOO_LARGE = 2**31  # for any size; no model comes near it, and floating point can still take what is below


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of layer of one model; what follows from others is filled in when left out.

    `d_mlp` defaults to 4 d_model, `d_vocab_out` to d_vocab, `d_value` (the width of values, where it is not that of
    queries and keys) to d_head and `attn_scale`, by which scores are divided, to sqrt(d_head). `dropout` is the share
    of activations set to zero in training, after embeddings, patterns and whatever joins the stream.
    `normalization_type` is "LN" (gain and bias), "LNPre" (without them) or None. `gelu` is the exact
    function, `gelu_new` the tanh approximation that GPT-2 was trained with.

    Raises:
        ConfigError: a size that is not a positive integer, an unknown choice, a dropout that is no share, or tied
            embeddings of unequal size.

    Source: the names are those of TransformerLens's HookedTransformerConfig.
    """

    n_layers: int
    d_model: int
    n_ctx: int
    n_heads: int
    d_head: int
    d_vocab: int
    d_mlp: int | None = None
    d_vocab_out: int | None = None
    d_value: int | None = None
    act_fn: Activation = "gelu_new"
    attn_only: bool = False
    normalization_type: Normalization | None = "LN"
    attention_dir: AttentionDirection = "causal"
    attn_scale: float | None = None
    scale_attn_by_inverse_layer_idx: bool = False
    eps: float = 1e-5
    dropout: float = 0.0
    tie_word_embeddings: bool = False

    def __post_init__(self) -> None:
        self._check_sizes("n_layers", "d_model", "n_ctx", "n_heads", "d_head", "d_vocab")
        self._default("d_mlp", None if self.attn_only else 4 * self.d_model)
        self._default("d_vocab_out", self.d_vocab)
        self._default("d_value", self.d_head)
        self._default("attn_scale", self.d_head**0.5)
        self._check_sizes("d_vocab_out", "d_value", *([] if self.attn_only else ["d_mlp"]))
        for name in ("eps", "attn_scale"):
            number = getattr(self, name)
            if not isinstance(number, int | float) or not 0 < number <= sys.float_info.max:
                raise ConfigError(f"{name} is {number!r}; it has to be a number greater than 0, and finite.")
            object.__setattr__(self, name, float(number))
        check_dropout(self.dropout)
        check_choice("act_fn", self.act_fn, get_args(Activation))
        check_choice("normalization_type", self.normalization_type, (*get_args(Normalization), None))
        check_choice("attention_dir", self.attention_dir, get_args(AttentionDirection))
        for name in ("attn_only", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings"):
            check_choice(name, getattr(self, name), (True, False))
        if self.tie_word_embeddings and self.d_vocab_out != self.d_vocab:
            raise ConfigError(
                f"Tied embeddings need d_vocab_out = d_vocab, but they are {self.d_vocab_out} and {self.d_vocab}. "
                "Set tie_word_embeddings=False, or leave d_vocab_out out."
            )

    def _default(self, name: str, value: object) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _check_sizes(self, *names: str) -> None:
        for name in names:
            check_size(name, getattr(self, name))


def check_size(name: str, size: object) -> None:
    """Refuse a size that is not a whole number of at least 1."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < TOO_LARGE:
        raise ConfigError(f"{name} is {size!r}; it has to be a whole number of at least 1, but below 2^31.")


def check_dropout(dropout: object) -> None:
    """Refuse a dropout that is not a share below 1."""
    if not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise ConfigError(f"dropout is {dropout!r}; it has to be a number from 0 up to, but not including, 1.")


def check_choice(name: str, given: object, allowed: tuple[object, ...]) -> None:
    """Refuse a setting that is none of the values allowed."""
    if given not in allowed:
        raise ConfigError(f"{name} is {given!r}; it can be one of {', '.join(map(repr, allowed))}.")
