"""The decoder-only transformer and the ways to run it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headlight.model.base.errors import InputError
from headlight.model.base.source import Source
from headlight.model.compute.read_ahead import in_turn
from headlight.model.nn.blocks import AttnOnlyBlock, block_kind, build_blocks
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooked import HookedModel
from headlight.model.nn.hooks import NO_TAP, HookFunction, NamesFilter, Tap
from headlight.model.nn.inputs import check_positions, check_tokens
from headlight.model.nn.layers.dropout import Dropout
from headlight.model.nn.layers.embeddings import Embed, EmbedProject, PosEmbed, TokenTypeEmbed, drop_tokens
from headlight.model.nn.layers.mlm_head import build_mlm_head
from headlight.model.nn.layers.norms import NoNorm, build_norm
from headlight.model.nn.layers.output_heads import ValueHead, build_pooler, build_sentence_dense
from headlight.model.nn.layers.positions import Positions, place
from headlight.model.nn.layers.unembeddings import Logits, build_unembed
from headlight.model.text.chat import Begin
from headlight.model.text.outputs import LabelNames, Outputs
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.text.vocabulary import TokenIds


class Transformer(HookedModel):
    """A decoder-only or encoder-only transformer, built from its config with GPT-2's initialisation.

    State-dict keys, activation names and shapes are TransformerLens's. A tied unembedding has no key of its own.
    `load` sets `tokenizer`, where there is one, and `source`, which says where the weights were read from.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.tokenizer: Tokenizer | None = None
        self.source: Source | None = None
        self.end_tokens: tuple[int, ...] = ()  # that the files beside the weights name
        self.reads_ahead = False  # set where the parameters are mapped from files and large
        self.embed = Embed(cfg)
        self.pos_embed = PosEmbed(cfg) if cfg.positional_embedding_type.startswith("standard") else None
        self.token_type_embed = TokenTypeEmbed(cfg) if cfg.n_token_types else None
        self.embed_ln = build_norm(cfg, cfg.d_embed) if cfg.embeddings_ln else NoNorm()
        self.embed_project = EmbedProject(cfg) if cfg.project_embeddings else nn.Identity()
        self.dropout = Dropout(cfg.dropout)
        self.blocks = build_blocks(block_kind(cfg), cfg)
        self.ln_final = NoNorm() if cfg.post_norm else build_norm(cfg)
        self.mlm_head = build_mlm_head(cfg)
        self.pooler = build_pooler(cfg)
        self.value_head = ValueHead(cfg) if cfg.value_head else None
        self.sentence_dense = build_sentence_dense(cfg)
        self.unembed = build_unembed(cfg, self.embed)

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        attention_mask: Int[Tensor, "batch key"] | None = None,
        *,
        tap: Tap = NO_TAP,
        stop_at_layer: int | None = None,
        n_past: int = 0,
        token_type_ids: Int[Tensor, "batch pos"] | None = None,
        position_ids: Int[Tensor, "batch pos"] | None = None,
    ) -> Float[Tensor, "_ pos_read d_out"]:
        """Logits at every position, or the residual stream before block `stop_at_layer`.

        `attention_mask` is 1 for real tokens and 0 for padding, left or right; a row's real tokens get the result
        that they get alone. `tap` sees, and may replace, every named activation on the way. With `n_past` the tokens
        follow as many that were run already, whose keys and values the tap puts before the new ones; the mask then
        covers both. `token_type_ids` says of each token which text it is in, where the model has an embedding of that;
        by default as `token_types` has it. `position_ids` are the tokens' positions, ascending, where they are not
        counted from the first: those of some tokens of a text.

        Raises:
            InputError: no tokens, more than the context holds, ids outside the vocabulary, or a mask or positions of
                another shape.
        """
        sizes = {"n_ctx": self.cfg.n_ctx, "d_vocab": self.cfg.d_vocab, "n_past": n_past}
        check_tokens("prompt", tokens, attention_mask, **sizes)
        real = None if attention_mask is None else attention_mask.bool()
        n_pos = tokens.shape[1]
        positions = place(self.cfg.attention_dir, real, n_past + n_pos, tokens.device, n_pos)
        if position_ids is not None:
            check_positions(position_ids, tokens, n_ctx=self.cfg.n_ctx, n_past=n_past)
            positions = replace(positions, query=position_ids, key=position_ids)
        types = None if self.token_type_embed is None else self._types(tokens, attention_mask, token_type_ids)
        resid = self._embedded(tokens, positions, tap, types)
        for layer, block in enumerate(self._blocks(stop_at_layer)):
            resid = block(resid, positions, tap.within(f"blocks.{layer}"))
        if stop_at_layer is not None:
            return resid
        return self.to_logits(resid, tap, None if real is None else real[:, n_past:])

    def token_types(
        self, tokens: Int[Tensor, "batch pos"], attention_mask: Int[Tensor, "batch pos"] | None = None
    ) -> Int[Tensor, "batch pos"]:
        """Segment of each token: by the tokenizer's encoding of a pair; all in the first without a tokenizer."""
        if (self.cfg.n_token_types or 1) == 1 or self.tokenizer is None:
            return torch.zeros_like(tokens)
        return self.tokenizer.token_types(tokens, None if attention_mask is None else attention_mask.bool())

    def _types(
        self,
        tokens: Int[Tensor, "batch pos"],
        mask: Int[Tensor, "batch pos"] | None,
        token_types: Int[Tensor, "batch pos"] | None,
    ) -> Int[Tensor, "batch pos"]:
        if token_types is None:
            return self.token_types(tokens, mask)
        n_types = self.cfg.n_token_types or 1
        if token_types.shape != tokens.shape or not (token_types.min() >= 0 and token_types.max() < n_types):
            raise InputError(
                f"Token types have shape {list(token_types.shape)} and go up to {int(token_types.max())}; give one of "
                f"0 to {n_types - 1} for each of the tokens {list(tokens.shape)}."
            )
        return token_types

    def _embedded(
        self, tokens: Int[Tensor, "batch pos"], positions: Positions, tap: Tap, types: Int[Tensor, "batch pos"] | None
    ) -> Float[Tensor, "batch pos d_model"]:
        embedded = self.embed(tokens, tap.within("embed"))
        if self.cfg.token_dropout is not None:
            embedded = drop_tokens(embedded, tokens == self.cfg.token_dropout, positions.mask[:, 0, 0].sum(-1))
        embedded = tap("hook_embed", embedded)
        if self.pos_embed is not None:
            where = positions.query.expand_as(tokens)
            embedded = embedded + tap("hook_pos_embed", self.pos_embed(where))
        if self.token_type_embed is not None and types is not None:
            embedded = embedded + tap("hook_token_type_embed", self.token_type_embed(types))
        return self.dropout(self.begun(embedded, tap))

    def begun(
        self, embedded: Float[Tensor, "batch pos d_embed"], tap: Tap = NO_TAP
    ) -> Float[Tensor, "batch pos d_model"]:
        """The stream before the first layer, of the sum of all embeddings; some normalise or widen it."""
        return self.embed_project(self.embed_ln(embedded, tap.within("embed_ln")))

    def _blocks(self, stop_at_layer: int | None) -> Iterable[nn.Module]:
        """The layers; where the model may be too large to stay in memory the next one is read meanwhile."""
        blocks = self.blocks[:stop_at_layer]
        if not self.reads_ahead:
            return blocks
        return in_turn(blocks, self.embed.W_E[:1] if self.cfg.output == "none" else self.unembed.W_U)

    def block(self, layer: int) -> AttnOnlyBlock:
        """A layer, from 0."""
        return cast(AttnOnlyBlock, self.blocks[layer])

    def read_from(
        self, resid: Float[Tensor, "batch pos d_model"], position: int
    ) -> Float[Tensor, "batch pos_read d_model"]:
        """Part of a final stream from which the outputs at a position are read; all of it where they read the mean."""
        return resid if self.cfg.pools_mean else resid[:, [position]]

    def to_unembed(
        self,
        resid: Float[Tensor, "batch pos d_model"],
        tap: Tap = NO_TAP,
        real: Bool[Tensor, "batch pos"] | None = None,
    ) -> Float[Tensor, "batch pos_read d_read"]:
        """A final stream as the unembedding reads it: normalised, through the head's layers, by `logits_scale`."""
        normalized = self.ln_final(resid, tap.within("ln_final"))
        if self.value_head is not None:
            self.value_head(normalized, tap.within("value_head"))
        if self.cfg.pools_mean:
            normalized = _mean(normalized, real)
        transformed = self.mlm_head(normalized, tap.within("mlm_head"))
        pooled = self.pooler(transformed, tap.within("pooler"))
        transformed = transformed if self.cfg.output == "none" else pooled
        transformed = transformed.to(resid.device)  # where layers lie on several devices it may be on the last
        return transformed if self.cfg.logits_scale == 1.0 else transformed * self.cfg.logits_scale

    def to_logits(
        self,
        resid: Float[Tensor, "batch pos d_model"],
        tap: Tap = NO_TAP,
        real: Bool[Tensor, "batch pos"] | None = None,
    ) -> Logits:
        """The logits of a final stream; `real` is false for padding, which a mean leaves out."""
        return self.capped(self.before_cap(resid, tap, real))

    def before_cap(
        self,
        resid: Float[Tensor, "batch pos d_model"],
        tap: Tap = NO_TAP,
        real: Bool[Tensor, "batch pos"] | None = None,
    ) -> Logits:
        """Logits of a final stream before any soft cap, where they are sums over the writes to it."""
        return self.unembed(self.to_unembed(resid, tap, real), tap.within("unembed")).to(resid.device)

    def capped(self, logits: Float[Tensor, "*rest d_vocab_out"]) -> Float[Tensor, "*rest d_vocab_out"]:
        """The model's logits, from those before its soft cap c: c tanh(logit / c); the same where it has none."""
        cap = self.cfg.output_logits_soft_cap
        return logits if cap is None else cap * (logits / cap).tanh()

    def run_with_cache(
        self,
        tokens: Int[Tensor, "batch pos"],
        names_filter: NamesFilter | None = None,
        attention_mask: Int[Tensor, "batch pos"] | None = None,
        stop_at_layer: int | None = None,
        token_type_ids: Int[Tensor, "batch pos"] | None = None,
    ) -> tuple[Float[Tensor, "batch pos_read d_out"], ActivationCache]:
        """The output of `forward` and the activations named by a name, a list or a predicate.

        Without a filter all are kept but `hook_result` (every head's output apart), which is computed when named; in
        inference mode, scores and patterns are computed from the kept queries and keys when they are first read.

        Raises:
            HookError: a name that the model does not have.
            InputError: as `forward`.
        """
        keep = self._collect(names_filter)
        returned = self(tokens, attention_mask, tap=keep, stop_at_layer=stop_at_layer, token_type_ids=token_type_ids)
        return returned, ActivationCache(keep.kept, self.cfg.n_layers)

    def run_with_hooks(
        self,
        tokens: Int[Tensor, "batch pos"],
        fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]] = (),
        attention_mask: Int[Tensor, "batch pos"] | None = None,
        stop_at_layer: int | None = None,
        token_type_ids: Int[Tensor, "batch pos"] | None = None,
        position_ids: Int[Tensor, "batch pos"] | None = None,
    ) -> Float[Tensor, "_ pos_read d_out"]:
        """The output of `forward` with hook functions `fn(activation, hook)` at names, lists or predicates.

        A function returns the activation to go on with, or None to keep its input, in-place edits included.

        Raises:
            HookError: a name that the model does not have, or a function that returns the wrong thing.
            InputError: as `forward`.
        """
        tap = self.edit(fwd_hooks)
        return self(tokens, attention_mask, tap=tap, stop_at_layer=stop_at_layer, token_type_ids=token_type_ids)

    @property
    def outputs(self) -> Outputs:
        """The names of the outputs: a classifier's labels, or the tokens.

        Raises:
            InputError: the outputs are tokens, and the model came without a tokenizer.
        """
        return LabelNames(self.cfg.output_labels) if self.cfg.output_labels else self._tokenizer()

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """End tokens: those of the files, of the tokenizer, and of an answer in the chat template."""
        ends = (*self.end_tokens, *(self.tokenizer.ends if self.tokenizer else ()))
        return tuple(dict.fromkeys(token for token in ends if token < self.cfg.d_vocab))

    def to_tokens(
        self, text: str, prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> Int[Tensor, "1 pos"]:
        """`Tokenizer.to_tokens` of the model's tokenizer, on the model's device."""
        return self._tokenizer().to_tokens(text, prepend_bos, parse_special).to(self.embed.W_E.device)

    def to_str_tokens(
        self, text: str | TokenIds, prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> list[str]:
        """`Tokenizer.to_str_tokens` of the model's tokenizer."""
        return self._tokenizer().to_str_tokens(text, prepend_bos, parse_special)

    def to_single_token(self, text: str, parse_special: bool | None = None) -> int:
        """`Tokenizer.to_single_token` of the model's tokenizer."""
        return self._tokenizer().to_single_token(text, parse_special)

    def to_string(self, tokens: TokenIds) -> str:
        """`Tokenizer.to_string` of the model's tokenizer."""
        return self._tokenizer().to_string(tokens)

    def _tokenizer(self) -> Tokenizer:
        if self.tokenizer is None:
            raise InputError("This model came without a tokenizer: give token ids, or set model.tokenizer.")
        return self.tokenizer

    def _shortest_run(self, tap: Tap) -> Tensor:
        return self(torch.zeros(1, 1, dtype=torch.long, device=self.embed.W_E.device), tap=tap)


def _mean(
    resid: Float[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"] | None
) -> Float[Tensor, "batch 1 d_model"]:
    """The mean over the tokens that are no padding."""
    if real is None:
        return resid.mean(1, keepdim=True)
    weights = real / real.sum(1, keepdim=True)
    return (resid * weights[..., None]).sum(1, keepdim=True)
