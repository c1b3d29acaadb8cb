"""What can be chosen on the page *Weights* alone."""

from dataclasses import dataclass

from headlight.app.selection.choices import PageChoices
from headlight.model.explain.circuits import CircuitKind


@dataclass(frozen=True)
class Choices(PageChoices):
    """Which circuit of a head is read from its weights, and the text of the token that is looked up in it."""

    circuit: CircuitKind = "qk"
    circuit_token: str = ""
