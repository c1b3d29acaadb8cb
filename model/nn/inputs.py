"""Checks of the token ids that a model is run on."""

from torch import Tensor

from headlight.model.base.errors import InputError


def check_tokens(
    called: str, tokens: Tensor, attention_mask: Tensor | None, *, n_ctx: int, d_vocab: int, n_past: int = 0
) -> None:
    """Refuse token ids that are no [batch, pos], too many, or outside the vocabulary, and a mask of another shape.

    `called` says in the message what the tokens are: the prompt, the source, the target.

    Raises:
        InputError: any of these.
    """
    if tokens.ndim != 2 or tokens.numel() == 0:
        raise InputError(
            f"Token ids of the {called} have shape {list(tokens.shape)}; they need [batch, pos], at least one token."
        )
    n_pos = n_past + tokens.shape[1]
    if n_pos > n_ctx:
        raise InputError(f"The {called} has {n_pos} tokens; this model's context holds {n_ctx}. Shorten it.")
    low, high = (int(end) for end in tokens.aminmax())
    if low < 0 or high >= d_vocab:
        raise InputError(
            f"Token id {low if low < 0 else high} of the {called} is not in the vocabulary, whose ids go from 0 to "
            f"{d_vocab - 1}. Use this model's own tokenizer."
        )
    if attention_mask is not None and attention_mask.shape != (tokens.shape[0], n_pos):
        raise InputError(
            f"The attention mask of the {called} has shape {list(attention_mask.shape)}, the tokens "
            f"{[tokens.shape[0], n_pos]}; give one 0 or 1 a token."
        )


def check_positions(position_ids: Tensor, tokens: Tensor, *, n_ctx: int, n_past: int) -> None:
    """Refuse positions that are not one of the context for each token, in ascending order.

    Raises:
        InputError: they are not, or keys of earlier tokens are there, whose positions are not known.
    """
    if position_ids.shape != tokens.shape or n_past:
        raise InputError(
            f"Positions have shape {list(position_ids.shape)} and the tokens {list(tokens.shape)}, behind {n_past} "
            "cached ones; give one for each token, and no cached ones."
        )
    low, high = (int(end) for end in position_ids.aminmax())
    if low < 0 or high >= n_ctx or bool((position_ids.diff() <= 0).any()):
        raise InputError(
            f"Positions go from {low} to {high}; they have to ascend, each below {n_ctx}, the length of the context."
        )
