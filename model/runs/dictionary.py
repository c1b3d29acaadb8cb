"""Sparse dictionaries: an encoder from an activation to features, and a decoder back.

An autoencoder stands for the activation that it reads, a transcoder for another one, a cross-layer transcoder for
several. Whatever its file calls things, here a feature that is active is linear in what is read: its activation is its
encoder row times that plus a constant (`offsets`), and it writes its activation times its decoder row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import NotFiniteError
from headlight.model.nn.layers.parameters import widened

Architecture = Literal["standard", "topk", "batchtopk", "jumprelu", "gated"]
CHUNK = 16384  # features whose rows are widened to float32 at a time


@dataclass(frozen=True, eq=False)
class Output:
    """An activation that a dictionary reconstructs, by its name, and the decoder for it."""

    hook: str
    W_dec: Float[Tensor, "feature d_out"]
    b_dec: Float[Tensor, " d_out"]


@dataclass(frozen=True, eq=False)
class Gates:
    """Gate of a gated dictionary's features: x W_enc exp(-r_mag) + b_gate, active above 0."""

    r_mag: Float[Tensor, " feature"]
    b_gate: Float[Tensor, " feature"]


@dataclass(frozen=True, eq=False)
class Reading:
    """The map between an activation and the encoder: subtract a mean, multiply by a gain, add a shift.

    Of a dictionary that was trained on centred streams it is the centring, of one that reads what an MLP reads the
    gain and bias of the norm before it.
    """

    centred: bool = False
    gain: Float[Tensor, " d_in"] | None = None
    shift: Float[Tensor, " d_in"] | None = None

    def apply(self, x: Float[Tensor, "*at d_in"]) -> Float[Tensor, "*at d_in"]:
        """Apply the map to an activation."""
        x = self.linear(x)
        return x if self.shift is None else x + self.shift

    def linear(self, x: Float[Tensor, "*at d_in"]) -> Float[Tensor, "*at d_in"]:
        """The same without the shift; it is its own transpose, so that it brings an encoder's row back as well."""
        if self.gain is not None:
            return x * self.gain
        return x - x.mean(-1, keepdim=True) if self.centred else x


AS_IT_IS = Reading()


@dataclass(frozen=True, eq=False)
class Origin:
    """Origin of a dictionary by its file; fields that the file does not state are empty.

    `centred` is whether the model's writing weights were centred, so that what was read had a mean of 0; `folded`
    whether values' biases were folded into the output's, which changes what heads mix. `settings` are some of the
    model's config, by `TransformerConfig`'s names.
    """

    model: str = ""
    centred: bool = False
    folded: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Dictionary:
    """A dictionary of features in one activation of a model.

    Its weights are views of the mapped file, of which only the requested rows are read; everything is computed
    in float32. `threshold` is what a feature has to exceed (jumprelu, batchtopk), `k` how many at most are active
    (topk); with `keep_sign` these can be below 0. With `b_dec_from_input` the decoder's bias is taken off what is read.
    `skip` is a linear map past the features, from what is read to the first output. `reading` is what comes before all
    that.

    Source: Bricken et al. 2023, "Towards Monosemanticity" (standard); Gao et al. 2024, arXiv 2406.04093 (topk);
    Bussmann et al. 2024, arXiv 2412.06410 (batchtopk); Rajamanoharan et al. 2024, arXiv 2404.16014 (gated) and
    2407.14435 (jumprelu); Dunefsky et al. 2024, arXiv 2406.11944 (transcoders), Paulo et al. 2025, arXiv 2501.18823
    (skip connections).
    """

    name: str
    hook_in: str
    architecture: Architecture
    W_enc: Float[Tensor, "d_in feature"]
    b_enc: Float[Tensor, " feature"]
    outputs: tuple[Output, ...]
    threshold: Float[Tensor, " feature"] | None = None
    k: int | None = None
    keep_sign: bool = False
    gates: Gates | None = None
    skip: Float[Tensor, "d_in d_out"] | None = None
    reading: Reading = AS_IT_IS
    b_dec_from_input: bool = False
    origin: Origin = Origin()

    @property
    def identity(self) -> tuple[str, str]:
        """A hashable identity."""
        return self.name, self.hook_in

    @property
    def hooks_out(self) -> tuple[str, ...]:
        """Names of the activations that it reconstructs; for an autoencoder, of its input."""
        return tuple(output.hook for output in self.outputs)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.W_enc.shape[1]

    @property
    def d_in(self) -> int:
        """Width of its input."""
        return self.W_enc.shape[0]

    @property
    def layer(self) -> int:
        """Layer of its input; 0 where that belongs to none."""
        match = re.search(r"(?<![^.])\d{1,4}(?![^.])", self.hook_in)
        return int(match[0]) if match else 0

    @property
    def is_autoencoder(self) -> bool:
        """Whether it reconstructs its own input."""
        return self.hooks_out == (self.hook_in,)

    def encode(self, x: Float[Tensor, "*at d_in"]) -> Float[Tensor, "*at feature"]:
        """Activation of each feature; 0 where inactive.

        Raises:
            NotFiniteError: the encoder holds NaN or infinite values.
        """
        read = self.reading.apply(x.float())
        read = read - self.b_dec() if self.b_dec_from_input else read
        chunks = (slice(start, start + CHUNK) for start in range(0, self.n_features, CHUNK))
        acts = torch.cat([self._encoded(read, chunk) for chunk in chunks], dim=-1)
        self._check_finite(acts)
        return acts if self.k is None else _top(acts, self.k)

    def _check_finite(self, values: Tensor) -> None:
        if not values.isfinite().all():
            raise NotFiniteError(
                f"The dictionary {self.name} gives NaN or infinite values: its file is damaged, or was saved from a "
                "training that failed. Copy or download it again."
            )

    def _encoded(self, read: Float[Tensor, "*at d_in"], some: slice) -> Float[Tensor, "*at some"]:
        product = read @ widened(self.W_enc[:, some])
        if self.gates is not None:
            gate = product + widened(self.gates.b_gate[some])
            product = product * widened(self.gates.r_mag[some]).exp()
            return (product + widened(self.b_enc[some])).relu() * (gate > 0)
        pre = product + widened(self.b_enc[some])
        if self.keep_sign:
            return pre
        return pre.relu() if self.threshold is None else pre.relu() * (pre > widened(self.threshold[some]))

    def decode(
        self, acts: Float[Tensor, "*at feature"], x: Float[Tensor, "*at d_in"] | None = None, out: int = 0
    ) -> Float[Tensor, "*at d_out"]:
        """Reconstruction from features: decoder and its bias, and the skip connection of `x` if there is one.

        Of a cross-layer transcoder it is what this layer's features write to one of its outputs.

        Raises:
            NotFiniteError: the decoder holds NaN or infinite values.
        """
        active = acts.reshape(-1, self.n_features).any(0).nonzero().flatten()
        written = acts[..., active].float() @ self.decoder_rows(active.tolist(), out) + self.b_dec(out)
        self._check_finite(written)
        if self.skip is None or out != 0:
            return written
        if x is None:
            raise ValueError(f"{self.name} has a skip connection: decode needs its input, as x.")
        return written + self.reading.apply(x.float()) @ widened(self.skip)

    def encoder_rows(self, features: Sequence[int]) -> Float[Tensor, "some d_in"]:
        """Encoder rows and offsets: an active feature's activation is its row times the input, plus its offset."""
        return self.reading.linear(self._rows(features))

    def _rows(self, features: Sequence[int]) -> Float[Tensor, "some d_in"]:
        rows = widened(self.W_enc[:, list(features)]).T
        return rows if self.gates is None else rows * widened(self.gates.r_mag[list(features)]).exp()[:, None]

    def offsets(self, features: Sequence[int]) -> Float[Tensor, " some"]:
        """Constant part of features' pre-activations: the encoder's bias, and its product with other biases."""
        read = torch.zeros(self.d_in) if self.reading.shift is None else self.reading.shift
        read = read - self.b_dec() if self.b_dec_from_input else read
        return widened(self.b_enc[list(features)]) + self._rows(features) @ read

    def decoder_rows(self, features: Sequence[int], out: int = 0) -> Float[Tensor, "some d_out"]:
        """Decoder rows of features."""
        return widened(self.outputs[out].W_dec[list(features)])

    def b_dec(self, out: int = 0) -> Float[Tensor, " d_out"]:
        """Constant part of the output; of a cross-layer transcoder zero except at its own layer's output."""
        return widened(self.outputs[out].b_dec)


def _top(acts: Float[Tensor, "*at feature"], k: int) -> Float[Tensor, "*at feature"]:
    values, indices = acts.topk(min(k, acts.shape[-1]), dim=-1)
    return torch.zeros_like(acts).scatter_(-1, indices, values)


class Dictionaries(Mapping[int, Dictionary]):
    """The dictionaries that were opened together, by the layer that each reads."""

    def __init__(self, name: str, dictionaries: Sequence[Dictionary]) -> None:
        self.name = name
        self._by_layer = {each.layer: each for each in sorted(dictionaries, key=lambda each: each.layer)}

    @property
    def identity(self) -> str:
        """A hashable identity."""
        return self.name

    def __getitem__(self, layer: int) -> Dictionary:
        return self._by_layer[layer]

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_layer)

    def __len__(self) -> int:
        return len(self._by_layer)
