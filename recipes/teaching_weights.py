"""Models whose weights were written by hand, so that what every head does is known.

Their stream has a part for each thing that is to be known of a position: which token, which place, which token came
before, and which token is to come next. Without normalisation and MLPs a head moves one such part into another.
"""

from typing import Any

import torch
from torch import Tensor

from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Head

BOS = 0  # the token that a sequence has to begin with; heads without a match rest on it, and it writes nothing
SURE = 60.0  # a match's score (nats); resting costs half of it, so that all else has a weight below e^-30
PREDICTED = 20.0  # a predicted token's logit; all others have 0


INDUCTION_HEADS: dict[Head, str] = {
    (0, 0): "previous token: tells the next layer which token came before",
    (0, 1): "current token: writes nothing",
    (0, 2): "same token: writes nothing",
    (1, 0): "induction: predicts the token that followed an earlier copy",
    (1, 1): "induction by its pattern alone: writes nothing",
    (1, 2): "first token: writes nothing",
}
COPY_HEADS: dict[Head, str] = {
    (0, 0): "previous token: tells the next layer which token came before",
    (0, 1): "current token: writes nothing",
    (1, 0): "copy: where it is asked, predicts the token that came after the mark",
    (1, 1): "first token: writes nothing",
}
HEADS = {"teach-induction": INDUCTION_HEADS, "teach-copy": COPY_HEADS}


def induction_circuit(d_vocab: int = 12, n_ctx: int = 32) -> Transformer:
    """Two layers of three heads that repeat what they have seen; `INDUCTION_HEADS` says what each does.

    L0H0 writes the token before into each position, L1H0 looks for the position that holds the present token there
    (K-composition), and writes that position's own token into what is to come. Where several match, they share the
    weight; where none does, nothing is predicted and all logits are 0. Token 0 has to begin the sequence.

    Source: the induction circuit of Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
    """
    model, heads = _blank(d_vocab, n_ctx, n_heads=3)
    heads.look_at_place(0, 0, back=1)
    heads.write(0, 0, "before")
    heads.look_at_place(0, 1, back=0)
    heads.look_for_token(0, 2, "token", but_itself=True)
    heads.look_for_token(1, 0, "before")
    heads.write(1, 0, "next")
    heads.look_for_token(1, 1, "before")
    heads.rest(1, 2)
    return model


def copy_circuit(mark: int = 1, ask: int = 2, d_vocab: int = 12, n_ctx: int = 32) -> Transformer:
    """Two layers of two heads that say at token `ask` what came after token `mark`; `COPY_HEADS` says what each does.

    L0H0 writes the token before into each position, L1H0 looks, from `ask` alone, for the position that holds `mark`
    there (K-composition), and writes that position's own token into what is to come. Where several were marked, they
    share the weight; elsewhere, or where none was, nothing is predicted and all logits are 0. Token 0 has to begin the
    sequence.
    """
    model, heads = _blank(d_vocab, n_ctx, n_heads=2)
    heads.look_at_place(0, 0, back=1)
    heads.write(0, 0, "before")
    heads.look_at_place(0, 1, back=0)
    heads.look_from_to(1, 0, ask, "before", mark)
    heads.write(1, 0, "next")
    heads.rest(1, 1)
    return model


def _blank(d_vocab: int, n_ctx: int, n_heads: int) -> tuple[Transformer, "_Heads"]:
    """Two layers of heads that do nothing yet, between embeddings and an unembedding that are complete."""
    d_head = d_vocab + n_ctx + 1
    parts = {"token": d_vocab, "place": n_ctx, "before": d_vocab, "next": d_vocab}
    cfg = TransformerConfig(
        n_layers=2,
        d_model=sum(parts.values()),
        n_ctx=n_ctx,
        n_heads=n_heads,
        d_head=d_head,
        d_vocab=d_vocab,
        attn_only=True,
        normalization_type=None,
        attn_scale=1.0,
    )
    model = Transformer(cfg).requires_grad_(False).eval()
    for parameter in model.parameters():
        parameter.zero_()
    stream = dict(zip(parts, torch.eye(cfg.d_model).split(list(parts.values())), strict=True))
    model.embed.W_E.copy_(stream["token"])
    model.get_parameter("pos_embed.W_pos").copy_(stream["place"])
    model.unembed.get_parameter("W_U").copy_(PREDICTED * stream["next"].T)
    return model, _Heads(model, stream, torch.eye(d_head))


class _Heads:
    """Writes heads: each matrix joins a part of the stream to entries of q, k or v, whose last one is for resting."""

    def __init__(self, model: Transformer, stream: dict[str, Tensor], entries: Tensor) -> None:
        self._model, self._stream = model, stream
        d_vocab = len(stream["token"])
        self._tokens, self._places, self._rest = entries[:d_vocab], entries[d_vocab:-1], entries[-1]

    def _attn(self, layer: int, head: int) -> dict[str, Any]:
        attn = self._model.blocks[layer].get_submodule("attn")
        return {name: parameter[head] for name, parameter in attn.named_parameters() if parameter.ndim > 1}

    def rest(self, layer: int, head: int) -> None:
        """Look at the beginning of the sequence, unless something scores more."""
        attn = self._attn(layer, head)
        attn["b_Q"] += self._rest
        attn["W_K"] += SURE / 2 * torch.outer(self._stream["token"][BOS], self._rest)

    def look_at_place(self, layer: int, head: int, back: int) -> None:
        """Look so many positions back."""
        attn, place = self._attn(layer, head), self._stream["place"]
        attn["W_Q"] += SURE * place[back:].T @ self._places[: len(place) - back]
        attn["W_K"] += place.T @ self._places

    def look_for_token(self, layer: int, head: int, part: str, but_itself: bool = False) -> None:
        """Look where this part of the stream holds the present token; with `but_itself` at other positions alone."""
        attn, place = self._attn(layer, head), self._stream["place"]
        attn["W_Q"] += SURE * self._stream["token"].T @ self._tokens
        attn["W_K"] += self._stream[part].T @ self._tokens
        if but_itself:
            attn["W_Q"] -= SURE * place.T @ self._places
            attn["W_K"] += place.T @ self._places
        self.rest(layer, head)

    def look_from_to(self, layer: int, head: int, token: int, part: str, stored: int) -> None:
        """Look from one token alone, and where this part of the stream holds another one."""
        attn = self._attn(layer, head)
        attn["W_Q"] += SURE * torch.outer(self._stream["token"][token], self._tokens[stored])
        attn["W_K"] += torch.outer(self._stream[part][stored], self._tokens[stored])
        self.rest(layer, head)

    def write(self, layer: int, head: int, part: str) -> None:
        """Write the token that is looked at, unless it is the one that begins the sequence, into a part."""
        attn = self._attn(layer, head)
        attn["W_V"] += self._stream["token"][BOS + 1 :].T @ self._tokens[BOS + 1 :]
        attn["W_O"] += self._tokens.T @ self._stream[part]
