"""From the residual stream to logits: a matrix of its own, or the token embedding, transposed."""

from jaxtyping import Float
from torch import Tensor, nn

from headlight.model.base.errors import InputError
from headlight.model.compute import product
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.hooks import NO_TAP, Tap
from headlight.model.nn.layers.embeddings import Embed
from headlight.model.nn.layers.parameters import normal, widened, zeros

Logits = Float[Tensor, "_ pos_read d_vocab_out"]  # an edit may make a larger batch of one


class _Logits(nn.Module):
    """From a stream to logits by a matrix and a bias; the model's soft cap of logits, if it has one, comes after."""

    def _logits(
        self,
        normalized: Float[Tensor, "batch pos d_model"],
        W_U: Float[Tensor, "d_model d_vocab_out"],
        b_U: Float[Tensor, " d_vocab_out"] | None,
        tap: Tap,
    ) -> Logits:
        to_logits = "batch pos d_model, d_model d_vocab_out -> batch pos d_vocab_out"
        return tap("hook_out", product(tap("hook_in", normalized), W_U, to_logits, b_U))


class Unembed(_Logits):
    """Normalised residual stream to logits by a matrix of its own."""

    def __init__(self, cfg: TransformerConfig) -> None:
        super().__init__()
        assert cfg.d_vocab_out is not None  # filled in by the config
        self.W_U, self.b_U = normal(cfg.d_read, cfg.d_vocab_out), zeros(cfg.d_vocab_out)

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return self._logits(normalized, self.W_U, self.b_U, tap)


class _Transposed(_Logits):
    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = [embed]  # in a list, so that its parameters are not registered a second time

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        """The token embedding, transposed (a view)."""
        return self._embed[0].W_E.T


class TiedUnembed(_Transposed):
    """Normalised residual stream to logits by the token embedding, transposed; no parameters of its own."""

    @property
    def b_U(self) -> Float[Tensor, " d_vocab"]:
        """Zeros: a tied unembedding has no bias."""
        return widened(self.W_U.new_zeros(self.W_U.shape[1]))

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return self._logits(normalized, self.W_U, None, tap)


class BiasedTiedUnembed(_Transposed):
    """Normalised residual stream to logits by the token embedding, transposed, and a bias."""

    def __init__(self, embed: Embed) -> None:
        super().__init__(embed)
        self.b_U = zeros(embed.W_E.shape[0])

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return self._logits(normalized, self.W_U, self.b_U, tap)


class NoUnembed(_Logits):
    """Identity for models without a head, whose output is the last hidden state."""

    def forward(self, normalized: Float[Tensor, "batch pos d_model"], tap: Tap = NO_TAP) -> Logits:
        return normalized

    @property
    def W_U(self) -> Tensor:
        """Not there.

        Raises:
            InputError: always.
        """
        raise InputError("This model has no head, and so no logits. Open the model with its head.")

    b_U = W_U


def build_unembed(cfg: TransformerConfig, embed: Embed) -> "Unembed | TiedUnembed | BiasedTiedUnembed | NoUnembed":
    """The unembedding that the config asks for."""
    if cfg.output == "none":
        return NoUnembed()
    if not cfg.tie_word_embeddings:
        return Unembed(cfg)
    return BiasedTiedUnembed(embed) if cfg.output_bias else TiedUnembed(embed)
