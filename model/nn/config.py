"""The settings that fix a decoder-only transformer's shape, under TransformerLens's names."""

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from headlight.model.base.checks import MAX_FLOAT32, check_choice, check_dropout, check_size, positive
from headlight.model.base.errors import ConfigError

Activation = Literal["relu", "gelu", "gelu_new", "silu", "quick_gelu", "relu2"]
MLPActivation = Literal[Activation, "xielu"]  # the last with parameters of its own
Normalization = Literal["LN", "LNPre", "RMS", "RMSPre"]
AttentionDirection = Literal["causal", "bidirectional"]
PositionalEmbedding = Literal[
    "standard", "rotary", "alibi", "relative_positional_bias", "standard_and_relative", "none"
]
AttentionType = Literal["global", "local"]
Scaling = Literal["linear", "dynamic", "yarn", "llama3", "longrope"]
HeadActivation = Literal["relu", "gelu", "gelu_new", "silu", "quick_gelu", "tanh"]
DenseActivation = Literal["identity", "tanh", "relu", "gelu", "silu"]
Output = Literal["tokens", "labels", "token labels", "answer span", "none"]
OutputPosition = Literal["each", "first", "last", "mean"]
Disentangled = Literal["c2p", "p2c"]
DType = Literal["float32", "stored", "bfloat16"]  # what matrices are kept in

CAPS = ("attn_scores_soft_cap", "output_logits_soft_cap")
POSITIVE = ("eps", "attn_scale", "rotary_base", "alibi_scale", "embedding_scale", "residual_scale", "logits_scale")


@dataclass(frozen=True, kw_only=True)
class RotaryScaling:
    """Scaling of rotary frequencies to a longer context than the model was first trained on.

    `original_n_ctx` is that context. `low_freq_factor` and `high_freq_factor` are llama3's, `beta_fast`, `beta_slow`
    and `truncate` yarn's, `short_factor` and `long_factor` longrope's, one for each pair of components.
    `attention_factor` multiplies what is rotated.

    Source: transformers' modeling_rope_utils for the kinds and the names of what they take.
    """

    kind: Scaling
    factor: float = 1.0
    original_n_ctx: int | None = None
    attention_factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_choice("rotary_scaling.kind", self.kind, get_args(Scaling))
        for name in ("factor", "attention_factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow"):
            object.__setattr__(self, name, positive(f"rotary_scaling.{name}", getattr(self, name)))
        for name in ("short_factor", "long_factor"):
            factors = tuple(positive(f"rotary_scaling.{name}", factor) for factor in getattr(self, name))
            object.__setattr__(self, name, factors)
        if self.kind != "linear":
            check_size("rotary_scaling.original_n_ctx", self.original_n_ctx)

    def check(self, rotary_dim: int, base: float) -> None:
        """Refuse settings that give no frequencies for this number of components and this base.

        Raises:
            ConfigError: longrope's factors are not one for each pair, or a formula would divide by 0.
        """
        if self.kind == "longrope" and {len(self.short_factor), len(self.long_factor)} != {rotary_dim // 2}:
            raise ConfigError(
                f"longrope has {len(self.short_factor)} short and {len(self.long_factor)} long factors; there have to "
                f"be {rotary_dim // 2} of each, one for each pair of the {rotary_dim} components that are turned."
            )
        if self.kind == "yarn" and base == 1:
            raise ConfigError("rotary_base is 1; yarn needs another base, for it divides by its logarithm.")
        if self.kind == "dynamic" and rotary_dim <= 2:
            raise ConfigError(f"rotary_dim is {rotary_dim}; dynamic scaling needs more than 2 components to turn.")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and architecture of a decoder-only or encoder-only model; derived settings may be left out.

    `d_mlp` defaults to 4 d_model, `d_vocab_out` to d_vocab, `d_value` (the width of values, where it is not that of
    queries and keys) to d_head, `n_key_value_heads` to n_heads and `attn_scale`, by which scores are divided, to
    sqrt(d_head). `dropout` is the share of activations set to zero in training, after embeddings, patterns and whatever
    joins the stream.
    `normalization_type` is "LN" (gain and bias), "LNPre" (without them), "RMS" (gain alone, nothing is centred),
    "RMSPre" or None. `gelu` is the exact function, `gelu_new` the tanh approximation that GPT-2 was trained with,
    `relu2` the square of a ReLU, `xielu` one whose two slopes each layer has learned.

    Positions: "standard" is learned and absolute. "rotary" turns pairs of the first `rotary_dim` components of each
    query and key (halves of them, or neighbours with `rotary_adjacent_pairs`; the other way round with
    `rotary_clockwise`) with frequencies from `rotary_base`, stretched by `rotary_scaling`; layers in `no_rope_layers`
    turn nothing, and local ones go by `rotary_base_local` if set, unscaled. With `query_growth` a query at position p
    is longer by the factor 1 + `query_growth` log(1 + p // `query_growth_n_ctx`). "alibi" takes from each score the
    distance times a slope of the head's own, and times `alibi_scale`; with `alibi_in_bfloat16` slopes, and their
    products with positions, are rounded to bfloat16.

    "relative_positional_bias" adds to each score a number of the head's own that is learned for the distance, one for
    each of `relative_attention_num_buckets` ranges of distances, the last from `relative_attention_max_distance` on.
    All layers have the first one's, or with `rel_pos_bias_per_layer` each its own. "standard_and_relative" has both.

    `disentangled_attention` adds what a query gives to the distance of a key ("c2p") and a key to that of a query
    ("p2c"): for each distance up to `relative_attention_max_distance`, or for each of so many `position_buckets` to
    either side, half of which hold one distance each.

    Attention: groups of heads share keys and values where `n_key_value_heads` is less than `n_heads`. Layers whose
    `attn_types` is "local", or all without it, see `window_size` tokens back, themselves included (bidirectional:
    half of it to both sides). `use_qk_norm` normalises each head's query and key before they are turned, or after that
    with `qk_norm_after_rotary`, with gains of the head's own where `qk_norm_per_head` is true (LN), or those of
    all heads as one vector where `qk_norm_across_heads` is (RMS).
    `clip_qkv` c clips components of queries, keys and values at -c and c, behind the norms of queries and keys.
    `attn_scores_soft_cap` and `output_logits_soft_cap` c make x of scores and logits c tanh(x / c).
    With `use_attention_sinks` a learned score a head takes part in the softmax and is dropped.

    Blocks: `gated_mlp` multiplies the activations by a second linear layer; with `mlp_limit` both are clipped at that
    and 1 is added to the second. With `parallel_attn_mlp` attention and MLP read the same stream, by one norm or by two
    (`parallel_norms`). `use_normalization_before_and_after` normalises what attention and MLP give as well;
    `normalize_before` false leaves out the norms before them. `post_norm` normalises the stream itself after each
    addition. With `num_experts` an MLP is so many, of which a router chooses `experts_per_token`; `norm_topk_prob` has
    the weights of those chosen sum to 1. Layers in `dense_layers` have one MLP all the same, `d_mlp_dense` wide. With
    `d_mlp_shared` every token goes through one more MLP, of that width, by a weight of its own between 0 and 1.

    Encoders: `n_token_types` adds an embedding of which text a token is in, `embeddings_ln` normalises the sum of all
    embeddings (`post_embedding_ln` the token's alone), whose width `d_embed` is brought to d_model where it differs,
    or with `project_embeddings` always. The token `token_dropout` has no embedding, and the others of a text are larger
    by the share of it there.
    With `conv_kernel_size` the first layer ends in a convolution over so many neighbouring tokens of what it read, in
    `conv_groups` groups, by `conv_act_fn`, which is added to its stream and normalised with it.
    Layers in `no_ln1_layers` have no norm before attention. With `mlm_act_fn` a linear layer, that function and a norm
    stand before the unembedding; `output_bias` gives one that is tied a bias.

    Outputs: "tokens" of a language model; "labels" of a classifier, one for the whole text, or "token labels";
    "answer span", which is the token at which an answer starts and that at which it ends; "none" of a body without a
    head, which gives its last hidden state. `output_labels` are the names of what is no token; with `multi_label` a
    text may have several, each with a probability of its own. `output_position` is where what counts for the whole text
    is read: at the "first" token, at the "last" that is not `pad_token`, or from the "mean" of all; "each" where every
    token has outputs of its own, or nothing says. With `pooler_act_fn` a linear layer and that function stand between
    the final stream and the outputs (of a body they stand beside). `value_head` gives one number more at each token.
    `sentence_dense` are the widths and activations of layers that a sentence goes through once it is pooled.

    Multipliers: `embedding_scale` of embeddings, `residual_scale` of what attention and MLP write, `logits_scale`.

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
    d_embed: int | None = None
    project_embeddings: bool = False
    token_dropout: int | None = None
    n_token_types: int | None = None
    act_fn: MLPActivation = "gelu_new"
    attn_only: bool = False
    normalization_type: Normalization | None = "LN"
    attention_dir: AttentionDirection = "causal"
    attn_scale: float | None = None
    scale_attn_by_inverse_layer_idx: bool = False
    eps: float = 1e-5
    dropout: float = 0.0
    tie_word_embeddings: bool = False
    positional_embedding_type: PositionalEmbedding = "standard"
    rotary_dim: int | None = None
    rotary_base: float = 10000.0
    rotary_base_local: float | None = None
    rotary_adjacent_pairs: bool = False
    rotary_clockwise: bool = False
    rotary_scaling: RotaryScaling | None = None
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    rel_pos_bias_per_layer: bool = False
    disentangled_attention: tuple[Disentangled, ...] = ()
    position_buckets: int = 0
    no_rope_layers: tuple[int, ...] = ()
    query_growth: float | None = None
    query_growth_n_ctx: int | None = None
    alibi_scale: float = 1.0
    alibi_in_bfloat16: bool = False
    n_key_value_heads: int | None = None
    window_size: int | None = None
    attn_types: tuple[AttentionType, ...] | None = None
    use_qk_norm: bool = False
    qk_norm_after_rotary: bool = False
    qk_norm_per_head: bool = False
    qk_norm_across_heads: bool = False
    use_attention_sinks: bool = False
    clip_qkv: float | None = None
    attn_scores_soft_cap: float | None = None
    output_logits_soft_cap: float | None = None
    gated_mlp: bool = False
    mlp_limit: float | None = None
    num_experts: int | None = None
    experts_per_token: int | None = None
    norm_topk_prob: bool = False
    dense_layers: tuple[int, ...] = ()
    d_mlp_dense: int | None = None
    d_mlp_shared: int | None = None
    parallel_attn_mlp: bool = False
    parallel_norms: int = 1
    use_normalization_before_and_after: bool = False
    normalize_before: bool = True
    post_norm: bool = False
    post_embedding_ln: bool = False
    embeddings_ln: bool = False
    no_ln1_layers: tuple[int, ...] = ()
    conv_kernel_size: int | None = None
    conv_groups: int = 1
    conv_act_fn: HeadActivation = "tanh"
    mlm_act_fn: Activation | None = None
    output_bias: bool = False
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logits_scale: float = 1.0
    output: Output = "tokens"
    output_labels: tuple[str, ...] = ()
    output_position: OutputPosition = "each"
    multi_label: bool = False
    pad_token: int | None = None
    pooler_act_fn: HeadActivation | None = None
    value_head: bool = False
    sentence_dense: tuple[tuple[int, DenseActivation], ...] = ()

    def __post_init__(self) -> None:
        self._check_sizes("n_layers", "d_model", "n_ctx", "n_heads", "d_head", "d_vocab")
        self._default("d_mlp", None if self.attn_only else 4 * self.d_model)
        self._default("d_vocab_out", self.d_vocab)
        self._default("d_value", self.d_head)
        self._default("n_key_value_heads", self.n_heads)
        self._default("d_mlp_dense", self.d_mlp)
        self._default("d_embed", self.d_model)
        object.__setattr__(self, "project_embeddings", self.project_embeddings or self.d_embed != self.d_model)
        self._default("attn_scale", self.d_head**0.5)
        self._check_sizes("d_vocab_out", "d_value", "d_embed", *([] if self.attn_only else ["d_mlp", "d_mlp_dense"]))
        for name in POSITIVE:
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in (*CAPS, "clip_qkv", "rotary_base_local", "mlp_limit", "query_growth"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(name, getattr(self, name)))
        for name in ("clip_qkv", "mlp_limit"):
            if (limit := getattr(self, name)) is not None:  # a larger one clips nothing either, and torch reads none
                object.__setattr__(self, name, min(limit, MAX_FLOAT32))
        check_dropout(self.dropout)
        check_choice("act_fn", self.act_fn, get_args(MLPActivation))
        check_choice("mlm_act_fn", self.mlm_act_fn, (*get_args(Activation), None))
        check_choice("normalization_type", self.normalization_type, (*get_args(Normalization), None))
        check_choice("attention_dir", self.attention_dir, get_args(AttentionDirection))
        if self.position_buckets != 0:
            check_size("position_buckets", self.position_buckets)
        for kind in self.disentangled_attention:
            check_choice("disentangled_attention", kind, get_args(Disentangled))
        check_choice("positional_embedding_type", self.positional_embedding_type, get_args(PositionalEmbedding))
        for field in fields(self):
            if field.type in ("bool", bool):
                check_choice(field.name, getattr(self, field.name), (True, False))
        self._check_positions()
        self._check_convolution()
        self._check_attention()
        self._check_experts()
        self._check_output()
        if self.tie_word_embeddings and self.d_vocab_out != self.d_vocab:
            raise ConfigError(
                f"Tied embeddings need d_vocab_out = d_vocab, but they are {self.d_vocab_out} and {self.d_vocab}. "
                "Set tie_word_embeddings=False, or leave d_vocab_out out."
            )

    def written(self, layer: int) -> tuple[tuple[str, str | None], ...]:
        """Hook names of a layer's writes, in order, with the stream after each where that has a name."""
        if self.attn_only:
            return (("attn_out", "resid_post"),)
        between = None if self.parallel_attn_mlp else "resid_mid"
        convolved = (("conv_out", None),) if self.conv_kernel_size and layer == 0 else ()
        return (("attn_out", between), ("mlp_out", "resid_post"), *convolved)

    @property
    def states(self) -> int:
        """Number of named streams per layer after its input: after attention and after its MLP, or one."""
        return sum(state is not None for _, state in self.written(0))

    @property
    def has_relative_bias(self) -> bool:
        """Whether scores have a learned bias for the distance."""
        return self.positional_embedding_type in ("relative_positional_bias", "standard_and_relative")

    @property
    def is_masked(self) -> bool:
        """Whether the model predicts tokens that are masked, rather than the next one."""
        return self.mlm_act_fn is not None and self.output == "tokens"

    @property
    def predicts_tokens(self) -> bool:
        """Whether the outputs are the tokens that are read."""
        return self.output == "tokens" and self.d_vocab_out == self.d_vocab

    @property
    def has_one_output(self) -> bool:
        """Whether there is a single output, as a reward model's, whose logit stands for itself."""
        return self.d_vocab_out == 1 and self.output not in ("tokens", "none")

    @property
    def pools_mean(self) -> bool:
        """Whether a classifier reads the mean of all tokens."""
        return self.output == "labels" and self.output_position == "mean"

    @property
    def d_read(self) -> int:
        """Width of the input of the unembedding, or of a classifier's last layer."""
        return (self.d_embed or self.d_model) if self.output == "tokens" else self.d_model

    @property
    def is_grouped(self) -> bool:
        """Whether groups of heads share keys and values."""
        return self.n_key_value_heads != self.n_heads

    @property
    def n_shared(self) -> int:
        """Number of keys and values at a position: one for each head, or for each group of heads."""
        return self.n_key_value_heads or self.n_heads

    def group_of(self, head: int) -> int:
        """Index of a head's keys and values: its own, or those of its group."""
        return head * self.n_shared // self.n_heads

    def window(self, layer: int) -> int | None:
        """Number of tokens back that a layer's query sees, itself included; None for all."""
        local = self.attn_types is None or self.attn_types[layer] == "local"
        return self.window_size if local else None

    def _check_positions(self) -> None:
        if self.positional_embedding_type == "rotary":
            self._default("rotary_dim", self.d_head)
            check_size("rotary_dim", self.rotary_dim)
            if self.rotary_dim > self.d_head or self.rotary_dim % 2:  # type: ignore[operator]
                raise ConfigError(
                    f"rotary_dim is {self.rotary_dim}; it has to be even, and at most d_head, which is {self.d_head}."
                )
        self._check_sizes("relative_attention_num_buckets", "relative_attention_max_distance")
        exact = self.relative_attention_num_buckets // (4 if self.attention_dir == "bidirectional" else 2)
        if self.has_relative_bias and not 0 < exact < self.relative_attention_max_distance:
            raise ConfigError(
                f"relative_attention_max_distance is {self.relative_attention_max_distance}; of "
                f"{self.relative_attention_num_buckets} buckets {exact} hold one distance each, which has to be at "
                "least 1, and less than that."
            )
        if self.query_growth is not None:
            check_size("query_growth_n_ctx", self.query_growth_n_ctx)
        if isinstance(self.rotary_scaling, dict):  # as it is read from JSON
            object.__setattr__(self, "rotary_scaling", _rotary_scaling(self.rotary_scaling))
        if self.positional_embedding_type == "rotary" and self.rotary_scaling is not None:
            self.rotary_scaling.check(self.rotary_dim or 0, self.rotary_base)
        for name in ("no_rope_layers", "no_ln1_layers", "disentangled_attention"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.n_token_types is not None:
            check_size("n_token_types", self.n_token_types)

    def _check_convolution(self) -> None:
        check_choice("conv_act_fn", self.conv_act_fn, get_args(HeadActivation))
        if self.conv_kernel_size is None:
            return
        self._check_sizes("conv_kernel_size", "conv_groups")
        if self.conv_kernel_size % 2 == 0 or self.d_model % self.conv_groups:
            raise ConfigError(
                f"conv_kernel_size is {self.conv_kernel_size} and conv_groups {self.conv_groups}; supported are an odd "
                f"one, and one that divides d_model, which is {self.d_model}."
            )
        if not self.post_norm or self.n_layers < 2:
            raise ConfigError("A convolution needs post_norm=True, and a layer behind it.")

    def _check_attention(self) -> None:
        self._check_sizes("n_key_value_heads")
        if self.n_heads % self.n_key_value_heads:  # type: ignore[operator]
            raise ConfigError(
                f"n_key_value_heads is {self.n_key_value_heads}; it has to divide n_heads, which is {self.n_heads}."
            )
        if self.qk_norm_per_head and self.normalization_type != "LN":
            raise ConfigError(f"qk_norm_per_head needs normalization_type 'LN'; it is {self.normalization_type!r}.")
        if self.window_size is not None:
            check_size("window_size", self.window_size)
        if self.attn_types is not None:
            object.__setattr__(self, "attn_types", tuple(self.attn_types))
            for each in self.attn_types:
                check_choice("attn_types", each, get_args(AttentionType))
            if len(self.attn_types) != self.n_layers:
                raise ConfigError(f"attn_types names {len(self.attn_types)} layers; n_layers is {self.n_layers}.")

    def _check_experts(self) -> None:
        check_choice("parallel_norms", self.parallel_norms, (1, 2))
        object.__setattr__(self, "dense_layers", tuple(self.dense_layers))
        if self.num_experts is not None:
            self._check_sizes("num_experts", "experts_per_token")
            if self.d_mlp_shared is not None:
                self._check_sizes("d_mlp_shared")
            if self.experts_per_token > self.num_experts:  # type: ignore[operator]
                raise ConfigError(
                    f"experts_per_token is {self.experts_per_token}; it can be at most num_experts, which is "
                    f"{self.num_experts}."
                )

    def _check_output(self) -> None:
        check_choice("output", self.output, get_args(Output))
        check_choice("output_position", self.output_position, get_args(OutputPosition))
        check_choice("pooler_act_fn", self.pooler_act_fn, (*get_args(HeadActivation), None))
        object.__setattr__(self, "sentence_dense", tuple((width, act) for width, act in self.sentence_dense))
        for width, act in self.sentence_dense:
            check_size("sentence_dense", width)
            check_choice("sentence_dense", act, get_args(DenseActivation))
        object.__setattr__(self, "output_labels", tuple(map(str, self.output_labels)))
        if self.output_labels and len(self.output_labels) != self.d_vocab_out:
            raise ConfigError(
                f"output_labels names {len(self.output_labels)} outputs; d_vocab_out is {self.d_vocab_out}."
            )

    def _default(self, name: str, value: object) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _check_sizes(self, *names: str) -> None:
        for name in names:
            check_size(name, getattr(self, name))


def _rotary_scaling(settings: dict[str, Any]) -> RotaryScaling:
    known = {field.name for field in fields(RotaryScaling)}
    if unknown := sorted(settings.keys() - known):
        raise ConfigError(f"rotary_scaling has no {unknown[0]!r}; it can have {', '.join(sorted(known))}.")
    return RotaryScaling(**({"kind": None} | settings))
