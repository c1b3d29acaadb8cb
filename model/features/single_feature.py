"""One feature of a dictionary: the sources of its activation, the tokens that it promotes, and heads that read it."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.direct_effects import Promoted
from headlight.model.attribution.logits import final_norm, unembedding
from headlight.model.attribution.parts import EDITS, Part, Parts, parts_at, stream_at, with_edits
from headlight.model.features.effects import activation
from headlight.model.measure import Measure
from headlight.model.measure.head_steps import Norm
from headlight.model.measure.score_parts import normalized
from headlight.model.nn.layers.parameters import widened
from headlight.model.runs.dictionary import Dictionary
from headlight.model.runs.head import head_weights
from headlight.model.runs.host import kept
from headlight.model.runs.kept import STREAMS
from headlight.model.runs.linear import check_reading, check_split, norm_before, norm_of, writes_at_unit_scale
from headlight.model.runs.run import Run
from headlight.model.weights import composition
from headlight.model.weights.composition import Through
from headlight.model.weights.head_circuit import THROUGH

MAX_PROMOTED = 10
CHUNK = 8192  # decoder rows that are compared at once: of 768 numbers each they take 24 MB
STREAM = (*STREAMS, "hook_attn_out", "hook_mlp_out")
WEIGHTS = ("W_Q", "W_K", "W_V", "W_O")
CONSTANT = "encoder's bias"


@dataclass(frozen=True, eq=False)
class MadeBy:
    """Activation of a feature at one position, as a sum over the components of the stream that it reads.

    `parts` and `values` [part] are all of it, the constant last: they add up to what the encoder gives before it cuts
    off what is not active (`before` []), which is the feature's activation where it is active.
    """

    parts: tuple[Part, ...]
    values: Measure
    before: Measure


@dataclass(frozen=True, eq=False)
class Nearest:
    """The features whose decoder rows point most in one feature's direction, the nearest first, by their cosine."""

    features: Int[Tensor, " k"]
    cosines: Float[Tensor, " k"]


@kept
@torch.inference_mode()
def made_by(run: Run, dictionary: Dictionary, feature: int, position: int) -> MadeBy | None:
    """Sources of a feature's activation at a position; None where its dictionary reads no stream.

    Where it reads a normalised stream, that is at the scale of the norm in this run.

    Raises:
        InputError: the model's stream is no sum of parts.
    """
    check_split(run.model)
    read = _parts_read(run, dictionary, position)
    if read is None:
        return None
    row, constant = dictionary.encoder_rows([feature])[0].double(), dictionary.offsets([feature]).double()
    values = torch.cat([read.vectors.double() @ row, constant])
    return MadeBy(
        (*read.parts, Part(CONSTANT)),
        Measure("part of the activation", "activation", ("part",), values),
        Measure("activation before the cut", "activation", (), values.sum()),
    )


def _parts_read(run: Run, dictionary: Dictionary, position: int) -> Parts | None:
    """The parts of the stream that a dictionary reads, as it reads them."""
    layer, end = dictionary.layer, dictionary.hook_in.split(".", 2)[-1]
    match end:
        case "hook_resid_pre":
            return parts_at(run, position, layer)
        case "hook_resid_post":
            return parts_at(run, position, layer + 1)
        case "hook_resid_mid":
            return _before_mlp(run, layer, position)
        case "ln1.hook_normalized":
            return _normalised(parts_at(run, position, layer), norm_of(run.model.block(layer).ln1))
        case "ln2.hook_normalized" if f"blocks.{layer}.hook_resid_mid" in run.model.hook_names:
            return _normalised(_before_mlp(run, layer, position), norm_of(run.model.block(layer).get_submodule("ln2")))
    return None


def _before_mlp(run: Run, layer: int, position: int) -> Parts:
    """Components of the stream between a layer's attention and its MLP; the change by edits is one of them."""
    parts = parts_at(run, position, layer + 1)
    stream = activation(run, f"blocks.{layer}.hook_resid_mid")[position]
    before = [slot for slot, part in enumerate(parts.parts) if _is_before_mlp(part, layer) and part.name != EDITS]
    return with_edits(run, tuple(parts.parts[slot] for slot in before), parts.vectors[before], stream)


def _is_before_mlp(part: Part, layer: int) -> bool:
    return part.layer != layer or part.head is not None or part.name.endswith("attention bias")


def _normalised(read: Parts, norm: Norm | None) -> Parts:
    """The parts behind a norm, before its gain and bias."""
    bare = None if norm is None else replace(norm, w=None, b=None)
    return Parts(read.parts, normalized(read.vectors, read.stream, bare).float(), read.stream)


def direction_of(
    run: Run, dictionary: Dictionary, feature: int, before: int | None = None
) -> Float[Tensor, " d_model"] | None:
    """A feature's write to the stream at an activation of 1, over all outputs; None where it writes to no stream.

    With `before` it is what the heads of that layer see of it. A norm behind the layer's heads is counted by its gain
    alone.
    """
    outputs = (each for each in dictionary.outputs if before is None or _first_reader(each.hook) <= before)
    written = [_to_stream(run, output.hook, output.W_dec[feature]) for output in outputs]
    directions = [each for each in written if each is not None]
    return torch.stack(directions).sum(0) if directions else None


def _to_stream(run: Run, hook: str, row: Float[Tensor, " width"]) -> Float[Tensor, " d_model"] | None:
    end, row = hook.rpartition(".")[2], widened(row)
    if end in STREAM:
        return row
    if end != "hook_z":
        return None
    layer = int(hook.split(".")[1])
    W_O = widened(run.model.block(layer).attn.W_O.detach())
    return writes_at_unit_scale(run.model, layer, torch.einsum("hd,hdm->m", row.reshape(W_O.shape[:2]), W_O))


@kept
@torch.inference_mode()
def tokens_of(run: Run, dictionary: Dictionary, feature: int, position: int) -> Promoted | None:
    """The tokens that a feature promotes and suppresses at an activation of 1; None where it writes to no stream.

    They are read through the final norm at the scale that it has at that position.

    Raises:
        InputError: the model's logits are no sums over what wrote to the stream.
    """
    check_reading(run.model)
    direction = direction_of(run, dictionary, feature)
    if direction is None:
        return None
    return direct_effects.promoted(direction, stream_at(run, position), final_norm(run), unembedding(run), MAX_PROMOTED)


def nearest(dictionary: Dictionary, feature: int, count: int = 10) -> Nearest:
    """The features whose decoder rows, all outputs side by side, have the largest cosine with one feature's."""
    each = range(len(dictionary.outputs))
    own = torch.cat([dictionary.decoder_rows([feature], out) for out in each], 1)[0]
    cosines = torch.empty(dictionary.n_features)
    for start in range(0, dictionary.n_features, CHUNK):
        some = range(start, min(start + CHUNK, dictionary.n_features))
        rows = torch.cat([dictionary.decoder_rows(some, out) for out in each], 1)
        cosines[start : some.stop] = torch.cosine_similarity(rows, own[None])
    cosines[feature] = -torch.inf
    top = cosines.topk(min(count, dictionary.n_features - 1))
    return Nearest(top.indices, top.values)


@kept
@torch.inference_mode()
def read_by(run: Run, dictionary: Dictionary, feature: int) -> dict[Through, Measure] | None:
    """Read-out of the feature's write by each later head [layer, head]; None where it writes to no stream.

    By its query, its key and its value, each a composition score: the size of what the head's circuit makes of the
    direction, over both sizes. Of a cross-layer feature the direction is what it has written before the head's layer.
    NaN for the heads of layers that come before all that it writes.
    """
    if direction_of(run, dictionary, feature) is None:
        return None
    shape = (run.cfg.n_layers, run.cfg.n_heads)
    scores = {through: torch.full(shape, torch.nan) for through in THROUGH}
    for layer in range(run.cfg.n_layers):
        direction = direction_of(run, dictionary, feature, before=layer)
        if direction is None:
            continue
        weights = [head_weights(run, layer, head) for head in range(run.cfg.n_heads)]
        W_Q, W_K, W_V, W_O = (torch.stack([getattr(each, name) for each in weights]) for name in WEIGHTS)
        for through, scored in scores.items():
            reader = composition.reader(through, W_Q, W_K, W_V, W_O, norm_before(run.model, layer))
            scored[layer] = composition.reading_of(direction, reader, composition.size(reader))
    return {
        through: Measure(f"{through} composition", "share", ("layer", "head"), scored)
        for through, scored in scores.items()
    }


def _first_reader(hook: str) -> int:
    """First layer whose heads can read a write to an activation."""
    if not hook.startswith("blocks."):
        return 0  # an embedding
    return int(hook.split(".")[1]) + (not hook.endswith("hook_resid_pre"))
