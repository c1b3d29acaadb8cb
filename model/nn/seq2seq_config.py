"""The settings that fix an encoder-decoder's shape."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from headlight.model.base.checks import check_choice, check_size
from headlight.model.base.errors import ConfigError
from headlight.model.nn.config import Activation, Normalization, TransformerConfig

Positions = Literal["sinusoidal", "learned", "relative"]
Seq2SeqOutput = Literal["tokens", "labels", "answer span", "none"]
SharedEmbeddings = Literal["none", "inputs", "target", "all"]


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig:
    """Sizes and architecture of an encoder-decoder; derived settings may be left out.

    `d_vocab` is the source's vocabulary, `d_vocab_out` the target's (the same when left out). `norm_first` normalises
    what enters each sublayer (pre-LayerNorm), otherwise what leaves it, as in the original paper; `final_norm`
    normalises the output of both stacks and defaults to `norm_first`. `scale_embed` multiplies token embeddings by
    sqrt(d_model). `embeddings_ln` normalises embeddings with their positions; these are "relative" where attention has
    a bias for them, the first layer's or, with `rel_pos_bias_per_layer`, each layer's own. `shared_embeddings` is
    "none", "inputs" (source's and target's embedding are one matrix), "target" (target's and output's) or "all" three;
    an output that shares has a bias only with `output_bias`. A target begins with `start_token` and ends with
    `end_token`, a source ends with `source_end_token` if set. The other names are `TransformerConfig`'s.

    Outputs: "tokens" to write; "labels" of a classifier, by their names in `labels`; an "answer span", where an answer
    starts and ends; "none" of a body without a head, which gives the decoder's last hidden state. Whatever writes no
    tokens reads the source as the target too, behind `start_token` or, with `starts_with_last`, behind the source's own
    last token; labels are read at the source's last `end_token`. With `multi_label` a source may have several.

    Raises:
        ConfigError: a size that is not a positive integer, an unknown choice, a special token outside its
            vocabulary, or shared embeddings of unequal size.

    Source: Vaswani et al. 2017; section 3.4 for sharing and scaling, 3.5 for sinusoidal positions.
    """

    n_encoder_layers: int
    n_decoder_layers: int
    d_model: int
    n_ctx: int
    n_heads: int
    d_head: int
    d_vocab: int
    start_token: int
    end_token: int
    source_end_token: int | None = None
    d_vocab_out: int | None = None
    d_value: int | None = None
    d_mlp: int | None = None
    act_fn: Activation = "relu"
    gated_mlp: bool = False
    normalization_type: Normalization = "LN"
    norm_first: bool = True
    final_norm: bool | None = None
    embeddings_ln: bool = False
    positions: Positions = "sinusoidal"
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    rel_pos_bias_per_layer: bool = False
    scale_embed: bool = True
    shared_embeddings: SharedEmbeddings = "target"
    output_bias: bool = False
    logits_scale: float = 1.0
    output: Seq2SeqOutput | None = None
    labels: tuple[str, ...] = ()
    multi_label: bool = False
    starts_with_last: bool = False
    attn_scale: float | None = None
    eps: float = 1e-5
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_size("n_encoder_layers", self.n_encoder_layers)
        check_size("n_decoder_layers", self.n_decoder_layers)
        if self.final_norm is None:
            object.__setattr__(self, "final_norm", self.norm_first)
        for name in (
            "norm_first",
            "final_norm",
            "embeddings_ln",
            "scale_embed",
            "output_bias",
            "rel_pos_bias_per_layer",
            "multi_label",
            "starts_with_last",
        ):
            check_choice(name, getattr(self, name), (True, False))
        check_choice("positions", self.positions, get_args(Positions))
        check_choice("shared_embeddings", self.shared_embeddings, get_args(SharedEmbeddings))
        for name in ("d_vocab_out", "d_value", "d_mlp", "attn_scale"):  # the defaults are the decoder's
            object.__setattr__(self, name, getattr(self.decoder, name))
        object.__setattr__(self, "labels", tuple(map(str, self.labels)))
        if self.output is None:
            object.__setattr__(self, "output", "labels" if self.labels else "tokens")
        check_choice("output", self.output, get_args(Seq2SeqOutput))
        self._check_vocabulary()

    @property
    def encoder(self) -> TransformerConfig:
        """The encoder's stack."""
        return TransformerConfig(
            n_layers=self.n_encoder_layers,
            d_model=self.d_model,
            n_ctx=self.n_ctx,
            n_heads=self.n_heads,
            d_head=self.d_head,
            d_vocab=self.d_vocab,
            d_vocab_out=self.d_vocab_out,
            d_value=self.d_value,
            d_mlp=self.d_mlp,
            act_fn=self.act_fn,
            gated_mlp=self.gated_mlp,
            normalization_type=self.normalization_type,
            positional_embedding_type="relative_positional_bias" if self.positions == "relative" else "standard",
            relative_attention_num_buckets=self.relative_attention_num_buckets,
            relative_attention_max_distance=self.relative_attention_max_distance,
            rel_pos_bias_per_layer=self.rel_pos_bias_per_layer,
            attention_dir="bidirectional",
            attn_scale=self.attn_scale,
            eps=self.eps,
            dropout=self.dropout,
            logits_scale=self.logits_scale,
        )

    @property
    def decoder(self) -> TransformerConfig:
        """The decoder's stack, whose vocabulary is the target's."""
        d_vocab = self.d_vocab if self.d_vocab_out is None else self.d_vocab_out
        return replace(
            self.encoder,
            n_layers=self.n_decoder_layers,
            d_vocab=d_vocab,
            d_vocab_out=d_vocab,
            attention_dir="causal",
            tie_word_embeddings=self.shared_embeddings in ("target", "all"),
        )

    def _check_vocabulary(self) -> None:
        d_vocab_out = self.decoder.d_vocab
        if self.shared_embeddings in ("inputs", "all") and d_vocab_out != self.d_vocab:
            raise ConfigError(
                f"Embeddings shared by source and target need one vocabulary, but d_vocab is {self.d_vocab} and "
                f'd_vocab_out {d_vocab_out}. Set shared_embeddings="target" or "none", or leave d_vocab_out out.'
            )
        _check_token("start_token", self.start_token, d_vocab_out)
        _check_token("end_token", self.end_token, d_vocab_out)
        if self.source_end_token is not None:
            _check_token("source_end_token", self.source_end_token, self.d_vocab)


def _check_token(name: str, token: object, d_vocab: int) -> None:
    if not isinstance(token, int) or isinstance(token, bool) or not 0 <= token < d_vocab:
        raise ConfigError(f"{name} is {token!r}; it has to be a token id of its vocabulary, from 0 to {d_vocab - 1}.")
