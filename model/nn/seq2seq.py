"""The encoder-decoder transformer of "Attention Is All You Need" and the ways to run it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from headlight.model.base.errors import InputError, UnknownWordsError, nearest
from headlight.model.base.source import Source
from headlight.model.nn.blocks import Block, CrossBlock, PostNormBlock, PostNormCrossBlock, build_blocks
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooked import HookedModel
from headlight.model.nn.hooks import NO_TAP, HookFunction, NamesFilter, Tap
from headlight.model.nn.inputs import check_tokens
from headlight.model.nn.layers.dropout import Dropout
from headlight.model.nn.layers.embeddings import Embed, PosEmbed, SinusoidalPosEmbed, TiedEmbed
from headlight.model.nn.layers.norms import NoNorm, build_norm
from headlight.model.nn.layers.output_heads import LabelHead
from headlight.model.nn.layers.positions import Positions, place, place_beside
from headlight.model.nn.layers.unembeddings import BiasedTiedUnembed, NoUnembed, TiedUnembed, Unembed
from headlight.model.nn.seq2seq_config import Seq2SeqConfig
from headlight.model.text.tokenizer import Tokenizer

SourceTokens = Int[Tensor, "batch source"]
TargetTokens = Int[Tensor, "batch target"]
EncoderOut = Float[Tensor, "batch source d_model"]
Logits = Float[Tensor, "batch target d_vocab_out"]
Kind = Callable[[TransformerConfig, int], nn.Module]


class _Stack(nn.Module):
    """Embeddings, blocks, and a final norm if there is one."""

    def __init__(self, cfg: Seq2SeqConfig, stack: TransformerConfig, embed: Embed | TiedEmbed, kind: Kind) -> None:
        super().__init__()
        self.embed, self.pos_embed = embed, _build_positions(cfg, stack)
        self.embed_scale = cfg.d_model**0.5 if cfg.scale_embed else 1.0
        self.embed_ln = build_norm(stack) if cfg.embeddings_ln else NoNorm()
        self.dropout = Dropout(cfg.dropout)
        self.blocks = build_blocks(kind, stack)
        self.ln_final = build_norm(stack) if cfg.final_norm else NoNorm()

    def begun(
        self, tokens: Int[Tensor, "batch pos"], positions: Positions, tap: Tap
    ) -> Float[Tensor, "batch pos d_model"]:
        """The stream before the first layer."""
        embedded = tap("hook_embed", self.embed(tokens) * self.embed_scale)
        if self.pos_embed is not None:
            embedded = embedded + tap("hook_pos_embed", self.pos_embed(positions.query.expand_as(tokens)))
        return self.dropout(self.embed_ln(embedded, tap.within("embed_ln")))


class Encoder(_Stack):
    """The source's stack, in which every token sees every other."""

    def __init__(self, cfg: Seq2SeqConfig, embed: Embed | TiedEmbed) -> None:
        super().__init__(cfg, cfg.encoder, embed, Block if cfg.norm_first else PostNormBlock)

    def forward(self, source: SourceTokens, real: Bool[Tensor, "batch source"] | None, tap: Tap) -> EncoderOut:
        positions = place("bidirectional", real, source.shape[1], source.device)
        resid = self.begun(source, positions, tap)
        for layer, block in enumerate(self.blocks):
            resid = block(resid, positions, tap.within(f"blocks.{layer}"))
        return self.ln_final(resid, tap.within("ln_final"))


class Decoder(_Stack):
    """The target's stack, whose blocks are causal and also attend to the source."""

    embed: Embed

    def __init__(self, cfg: Seq2SeqConfig) -> None:
        super().__init__(cfg, cfg.decoder, Embed(cfg.decoder), CrossBlock if cfg.norm_first else PostNormCrossBlock)

    def forward(
        self,
        target: TargetTokens,
        real: Bool[Tensor, "batch key"] | None,
        encoder_out: Float[Tensor, "batch memory d_model"],
        to_memory: Positions,
        tap: Tap,
        n_past: int,
    ) -> Float[Tensor, "batch target d_model"]:
        n_pos = target.shape[1]
        positions = place("causal", real, n_past + n_pos, target.device, n_pos)
        resid = self.begun(target, positions, tap)
        for layer, block in enumerate(self.blocks):
            resid = block(resid, positions, encoder_out, to_memory, tap.within(f"blocks.{layer}"))
        return self.ln_final(resid, tap.within("ln_final"))


class Seq2SeqTransformer(HookedModel):
    """An encoder-decoder, built from its config with GPT-2's initialisation.

    Parameters and activations have the decoder-only model's names behind `encoder.` and `decoder.`; a decoder's block
    has `cross_attn` beside `attn`, and there row = target token and column = source token. A shared embedding is one
    parameter: `decoder.embed.W_E`. `load` gives the tokenizers of both sides and a `source`, which says where the
    weights came from.
    """

    def __init__(self, cfg: Seq2SeqConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.source_tokenizer: Tokenizer | None = None
        self.target_tokenizer: Tokenizer | None = None
        self.source: Source | None = None
        self.end_tokens: tuple[int, ...] = ()  # that the files beside the weights name
        self.forced_token: int | None = None  # likewise, behind the start token
        self.decoder = Decoder(cfg)
        shared = cfg.shared_embeddings in ("inputs", "all")
        self.encoder = Encoder(cfg, TiedEmbed(self.decoder.embed) if shared else Embed(cfg.encoder))
        self.unembed = _build_output(cfg, self.decoder.embed)

    def forward(
        self,
        source: SourceTokens,
        target: TargetTokens,
        source_mask: Int[Tensor, "batch source"] | None = None,
        target_mask: Int[Tensor, "batch target"] | None = None,
        *,
        tap: Tap = NO_TAP,
    ) -> Logits:
        """Logits of the token that follows each target token; of a model that writes none its own outputs there.

        A target begins with the config's `start_token`; without tokens to write it is `to_own_target` of the source.

        Masks are 1 for real tokens and 0 for padding; a row's real tokens get the result that they get alone. `tap`
        sees, and may replace, every named activation on the way.

        Raises:
            InputError: no tokens, more than the positions, ids outside the vocabulary, or a mask of another shape.
        """
        encoder_out = self.encode(source, source_mask, tap=tap)
        return self.decode(target, encoder_out, source_mask, target_mask, tap=tap)

    def encode(
        self, source: SourceTokens, source_mask: Int[Tensor, "batch source"] | None = None, *, tap: Tap = NO_TAP
    ) -> EncoderOut:
        """The encoder's output, which every decoding step attends to.

        Raises:
            InputError: as `forward`.
        """
        check_tokens("source", source, source_mask, n_ctx=self.cfg.n_ctx, d_vocab=self.cfg.d_vocab)
        return self.encoder(source, _real(source_mask), tap.within("encoder"))

    def decode(
        self,
        target: TargetTokens,
        encoder_out: EncoderOut,
        source_mask: Int[Tensor, "batch source"] | None = None,
        target_mask: Int[Tensor, "batch key"] | None = None,
        *,
        tap: Tap = NO_TAP,
        n_past: int = 0,
    ) -> Logits:
        """Logits after each target token, from the encoder's output.

        With `n_past` the tokens follow as many that were run already, whose keys and values the tap puts before the
        new ones, those of `encoder_out` included; `target_mask` then covers both.

        Raises:
            InputError: as `forward`, or an encoder output of another batch or width.
        """
        d_vocab_out = self.cfg.decoder.d_vocab
        check_tokens("target", target, target_mask, n_ctx=self.cfg.n_ctx, d_vocab=d_vocab_out, n_past=n_past)
        _check_encoder_out(target, encoder_out, source_mask, self.cfg.d_model)
        n_source, n_target = encoder_out.shape[1], target.shape[1]
        to_memory = place_beside(_real(source_mask), n_target, n_source, target.device)
        memory = encoder_out[:, :0] if n_past else encoder_out
        resid = self.decoder(target, _real(target_mask), memory, to_memory, tap.within("decoder"), n_past)
        scaled = resid if self.cfg.logits_scale == 1.0 else resid * self.cfg.logits_scale
        return self.unembed(scaled, tap.within("unembed"))

    def run_with_cache(
        self,
        source: SourceTokens,
        target: TargetTokens,
        names_filter: NamesFilter | None = None,
        source_mask: Int[Tensor, "batch source"] | None = None,
        target_mask: Int[Tensor, "batch target"] | None = None,
    ) -> tuple[Logits, ActivationCache]:
        """The output of `forward` and the activations named by a name, a list or a predicate, by their full names.

        Without a filter all are kept but `hook_result` (every head's output apart), which is computed when named; in
        inference mode, scores and patterns are computed from the kept queries and keys when they are first read.

        Raises:
            HookError: a name that the model does not have.
            InputError: as `forward`.
        """
        keep = self._collect(names_filter)
        logits = self(source, target, source_mask, target_mask, tap=keep)
        return logits, ActivationCache(keep.kept, self.cfg.n_decoder_layers)

    def run_with_hooks(
        self,
        source: SourceTokens,
        target: TargetTokens,
        fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]] = (),
        source_mask: Int[Tensor, "batch source"] | None = None,
        target_mask: Int[Tensor, "batch target"] | None = None,
    ) -> Logits:
        """The output of `forward` with hook functions `fn(activation, hook)` at names, lists or predicates.

        Raises:
            HookError: a name that the model does not have, or a function that returns the wrong thing.
            InputError: as `forward`.
        """
        return self(source, target, source_mask, target_mask, tap=self.edit(fwd_hooks))

    def to_source_tokens(self, text: str, language: str | None = None) -> SourceTokens:
        """The ids of a source text and of the special tokens around it, as a batch of one row.

        These are the tokenizer's, or the token that ends a source. `language` replaces the language's token among them.

        Raises:
            InputError: no text, a word that the vocabulary lacks, or a model without a tokenizer or that language.
        """
        tokenizer, end = self.source_tokenizer, self.cfg.source_end_token
        ids = self._ids("source", tokenizer, text)
        if not ids or not text.strip():
            raise InputError("The source is empty. Write at least one word.")
        if language is not None:
            named, token = languages_of(tokenizer), _language(tokenizer, language)
            ids = [
                token if place in (0, len(ids) - 1) and each in named.values() else each
                for place, each in enumerate(ids)
            ]
        framed = tokenizer is not None and tokenizer.adds_special
        return self._row(ids if end is None or framed else [*ids, end])

    @property
    def stop_tokens(self) -> tuple[int, ...]:
        """The tokens that end a target: the config's end token, and others that the files beside the weights name."""
        return tuple(dict.fromkeys((self.cfg.end_token, *self.end_tokens)))

    def to_target_tokens(self, text: str, language: str | None = None) -> TargetTokens:
        """The ids of the token that begins a target, and its language's, and of a text, which may be empty, as one row.

        Raises:
            InputError: as `to_source_tokens`.
        """
        tokenizer = self.target_tokenizer
        if tokenizer is not None and tokenizer.languages:
            first = self.first_token(language)
            ids = [*([] if first is None else [first]), *tokenizer.to_tokens(text, parse_special=True)[0].tolist()]
        else:
            ids = self._ids("target", tokenizer, text)
            ids = (
                ids[:-1]
                if tokenizer is not None and tokenizer.adds_special and ids[-1:] == [self.cfg.end_token]
                else ids
            )
        return self._row([self.cfg.start_token, *ids])

    def to_own_target(self, source: SourceTokens) -> TargetTokens:
        """The target that a model without tokens to write reads: the source, one token later."""
        first = source[:, -1:] if self.cfg.starts_with_last else torch.full_like(source[:, :1], self.cfg.start_token)
        return torch.cat([first, source[:, :-1]], 1)

    def label_position(self, source: Int[Tensor, " source"]) -> int:
        """The position at which a classifier's labels are read: that of the source's last end token.

        Raises:
            InputError: there is none.
        """
        ends = (source == self.cfg.end_token).nonzero()
        if len(ends) == 0:
            raise InputError(
                f"A classifier reads its labels at the token {self.cfg.end_token}, which ends a source, and there is "
                "none here. Type it at the end, or put the model's own tokenizer beside its weights."
            )
        return int(ends[-1])

    def first_token(self, language: str | None = None) -> int | None:
        """Token forced after the start token: a language's, or the one in the files beside the weights.

        Raises:
            InputError: the model has no such language.
        """
        return self.forced_token if language is None else _language(self.target_tokenizer, language)

    def _ids(self, side: str, tokenizer: Tokenizer | None, text: str) -> list[int]:
        """Ids of a text, with the special tokens that the tokenizer puts around it."""
        if tokenizer is None:
            raise InputError(f"This model came without a tokenizer of the {side}: give token ids.")
        around = tokenizer.adds_special
        if not around and (unknown := tokenizer.unknown_words(text)):
            raise UnknownWordsError(tokenizer.only_known(unknown, side))
        ids: list[int] = tokenizer.to_tokens(text, prepend_bos=around, parse_special=around)[0].tolist()
        return ids

    def _row(self, ids: list[int]) -> Int[Tensor, "1 pos"]:
        return torch.tensor([ids], device=self.decoder.embed.W_E.device)

    def _shortest_run(self, tap: Tap) -> Tensor:
        token = torch.zeros(1, 1, dtype=torch.long, device=self.decoder.embed.W_E.device)
        return self(token, token, tap=tap)


def _build_positions(cfg: Seq2SeqConfig, stack: TransformerConfig) -> nn.Module | None:
    if cfg.positions == "relative":
        return None
    return SinusoidalPosEmbed(stack) if cfg.positions == "sinusoidal" else PosEmbed(stack)


def _build_output(cfg: Seq2SeqConfig, embed: Embed) -> nn.Module:
    match cfg.output:
        case "none":
            return NoUnembed()
        case "labels":
            return LabelHead(cfg.d_model, len(cfg.labels))
        case "answer span":
            return Unembed(replace(cfg.decoder, output=cfg.output, d_vocab_out=len(cfg.labels)))
    if not cfg.decoder.tie_word_embeddings:
        return Unembed(cfg.decoder)
    return BiasedTiedUnembed(embed) if cfg.output_bias else TiedUnembed(embed)


def languages_of(tokenizer: Tokenizer | None) -> dict[str, int]:
    """The tokens that stand for languages, by name; none without a tokenizer."""
    return {} if tokenizer is None else tokenizer.languages


def _language(tokenizer: Tokenizer | None, name: str) -> int:
    languages = languages_of(tokenizer)
    if name not in languages:
        raise InputError(
            f"There is no language {name!r}.{nearest(name, languages)} "
            f"This model has {', '.join(languages) or 'no tokens for languages'}."
        )
    return languages[name]


def _real(mask: Int[Tensor, "batch pos"] | None) -> Bool[Tensor, "batch pos"] | None:
    return None if mask is None else mask.bool()


def _check_encoder_out(target: Tensor, encoder_out: Tensor, source_mask: Tensor | None, d_model: int) -> None:
    shape = list(encoder_out.shape)
    if len(shape) != 3 or shape[0] != target.shape[0] or shape[2] != d_model or shape[1] == 0:
        raise InputError(
            f"The encoder's output has shape {shape}; with these targets it needs [{target.shape[0]}, source, "
            f"{d_model}], as `encode` gives it."
        )
    if source_mask is not None and list(source_mask.shape) != shape[:2]:
        raise InputError(
            f"The attention mask of the source has shape {list(source_mask.shape)}, the source {shape[:2]}; "
            "give one 0 or 1 a token."
        )
