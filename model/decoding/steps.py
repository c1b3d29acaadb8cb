"""A model run a token at a time, whichever of the two kinds it is."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.base.errors import ConfigError, InputError
from headlight.model.decoding.key_values import KeyValueCache
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Chain, Tap
from headlight.model.nn.inputs import check_tokens
from headlight.model.nn.seq2seq import Seq2SeqTransformer
from headlight.model.nn.transformer import Transformer

Model = Transformer | Seq2SeqTransformer

PromptTokens = Int[Tensor, "batch pos"]
PromptMask = Int[Tensor, "batch pos"] | None
TargetTokens = Int[Tensor, "batch target"] | None
LogitsOf = Callable[[Int[Tensor, "1 pos"]], Float[Tensor, "1 pos d_vocab"]]


class Steps(ABC):
    """A batch of sequences that grow; each step runs the new tokens alone.

    `prompt` is what to feed first, `n_free` how many positions are left behind it.
    """

    prompt: Int[Tensor, "row pos"]
    n_free: int
    d_vocab: int
    default_stop_tokens: tuple[int, ...] = ()

    def __init__(self, tap: Tap) -> None:
        self._cache = KeyValueCache()
        self._tap = self._cache if tap is NO_TAP else Chain(tap, self._cache)
        self._n_past = 0

    def feed(self, tokens: Int[Tensor, "row new"]) -> Float[Tensor, "row d_vocab"]:
        """The logits of the token after these, which follow all that was fed before."""
        logits = self._run(tokens)
        self._n_past += tokens.shape[1]
        return logits

    def select(self, rows: Int[Tensor, " chosen"]) -> None:
        """Go on with these rows, in this order; a row can be chosen more than once."""
        self._cache.select(rows)

    @abstractmethod
    def _run(self, tokens: Int[Tensor, "row new"]) -> Float[Tensor, "row d_vocab"]:
        """The logits after the last of these tokens."""


class _PromptSteps(Steps):
    """A decoder-only model that continues its prompt."""

    def __init__(self, model: Transformer, prompt: PromptTokens, mask: PromptMask, tap: Tap) -> None:
        super().__init__(tap)
        cfg = model.cfg
        check_tokens("prompt", prompt, mask, n_ctx=cfg.n_ctx, d_vocab=cfg.d_vocab)
        self.prompt, self.n_free, self.d_vocab = prompt, cfg.n_ctx - prompt.shape[1], cfg.d_vocab
        self.default_stop_tokens = model.stop_tokens
        self._model, self._mask, self._so_far = model, mask, prompt[:, :0]

    def _run(self, tokens: Int[Tensor, "row new"]) -> Float[Tensor, "row d_vocab"]:
        last = self._last_real(tokens)
        self._so_far, n_past = torch.cat([self._so_far, tokens], dim=1), self._n_past
        if self._outgrows(tokens.shape[1]):
            self._cache.clear()
            tokens, n_past = self._so_far, 0
        resid = self._model(tokens, self._mask, tap=self._tap, stop_at_layer=self._model.cfg.n_layers, n_past=n_past)
        normalized = self._model.to_unembed(resid, self._tap)
        rows = torch.arange(len(tokens), device=tokens.device)
        # The logits of all positions of a long prompt would be larger than the model.
        logits = self._model.unembed(normalized[rows, last].unsqueeze(1), self._tap.within("unembed")).squeeze(1)
        return self._model.capped(logits).to(tokens.device)

    def _outgrows(self, n_new: int) -> bool:
        """Whether with the new tokens the text is longer than the context beyond which all positions turn otherwise.

        Source: Phi3ForCausalLM in transformers, which runs the text anew there as well.
        """
        scaling = self._model.cfg.rotary_scaling
        if scaling is None or scaling.kind != "longrope" or scaling.original_n_ctx is None:
            return False
        return 0 < self._n_past <= scaling.original_n_ctx < self._n_past + n_new

    def _last_real(self, tokens: Int[Tensor, "row new"]) -> Int[Tensor, " row"] | int:
        """The index of each row's last token that is not padding; the mask grows along with the tokens."""
        if self._mask is None:
            return -1
        if self._n_past:
            self._mask = torch.cat([self._mask, torch.ones_like(tokens)], dim=1)
            return -1
        return self._mask.cumsum(1).argmax(1)

    def select(self, rows: Int[Tensor, " chosen"]) -> None:
        super().select(rows)
        self._so_far = self._so_far[rows]
        self._mask = None if self._mask is None else self._mask[rows]


class _TargetSteps(Steps):
    """An encoder-decoder that reads the prompt as its source and writes a target."""

    def __init__(
        self, model: Seq2SeqTransformer, source: PromptTokens, mask: PromptMask, target: TargetTokens, tap: Tap
    ) -> None:
        super().__init__(tap)
        cfg = model.cfg
        check_tokens("source", source, mask, n_ctx=cfg.n_ctx, d_vocab=cfg.d_vocab)
        self.d_vocab, self.default_stop_tokens = cfg.decoder.d_vocab, model.stop_tokens
        self.prompt = source.new_full((len(source), 1), cfg.start_token) if target is None else target
        check_tokens("target", self.prompt, None, n_ctx=cfg.n_ctx, d_vocab=self.d_vocab)
        if len(self.prompt) != len(source):
            raise InputError(f"{len(self.prompt)} beginnings of a target do not match {len(source)} sources.")
        self.n_free = cfg.n_ctx - self.prompt.shape[1]
        self._model, self._mask = model, mask
        self._encode = partial(model.encode, source, mask, tap=tap)  # of its own, the cache is the decoder's

    def _run(self, tokens: Int[Tensor, "row new"]) -> Float[Tensor, "row d_vocab"]:
        if not self._n_past:
            self._encoder_out = self._encode()
        return self._model.decode(tokens, self._encoder_out, self._mask, tap=self._tap, n_past=self._n_past)[:, -1]

    def select(self, rows: Int[Tensor, " chosen"]) -> None:
        super().select(rows)
        self._encoder_out = self._encoder_out[rows]
        self._mask = None if self._mask is None else self._mask[rows]


class WholeSteps(Steps):
    """One text that is run whole at every step."""

    def __init__(self, logits_of: LogitsOf, prompt: Int[Tensor, "1 pos"], cfg: TransformerConfig) -> None:
        super().__init__(NO_TAP)
        check_tokens("prompt", prompt, None, n_ctx=cfg.n_ctx, d_vocab=cfg.d_vocab)
        self.prompt, self.n_free, self.d_vocab = prompt, cfg.n_ctx - prompt.shape[1], cfg.d_vocab
        self._logits_of, self._so_far = logits_of, prompt[:, :0]

    def _run(self, tokens: Int[Tensor, "1 new"]) -> Float[Tensor, "1 d_vocab"]:
        self._so_far = torch.cat([self._so_far, tokens], dim=1)
        return self._logits_of(self._so_far)[:, -1]


def start(model: Model, prompt: PromptTokens, mask: PromptMask, target: TargetTokens, tap: Tap) -> Steps:
    """The steps of a model over a batch; `target` is how an encoder-decoder's target begins.

    Raises:
        ConfigError: a model that does not write from left to right, or is in training mode with dropout.
        InputError: tokens or a mask that the model cannot take, or a target for a decoder-only model.
    """
    _check_model(model)
    for called, tokens in (("prompt", prompt), ("target", target)):
        if tokens is not None and (not isinstance(tokens, Tensor) or tokens.is_floating_point()):
            raise InputError(
                f"The {called} is {type(tokens).__name__}; give token ids [batch, pos], as to_tokens does."
            )
    steps = _steps_of(model, prompt, mask, target, tap)
    if mask is not None and not mask.any(1).all():
        raise InputError("A row of the prompt is all padding; every row needs at least one real token.")
    return steps


def _steps_of(model: Model, prompt: PromptTokens, mask: PromptMask, target: TargetTokens, tap: Tap) -> Steps:
    if isinstance(model, Seq2SeqTransformer):
        return _TargetSteps(model, prompt, mask, target, tap)
    if target is not None:
        raise InputError("A decoder-only model has no target: what it is to go on from belongs at the prompt's end.")
    return _PromptSteps(model, prompt, mask, tap)


def _check_model(model: Model) -> None:
    if not isinstance(model, Transformer | Seq2SeqTransformer):
        raise ConfigError(f"A {type(model).__name__} cannot write; give a Transformer or a Seq2SeqTransformer.")
    if model.training and model.cfg.dropout:
        raise ConfigError("The model is in training mode, where dropout makes every run another. Call model.eval().")
    if isinstance(model, Transformer) and model.cfg.attention_dir != "causal":
        raise ConfigError("A bidirectional model does not write from left to right; attention_dir has to be 'causal'.")
    if model.cfg.output != "tokens":
        raise ConfigError(
            "This model has no language model's head, so it writes nothing. Open the one that it was made of."
        )
    if isinstance(model, Transformer) and model.cfg.d_vocab_out != model.cfg.d_vocab:
        raise ConfigError(
            f"The model reads {model.cfg.d_vocab} tokens and gives {model.cfg.d_vocab_out} logits; to read what it "
            "wrote, both have to be the same."
        )
