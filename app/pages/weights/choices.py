"""Choices of the page *Weights*."""

from dataclasses import dataclass
from typing import Annotated

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.codecs import count
from headlight.model.weights.head_circuit import CircuitKind

MAX_DISTANCE = 4096  # tokens between a query and its key


@dataclass(frozen=True)
class Choices(PageChoices):
    """Circuit of a head that is read from its weights, and the text of the token that is looked up in it.

    With rotary positions the QK circuit is that of a key `distance` tokens before its query.
    """

    circuit: CircuitKind = "qk"
    circuit_token: str = ""
    distance: Annotated[int, count(0, MAX_DISTANCE)] = 1
