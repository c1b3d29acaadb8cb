"""What a direction says of a run: how far each token's stream lies along it, and what else points its way."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.logits import final_norm, unembedding
from headlight.model.attribution.parts import parts_at, stream_at
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.measure import Measure
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import CHUNK, Dictionary
from headlight.model.runs.direction import Direction
from headlight.model.runs.edits import head_name
from headlight.model.runs.host import kept
from headlight.model.runs.linear import check_reading, check_split, no_split, writes_at_unit_scale
from headlight.model.runs.run import Run

MAX_TOKENS = 10
MAX_LISTED = 8  # of the parts and the features whose cosine is largest

Cosines = list[tuple[str, str, float]]
"""What kind of thing it is, its name, and its cosine with the direction."""


def fitting_sides(comparison: Comparison, direction: Direction) -> dict[str, Run]:
    """The runs of models that the direction can be of, by side; another model's stream has other axes."""
    return {side: run for side, run in comparison.sides.items() if direction.fits(run.cfg.d_model, run.cfg.n_layers)}


def projections(run: Run, direction: Direction) -> Measure:
    """How far the stream lies along the direction, in units of the vector's length: by state and position.

    NaN in layers that the direction has no vector for. The unit is that of an edit's factor.
    """
    direction.check_fits(run.cfg.d_model, run.cfg.n_layers)
    values = torch.full((run.cfg.n_layers + 1, len(run.tokens)), torch.nan)
    for layer, stream in enumerate(run.streams()):
        if layer in direction.vectors and bool(direction.vectors[layer].any()):
            values[layer] = stream @ direction.unit(layer) / direction.vectors[layer].norm()
    return Measure("projection", "share", ("layer", "pos"), values)


def nearest_tokens(run: Run, direction: Direction, layer: int, position: int, by: Lens = LOGIT) -> Promoted:
    """The tokens that the direction of a layer raises and lowers most, read by a lens through the final norm.

    The norm's scale is the run's own at that position. A tuned or Jacobian lens carries the vector by the linear part
    of its map.

    Raises:
        InputError: the model's logits are no sums over what wrote to the stream.
    """
    check_reading(run.model)
    vector = direction.vectors[layer]
    if layer < run.cfg.n_layers:
        vector = by.carried(layer, vector) - by.carried(layer, torch.zeros_like(vector))
    with torch.inference_mode():
        stream = stream_at(run, position)
        return direct_effects.promoted(vector, stream, final_norm(run), unembedding(run), MAX_TOKENS)


def cosines(
    run: Run,
    direction: Direction,
    layer: int,
    position: int,
    others: Mapping[str, Direction] | None = None,
    dictionary: Dictionary | None = None,
) -> Cosines:
    """The cosines of a layer's vector with other directions, with what heads and MLPs write, tokens and features.

    Of a head's W_O it is the cosine with the nearest vector that the head can write, which has no sign.

    Args:
        run: the run whose heads and MLPs write.
        direction: the direction.
        layer: which of its vectors.
        position: at which token they write.
        others: other directions by name.
        dictionary: a dictionary of the stream, whose decoder rows are compared.
    """
    unit, listed = direction.unit(layer), Cosines()
    for name, other in (others or {}).items():
        if layer in other.vectors and other.d_model == direction.d_model:
            listed.append(("direction", name, float(other.unit(layer) @ unit)))
    if not no_split(run.model):
        parts = parts_at(run, position, layer)
        listed += _largest("writes", [part.name for part in parts.parts], _cosine(parts.vectors, unit))
        if layer:
            heads = [head_name((at, head)) for at in range(layer) for head in range(run.cfg.n_heads)]
            listed += _largest("W_O", heads, writable(run, direction, layer).values.flatten())
    W_U = unembedding(run)
    near = _cosine(W_U.T, unit)
    best = near.abs().topk(min(MAX_LISTED, len(near))).indices.tolist()
    names = run.outputs.labels(best)
    listed += [("unembedding", name, float(near[token])) for name, token in zip(names, best, strict=True)]
    if dictionary is not None:
        rows = torch.cat(
            [
                _cosine(dictionary.decoder_rows(range(start, min(start + CHUNK, dictionary.n_features))), unit)
                for start in range(0, dictionary.n_features, CHUNK)
            ]
        )
        listed += _largest("feature", [f"{dictionary.name} {feature}" for feature in range(len(rows))], rows)
    return listed


@kept
@torch.inference_mode()
def writable(run: Run, direction: Direction, layer: int) -> Measure:
    """The length of the part of a layer's unit vector that each head before it can write: 1 if all of it.

    That is its projection on the span of the head's W_O. Of a random vector it is about the root of d_head / d_model.

    Raises:
        InputError: the model's stream is no sum of parts.
    """
    check_split(run.model)
    unit, shares = direction.unit(layer).double(), torch.empty(layer, run.cfg.n_heads)
    for at in range(layer):
        W_O = writes_at_unit_scale(run.model, at, widened(run.model.block(at).attn.W_O.detach())).double()
        along = W_O @ unit
        inverse = torch.linalg.pinv(W_O @ W_O.mT, hermitian=True)
        shares[at] = torch.einsum("hd,hde,he->h", along, inverse, along).clamp(min=0).sqrt()
    return Measure("part in the span of W_O", "cosine", ("layer", "head"), shares)


def _cosine(rows: Float[Tensor, "row d_model"], unit: Float[Tensor, " d_model"]) -> Float[Tensor, " row"]:
    return (rows @ unit) / rows.norm(dim=-1).clamp(min=1e-12)


def _largest(kind: str, names: list[str], values: Float[Tensor, " row"]) -> Cosines:
    best = values.abs().topk(min(MAX_LISTED, len(values))).indices.tolist()
    return [(kind, names[place], float(values[place])) for place in best]
