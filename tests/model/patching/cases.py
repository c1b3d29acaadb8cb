"""A tiny model in float64 and two prompts of as many tokens, so that sums in another order agree to twelve digits."""

from dataclasses import dataclass

from torch import Tensor

from headlight.model import Transformer
from headlight.model.patching import LogitDifference, Patching
from tests.model.oracles import VARIANTS, random_model, random_tokens

N_POS = 7
ASKED = LogitDifference(target=3, distractor=5, position=N_POS - 1)
TOLERANCE = {"rtol": 1e-9, "atol": 1e-11}  # some thousand float64 sums of numbers of size 10, divided by about 1


@dataclass(frozen=True)
class Case:
    """A model and prompts A and B."""

    model: Transformer
    a: Tensor
    b: Tensor

    def patching(self, question: LogitDifference = ASKED, **choices: str) -> Patching:
        return Patching(self.model, self.a, self.b, question, **choices)  # type: ignore[arg-type]

    def difference(self, logits: Tensor, question: LogitDifference = ASKED) -> float:
        row = logits[0, question.position]
        return float(row[question.target] - row[question.distractor])


def case(variant: str = "plain") -> Case:
    """One of the variants of the tiny model."""
    a, b = random_tokens(n_pos=N_POS).split(1)
    model = random_model(**(VARIANTS[variant] | {"n_layers": 3})).double().requires_grad_(False).eval()
    return Case(model, a, b)
