"""Features of a dictionary in a run: as parts of a stream, of a score, and of a head's effect.

What no feature says is the dictionary's error. It is a part like any other, and so is the decoder's bias: the parts of
a stream add up to the stream, those of a score to the score, and those of a write to the write.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution import direct_effects
from headlight.model.attribution.logits import Question, read_of, writes_of
from headlight.model.attribution.parts import EDITS, Part, Parts, stream_at
from headlight.model.attribution.score import NORM_BIAS, Cell, Why, explain_parts
from headlight.model.base.errors import InputError
from headlight.model.features.splice import flat
from headlight.model.measure import Measure, score_parts
from headlight.model.nn.hooks import Collect
from headlight.model.runs.dictionary import Dictionary
from headlight.model.runs.edits import Head, follows_stream
from headlight.model.runs.head import attend, head_weights
from headlight.model.runs.host import kept
from headlight.model.runs.linear import has_bias, written
from headlight.model.runs.run import Run, once_more
from headlight.model.runs.stream_norms import at_the_end

ERROR = "the dictionary's error"
DECODER_BIAS = "the decoder's bias"
VALUE_BIAS = "value's bias b_V"
VALUE_CLIP = "clipping of the value"


@kept
def activation(run: Run, hook: str) -> Float[Tensor, "pos width"]:
    """An activation of a run as dictionaries read it, heads side by side, with the run's edits."""
    collect = Collect({hook}, lambda activation: flat(hook, activation[0]).float().cpu().clone())
    once_more(run, collect, stop_at_layer=None if follows_stream(hook) else run.cfg.n_layers)
    return collect.kept[hook]


@kept
@torch.inference_mode()
def active(run: Run, dictionary: Dictionary) -> Float[Tensor, "pos feature"]:
    """Activation of each of a dictionary's features at each position of a run."""
    return dictionary.encode(activation(run, dictionary.hook_in))


def strongest(run: Run, dictionary: Dictionary, position: int) -> tuple[list[int], Float[Tensor, " some"]]:
    """The features that are active at a position, the most active first, and how active each is."""
    acts = active(run, dictionary)[position]
    order = acts.argsort(descending=True)
    features = order[acts[order] != 0].tolist()
    return features, acts[features]


def layer_after(dictionary: Dictionary) -> int | None:
    """Layer whose heads read the stream that an autoencoder reconstructs; None for other activations."""
    layer, _, name = dictionary.hook_in.removeprefix("blocks.").partition(".")
    if not dictionary.is_autoencoder or name not in ("hook_resid_pre", "hook_resid_post"):
        return None
    return int(layer) + (name == "hook_resid_post")


@kept
@torch.inference_mode()
def feature_parts(run: Run, dictionary: Dictionary, position: int) -> Parts:
    """The stream at a position before a layer as a sum: active features, strongest first, bias and error.

    Raises:
        InputError: the dictionary is of no stream between layers.
    """
    layer = layer_after(dictionary)
    if layer is None:
        raise InputError(
            f"{dictionary.name} is of {dictionary.hook_in}; heads read the stream between layers. Choose a dictionary "
            "of a hook_resid_pre, or of the hook_resid_post before it."
        )
    stream = stream_at(run, position, layer).double()
    features, acts = strongest(run, dictionary, position)
    vectors = dictionary.decoder_rows(features).double() * acts[:, None]
    bias = dictionary.b_dec().double()
    names = (*(Part(f"feature {each}", layer, feature=each) for each in features), Part(DECODER_BIAS), Part(ERROR))
    return Parts(names, torch.cat([vectors, bias[None], (stream - vectors.sum(0) - bias)[None]]), stream)


@kept
def explain_cell_by_features(run: Run, cell: Cell, dictionary: Dictionary) -> Why:
    """A cell's score as a sum over pairs of parts of the query's and the key's stream, by feature.

    Norms' scales are the run's own; biases, positions and errors are parts of their own, and nothing is left.

    Raises:
        InputError: the dictionary is not of the stream that the cell's layer reads.
    """
    check_reads(dictionary, cell.layer)
    query, key = (feature_parts(run, dictionary, position) for position in (cell.query, cell.key))
    return explain_parts(run, cell, query, key)


def check_reads(dictionary: Dictionary, layer: int) -> None:
    """Refuse a dictionary that is not of the stream before a layer.

    Raises:
        InputError: it says of what it is.
    """
    if layer_after(dictionary) != layer:
        raise InputError(
            f"{dictionary.name} is of {dictionary.hook_in}; the heads of layer {layer} read "
            f"blocks.{layer}.hook_resid_pre. Choose a dictionary of that stream, or a head of another layer."
        )


@dataclass(frozen=True, eq=False)
class Moved:
    """A head's write at a query, by source position and feature.

    Row i of `vectors` is `parts[i]` of the stream at position `sources[i]`, weighted and through W_V and W_O; what does
    not depend on the source (biases, and what edits changed) has None for it. They add up to `write`, the head's own
    without b_O; `residual` [] is how far off their sum is.
    """

    sources: tuple[int | None, ...]
    parts: tuple[Part, ...]
    vectors: Float[Tensor, "part d_model"]
    write: Float[Tensor, " d_model"]
    residual: Float[Tensor, " d_model"]


@kept
@torch.inference_mode()
def moved_by_features(run: Run, head: Head, query: int, dictionary: Dictionary) -> Moved:
    """Split a head's write at a query by source position and feature.

    Raises:
        InputError: the dictionary is not of the stream that the head's layer reads.
    """
    layer, index = head
    check_reads(dictionary, layer)
    weights, pattern = head_weights(run, layer, index), attend(run, layer, index).pattern[query].double()
    sources, parts, values = list[int | None](), list[Part](), list[Tensor]()
    clip = run.cfg.clip_qkv
    constant = torch.zeros(2 if clip is None else 3, weights.W_V.shape[1], dtype=torch.float64)
    for source in pattern.nonzero().flatten().tolist():
        of_source = feature_parts(run, dictionary, source)
        rows = score_parts.projected(of_source.vectors, of_source.stream, weights.norm, weights.W_V, weights.b_V)
        if clip is not None:
            rows = score_parts.clipped(rows, clip)
        n_parts, rows = len(of_source.parts), rows * pattern[source]
        sources += [source] * n_parts
        parts += of_source.parts
        values.append(rows[:n_parts])
        constant += rows[n_parts:]
    is_listed = {
        NORM_BIAS: weights.norm is not None and weights.norm.b is not None,
        VALUE_BIAS: has_bias(run.model, layer, "b_V"),
    }
    is_listed |= {} if clip is None else {VALUE_CLIP: True}
    values.append(constant[[*is_listed.values()]])
    parts += [Part(name) for name, is_there in is_listed.items() if is_there]
    vectors = written(run, layer, torch.cat(values) @ weights.W_O.double(), query)
    write = writes_of(run, head, query).double().sum(0)
    if run.edits:
        parts.append(Part(EDITS))
        vectors = torch.cat([vectors, (write - vectors.sum(0))[None]])
    sources += [None] * (len(parts) - len(sources))
    return Moved(tuple(sources), tuple(parts), vectors, write, vectors.sum(0) - write)


def moved_effects(run: Run, head: Head, dictionary: Dictionary, question: Question) -> Measure:
    """The direct effect of each moved part on target minus distractor [part] (logits).

    It is the direct effect, read at the run's own final scale. The parts are those of `moved_by_features`.

    Raises:
        InputError: the dictionary is not of the stream that the head's layer reads, or the model's logits are no sums.
    """
    moved = moved_by_features(run, head, question.position, dictionary)
    with torch.inference_mode():
        read, stream = read_of(run, question), stream_at(run, question.position)
        vectors = at_the_end(run, head[0], moved.vectors, question.position)
        return direct_effects.direct_effects(vectors, stream, read.norm, read.direction)
