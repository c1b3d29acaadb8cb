"""The decoder-only transformer and the ways to run it."""

from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from model.cache import ActivationCache
from model.config import TransformerConfig
from model.errors import InputError
from model.hooks import NO_TAP, Collect, Edit, HookFunction, NamesFilter, Tap, select_names
from model.layers import Embed, PosEmbed, TiedUnembed, Unembed, build_block, build_norm, visible_keys
from model.source import Source
from model.tokenizer import TokenIds, Tokenizer


class Transformer(nn.Module):
    """A pre-LayerNorm transformer with learned positions, built from its config with GPT-2's initialisation.

    State-dict keys, activation names and shapes are TransformerLens's. A tied unembedding has no key of its own.
    `load` gives a `tokenizer`, where there is one, and a `source` that says where the weights came from.
    """

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.tokenizer: Tokenizer | None = None
        self.source: Source | None = None
        self.embed, self.pos_embed = Embed(cfg), PosEmbed(cfg)
        self.blocks = nn.ModuleList(build_block(cfg, layer) for layer in range(cfg.n_layers))
        self.ln_final = build_norm(cfg)
        self.unembed = TiedUnembed(self.embed) if cfg.tie_word_embeddings else Unembed(cfg)

    def forward(
        self,
        tokens: Int[Tensor, "batch pos"],
        attention_mask: Int[Tensor, "batch pos"] | None = None,
        *,
        tap: Tap = NO_TAP,
        stop_at_layer: int | None = None,
    ) -> Float[Tensor, "batch pos d_out"]:
        """Logits at every position, or the residual stream before block `stop_at_layer` if that is given.

        `attention_mask` is 1 for real tokens and 0 for padding, left or right; a row's real tokens get the result
        that they get alone. `tap` sees, and may replace, every named activation on the way.

        Raises:
            InputError: no tokens, more than the context holds, ids outside the vocabulary, or a mask of another shape.
        """
        self._check(tokens, attention_mask)
        real = None if attention_mask is None else attention_mask.bool()
        visible = visible_keys(self.cfg.attention_dir, real, tokens.shape[1], tokens.device)
        resid = tap("hook_embed", self.embed(tokens)) + tap("hook_pos_embed", self.pos_embed(_positions(tokens, real)))
        for layer, block in enumerate(self.blocks[:stop_at_layer]):
            resid = block(resid, visible, tap.within(f"blocks.{layer}"))
        if stop_at_layer is not None:
            return resid
        return self.unembed(self.ln_final(resid, tap.within("ln_final")))

    def run_with_cache(
        self,
        tokens: Int[Tensor, "batch pos"],
        names_filter: NamesFilter | None = None,
        attention_mask: Int[Tensor, "batch pos"] | None = None,
        stop_at_layer: int | None = None,
    ) -> tuple[Float[Tensor, "batch pos d_out"], ActivationCache]:
        """The output of `forward` and the activations named by a name, a list or a predicate.

        Without a filter all are kept but `hook_result` (every head's output apart), which is computed when named.

        Raises:
            HookError: a name that the model does not have.
            InputError: as `forward`.
        """
        keep = Collect(self._select(names_filter))
        output = self(tokens, attention_mask, tap=keep, stop_at_layer=stop_at_layer)
        return output, ActivationCache(keep.kept, self.cfg.n_layers)

    def run_with_hooks(
        self,
        tokens: Int[Tensor, "batch pos"],
        fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]] = (),
        attention_mask: Int[Tensor, "batch pos"] | None = None,
        stop_at_layer: int | None = None,
    ) -> Float[Tensor, "batch pos d_out"]:
        """The output of `forward` with hook functions `fn(activation, hook)` at names, lists or predicates.

        A function returns the activation to go on with, or None to keep the one it was given, edits in place included.

        Raises:
            HookError: a name that the model does not have, or a function that returns the wrong thing.
            InputError: as `forward`.
        """
        return self(tokens, attention_mask, tap=self.edit(fwd_hooks), stop_at_layer=stop_at_layer)

    def edit(self, fwd_hooks: Sequence[tuple[NamesFilter, HookFunction]]) -> Edit:
        """The tap that applies these hook functions; names are checked here, before any run."""
        return Edit([(select_names(names, self.hook_names), function) for names, function in fwd_hooks])

    def to_tokens(self, text: str, prepend_bos: bool = False, parse_special: bool = False) -> Int[Tensor, "1 pos"]:
        """`Tokenizer.to_tokens` of the model's tokenizer, on the model's device."""
        return self._tokenizer().to_tokens(text, prepend_bos, parse_special).to(self.embed.W_E.device)

    def to_str_tokens(self, text: str | TokenIds, prepend_bos: bool = False, parse_special: bool = False) -> list[str]:
        """`Tokenizer.to_str_tokens` of the model's tokenizer."""
        return self._tokenizer().to_str_tokens(text, prepend_bos, parse_special)

    def to_single_token(self, text: str, parse_special: bool = False) -> int:
        """`Tokenizer.to_single_token` of the model's tokenizer."""
        return self._tokenizer().to_single_token(text, parse_special)

    def to_string(self, tokens: TokenIds) -> str:
        """`Tokenizer.to_string` of the model's tokenizer."""
        return self._tokenizer().to_string(tokens)

    def _tokenizer(self) -> Tokenizer:
        if self.tokenizer is None:
            raise InputError("This model came without a tokenizer: give token ids, or set model.tokenizer.")
        return self.tokenizer

    @cached_property
    def hook_names(self) -> tuple[str, ...]:
        """The names of all activations in forward order, as a run over one token meets them."""
        names: list[str] = []

        class Record(Tap):
            def __call__(self, name: str, activation: Tensor) -> Tensor:
                names.append(name)
                return activation

            def wants(self, name: str) -> bool:
                return True

        with torch.inference_mode():
            self(torch.zeros(1, 1, dtype=torch.long, device=self.embed.W_E.device), tap=Record())
        return tuple(names)

    def _select(self, names_filter: NamesFilter | None) -> list[str]:
        if names_filter is None:
            return [name for name in self.hook_names if not name.endswith("hook_result")]
        return select_names(names_filter, self.hook_names)

    def _check(self, tokens: Tensor, attention_mask: Tensor | None) -> None:
        if tokens.ndim != 2 or tokens.numel() == 0:
            raise InputError(f"Token ids have shape {list(tokens.shape)}; they need [batch, pos], at least one token.")
        if tokens.shape[1] > self.cfg.n_ctx:
            raise InputError(
                f"The prompt has {tokens.shape[1]} tokens; this model's context holds {self.cfg.n_ctx}. Shorten it."
            )
        low, high = (int(end) for end in tokens.aminmax())
        if low < 0 or high >= self.cfg.d_vocab:
            raise InputError(
                f"Token id {low if low < 0 else high} is not in the vocabulary, whose ids go from 0 to "
                f"{self.cfg.d_vocab - 1}. Use this model's own tokenizer."
            )
        if attention_mask is not None and attention_mask.shape != tokens.shape:
            raise InputError(
                f"The attention mask has shape {list(attention_mask.shape)}, the tokens {list(tokens.shape)}; "
                "give one 0 or 1 a token."
            )


def _positions(tokens: Int[Tensor, "batch pos"], real: Tensor | None) -> Int[Tensor, "batch pos"]:
    """Positions counted from each row's first real token."""
    if real is None:
        return torch.arange(tokens.shape[1], device=tokens.device).expand_as(tokens)
    return (real.long().cumsum(-1) - 1).clamp(min=0)
