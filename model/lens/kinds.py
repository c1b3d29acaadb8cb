"""Lenses: how a state of the stream is mapped to the final norm and the unembedding.

States are counted as `Run.streams` gives them: 0 is the embedding, s the stream after layer s - 1, the last one the
stream that the model itself unembeds, which no lens changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from jaxtyping import Float
from torch import Tensor

from headlight.model.nn.layers.parameters import widened

Kind = Literal["logit", "tuned", "jacobian"]
TITLES: dict[Kind, str] = {"logit": "logit lens", "tuned": "tuned lens", "jacobian": "Jacobian lens"}


class Affine(NamedTuple):
    """An affine map of states: rows times W transposed, plus b."""

    W: Float[Tensor, "d_model d_model"]
    b: Float[Tensor, " d_model"] | None = None

    def __call__(self, resid: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """In float32, whatever the file holds."""
        mapped = resid @ widened(self.W).mT
        return mapped if self.b is None else mapped + widened(self.b)


@dataclass(frozen=True)
class Lens:
    """A lens: its kind, the name it was opened by, and the SHA-256 of its files, by which it is identified.

    `maps` are those of the states that it was made for. The logit lens has none and reads every state as it is. A tuned
    lens adds its map of a state to the state, a Jacobian lens puts the map of the state in its place. `metadata`
    is what the file says of how it was made.

    Source: nostalgebraist 2020 (logit lens); Belrose et al. 2023, arXiv 2303.08112 (tuned lens); the `jlens` package of
    Anthropic, 2026 (Jacobian lens).
    """

    kind: Kind
    name: str = ""
    digest: str = ""
    maps: Mapping[int, Affine] = field(default_factory=dict, compare=False, repr=False)
    metadata: Mapping[str, str | int] = field(default_factory=dict, compare=False, repr=False)
    unembedding: str | None = field(default=None, compare=False, repr=False)

    @property
    def title(self) -> str:
        """Its name in a sentence."""
        return TITLES[self.kind]

    def reads(self, n_layers: int) -> tuple[int, ...]:
        """States of a model that it reads: all of them, or those with a map and the last."""
        own = set(range(n_layers)) if self.kind == "logit" else {state for state in self.maps if state < n_layers}
        return (*sorted(own), n_layers)

    def carried(self, state: int, resid: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """A state before the last as it would be at the end of the stream, by this lens."""
        if self.kind == "logit":
            return resid
        mapped = self.maps[state](resid)
        return resid + mapped if self.kind == "tuned" else mapped


LOGIT = Lens("logit")
