"""Four pairs of prompts that `mini` answers, of which other programs gave the numbers that tests compare with."""

from collections.abc import Sequence

import torch

from headlight.model import Transformer, load
from headlight.model.circuits.files import receiver_names, sender_name
from headlight.model.circuits.running import Edges
from headlight.model.circuits.wiring import Wiring
from headlight.model.prompt_sets.encoding import TokenRow, to_tokens
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet

ONE, MANY = (" is", " was"), (" are", " were")
NOUNS = (("girl", "girls", "house"), ("dogs", "dog", "house"), ("boys", "boy", "house"), ("cat", "cats", "birds"))


def pair(noun: str, other: str, end: str) -> PromptPair:
    right, wrong = (MANY, ONE) if noun.endswith("s") else (ONE, MANY)
    return PromptPair(f"The {noun} near the {end}", f"The {other} near the {end}", right, wrong)


def rows_of(model: Transformer, nouns: Sequence[tuple[str, str, str]] = NOUNS) -> tuple[TokenRow, ...]:
    """The pairs in the model's tokens."""
    assert model.tokenizer is not None
    return to_tokens(PromptSet("agreement", tuple(pair(*each) for each in nouns)), model.tokenizer).rows


def without_positions() -> Transformer:
    """`mini` with positions of zero: EAP-IG's input node is the token's embedding alone."""
    model = load("mini")
    assert model.pos_embed is not None
    with torch.no_grad():
        model.pos_embed.W_pos.zero_()
    return model


def by_name(wires: Wiring, scores: Edges, model: Transformer) -> dict[str, float]:
    """The scores by EAP-IG's names."""
    return {
        f"{sender_name(wires.senders[column])}->{receiver_names(wires.receivers[row], model.cfg)[0]}": float(
            scores[row, column]
        )
        for row, column in wires.before.nonzero().tolist()
    }
