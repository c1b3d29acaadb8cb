"""Exactness of a run's numbers, measured on request: by their sums, in float64, and against other programs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.app.runs import runs
from headlight.app.runs.passes import tell, told_layers
from headlight.app.server.settings import settings
from headlight.model.attention.residual import decomposition_residual
from headlight.model.base import memory
from headlight.model.base.errors import InputError, TooLargeError
from headlight.model.base.source import Source
from headlight.model.checkpoints.families import OWN
from headlight.model.checkpoints.folders import stored_tensors
from headlight.model.checkpoints.gguf.header import is_gguf
from headlight.model.checkpoints.lens_reference import has_transformer_lens, lens_reference
from headlight.model.checkpoints.quantization.error import WeightError as WeightError
from headlight.model.checkpoints.quantization.error import unquantised_beside as unquantised_beside
from headlight.model.checkpoints.quantization.error import weight_error
from headlight.model.checkpoints.reference import Reference, can_be_reference, reference, reference_ids
from headlight.model.checkpoints.rounding import in_float32
from headlight.model.compute.backend import Backend, backend, default, measure
from headlight.model.compute.quantised import kinds_of
from headlight.model.measure import Measure
from headlight.model.measure.attention import row_sum_error
from headlight.model.nn.hooks import Chain, Collect, Look, Tap
from headlight.model.runs.edits.kinds import layer_of
from headlight.model.runs.linear import (
    attention_bias,
    check_split,
    has_attention_bias,
    write_scales,
    writes_at_unit_scale,
)
from headlight.model.runs.run import Run, once_more
from headlight.model.text.id_tokenizer import IdTokenizer

FLOAT = 4  # bytes
MAX_COMPARED = 64  # tokens, of the prompt's first, that are run in float32
MAX_PATTERNS = 2**30  # bytes; transformers gives the patterns of all layers at once


@dataclass(frozen=True)
class Sums:
    """Largest errors of sums: components against the final residual, attention rows against 1.

    `largest` is the final residual's largest entry, beside which a difference is small or large.
    """

    components: Measure
    largest: float
    rows: Measure


@cache
def product() -> Backend:
    """The matrix product in use for the weights, with its error and speed on this machine, measured once."""
    if settings().device == "cpu":
        return backend()
    (cublas,) = measure([("cuBLAS", default)], settings().device)
    return cublas


def precision() -> str:
    """Precision to which torch may round float32 products; "highest" is float32 itself."""
    return torch.get_float32_matmul_precision()


def n_threads() -> int:
    """Processor threads that a run may take."""
    return torch.get_num_threads()


class _Heads(Tap):
    """Sum in float64 of the heads' writes, each its z times its own W_O, and the biases b_O.

    Where an edit has replaced a head's output or all of them, what it put in place of their sum is added too.
    """

    def __init__(self, made: Run) -> None:
        attn = [f"blocks.{layer}.attn" for layer in range(made.cfg.n_layers)]
        self._made, self._layers = made, {f"{name}.hook_z": layer for layer, name in enumerate(attn)}
        self.written = torch.zeros(len(made.tokens), made.cfg.d_model, dtype=torch.float64)

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        if name in self._layers:
            self._add(self._layers[name], activation[0].cpu().double())
        return activation

    def _add(self, layer: int, z: Float[Tensor, "pos head d_head"]) -> None:
        names = f"blocks.{layer}.attn.hook_result", f"blocks.{layer}.hook_attn_out"
        if any(map(self._made.tap.look, names)):
            self.written += self._made.cache["attn_out", layer]
            return
        W_O = self._made.model.get_parameter(f"blocks.{layer}.attn.W_O").cpu().double()
        W_O, scales = writes_at_unit_scale(self._made.model, layer, W_O), write_scales(self._made, layer)
        if scales is not None:
            z = z / scales[:, None, None]
        for head in range(z.shape[1]):  # not all at once, and no layer's output is ever taken as it was written
            self.written.addmm_(z[:, head], W_O[head])
        for position in range(len(z)):
            self.written[position] += attention_bias(self._made, layer, position).cpu()


def summed(made: Run) -> str:
    """Name the components whose sum is compared with the final residual."""
    n_layers, n_heads = made.cfg.n_layers, made.cfg.n_heads
    mlps = "" if made.cfg.attn_only else f", {n_layers} MLPs"
    edits = " and edits of the stream" if made.edits_stream else ""
    n_begun = len(list(made.embeddings()))
    begun = f"{n_begun} embedding{'s' * (n_begun > 1)}"
    n_biases = sum(has_attention_bias(made.model, layer) for layer in range(n_layers))
    biases = f", {n_biases} bias{'es' * (n_biases > 1)} b_O" if n_biases else ""
    return f"{n_layers * n_heads} heads{biases}{mlps}, {begun}{edits}, in float64"


def _others(made: Run) -> Iterator[Float[Tensor, "pos d_model"]]:
    """Other writes: the embeddings, the MLPs, and edits of the stream."""
    yield from (part for _, part in made.embeddings())
    if not made.cfg.attn_only:
        yield from (made.cache["mlp_out", layer] for layer in range(made.cfg.n_layers))
    yield from _added_by_edits(made)


def _added_by_edits(made: Run) -> Iterator[Float[Tensor, "pos d_model"]]:
    """Change of the stream by each edit of it; an error before an edit would count as part of the edit."""
    writes = [(layer, part, state) for layer in range(made.cfg.n_layers) for part, state in made.cfg.written(layer)]
    names = ["blocks.0.hook_resid_pre", *(state and f"blocks.{layer}.hook_{state}" for layer, _, state in writes)]
    stream = torch.zeros_like(made.cache["embed"])
    begun = sum((part for _, part in made.embeddings()), stream)
    for name, part in zip(names, [begun, *(made.cache[part, layer] for layer, part, _ in writes)], strict=True):
        stream = stream + part
        if name is not None and made.tap.look(name):
            yield made.cache[name].double() - stream
            stream = made.cache[name]


def sums(made: Run) -> Sums:
    """The sums of a run, from a pass of its own; of rows that have a sink, how far they are above 1.

    Raises:
        InputError: the model's stream is no sum of components.
        BusyError: too many runs at once.
    """
    check_split(made.model)
    to_sink = made.cfg.use_attention_sinks
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(made.cfg.n_layers)]
    error = _above_one if to_sink else lambda pattern: row_sum_error(pattern[0]).values.cpu()
    tap, heads = Collect(names, error), _Heads(made)
    final = once_more(made, Chain(tap, heads, told_layers(made.cfg.n_layers)), stop_at_layer=made.cfg.n_layers).double()
    rows = Measure("row sum error", "probability", (), torch.stack(list(tap.kept.values())).max())
    components = decomposition_residual(chain([heads.written], _others(made)), final)
    return Sums(components, float(final.abs().max()), rows)


def _above_one(pattern: Float[Tensor, "batch head query key"]) -> Float[Tensor, ""]:
    return (pattern.sum(-1) - 1).clamp_min(0).max().cpu()


@dataclass(frozen=True)
class Differences:
    """Largest differences from a reference: of logits, and of each layer as a share of its largest value.

    Patterns are None where those of all layers would take too much memory. `largest` is the largest logit. `other_ids`
    are transformers' own token ids for the prompt where these are not the run's.
    """

    logits: float
    streams: float
    patterns: float | None
    largest: float
    other_ids: tuple[int, ...] | None = None


def differences_from_transformers(made: Run) -> Differences:
    """The largest differences of any two numbers for this prompt, ours and those of transformers' own model.

    Raises:
        InputError: what was opened is nothing that transformers opens.
        ConfigError: transformers does not read the model's files.
        BusyError: too many runs at once.
    """
    _refuse_edits(made, "transformers has no edits.")
    if not _is_folder_of_transformers(made.source) and not is_gguf(made.source.path):
        raise InputError(
            "transformers can only check its own folders and GGUF files, and this model has another format."
        )
    path, cfg = made.source.path, made.cfg
    types = None if made.token_types is None else torch.tensor([made.token_types])
    return _differences_from(
        made,
        "transformers",
        path,
        lambda patterns: reference(path, made.tokens[None], cfg.is_masked, patterns, types, cfg.d_vocab, cfg.output),
    )


def differences_from_transformer_lens(made: Run) -> Differences:
    """The same from TransformerLens's model with a state dict's weights and the settings that it was opened with.

    Raises:
        ConfigError: TransformerLens is not installed, or has no such model.
        BusyError: too many runs at once.
    """
    _refuse_edits(made, "Edits are not passed to TransformerLens.")
    path = made.source.path
    return _differences_from(
        made,
        "TransformerLens",
        path.parent,
        lambda patterns: lens_reference(path, made.cfg, made.tokens[None], patterns),
    )


def _differences_from(made: Run, program: str, folder: Path, compute: Callable[[bool], Reference]) -> Differences:
    """Differences from a program's results, patterns included if memory allows, with ids by a folder's files."""
    _check_room(made, program)
    n_bytes = FLOAT * made.cfg.n_layers * made.cfg.n_heads * len(made.tokens) ** 2
    with runs.turn():
        theirs = compute(n_bytes <= MAX_PATTERNS)
        ids = reference_ids(folder, made.prompt, made.bos, made.token_types) if has_tokenizer(made) else None
    own = tuple(made.tokens.tolist()) if ids is None else (*ids, *made.written)
    return replace(_differences(made, theirs), other_ids=None if own == tuple(made.tokens.tolist()) else own)


def has_tokenizer(made: Run) -> bool:
    """Whether a model came with a tokenizer, so that another program has token ids for its prompts."""
    return not isinstance(made.model.tokenizer, IdTokenizer)


def has_reference(made: Run) -> bool:
    """Whether a run can be compared with another library's model, of those installed."""
    if made.edits:
        return False
    if is_state_dict(made.source):
        return has_transformer_lens()
    return _is_folder_of_transformers(made.source) and can_be_reference(made.source.path)


def is_state_dict(source: Source) -> bool:
    """Whether a model is TransformerLens's to check."""
    return source.family == "transformer_lens"


def _is_folder_of_transformers(source: Source) -> bool:
    return source.family not in OWN and source.path.is_dir()


def differences_from_float32(made: Run) -> Differences:
    """Differences from the same model with its files' own values in float32, for the first tokens.

    Raises:
        InputError: the run has edits.
        TooLargeError: memory does not hold a layer in float32.
        BusyError: too many runs at once.
    """
    _refuse_edits(made, "Without edits alone the same is computed in float32.")
    with runs.turn():
        whole = in_float32(made.source, made.tokens[None, :MAX_COMPARED], told_layers(made.cfg.n_layers))
    return _differences(made, whole, MAX_COMPARED)


def differences_from_unquantised(made: Run) -> tuple[str, WeightError, Differences]:
    """The name of the folder beside a quantised model's, how far its weights are from that, and its numbers.

    Raises:
        InputError: the run has edits, or no such folder lies there.
        CheckpointError: its model is another.
        TooLargeError: memory does not hold a layer in float32.
        BusyError: too many runs at once.
    """
    _refuse_edits(made, "Without edits alone the same is computed.")
    folder = unquantised_beside(made.source.path)
    if folder is None:
        raise InputError("The unquantised model's folder does not lie beside this one's any more. Put it there again.")
    error = weight_error(made.model, folder, lambda done, total: tell(done, total, "matrices"))
    with runs.turn():
        whole = in_float32(
            replace(made.source, path=folder), made.tokens[None, :MAX_COMPARED], told_layers(made.cfg.n_layers)
        )
    return folder.name, error, _differences(made, whole, MAX_COMPARED)


def is_rounded(made: Run) -> bool:
    """Whether some of the model's matrices are kept in half precision."""
    return bool({"bfloat16", "float16"} & set(kept_in(made)))


def _differences(made: Run, theirs: Reference, most: int | None = None) -> Differences:
    compare = _Compare(theirs)
    ours = once_more(made, Chain(compare, told_layers(made.cfg.n_layers)), most=most)
    if made.cfg.output == "labels":
        ours = ours[[made.prediction_position if len(ours) > 1 else 0]]
    logits = float((ours - theirs.logits[0]).abs().max())
    largest = float(theirs.logits.abs().max())
    return Differences(logits, compare.largest["hook_resid_pre"], compare.largest.get("hook_pattern"), largest)


def _refuse_edits(made: Run, why: str) -> None:
    if made.edits:
        raise InputError(f"{why} Check run A, which has none: the weights are the same.")


def _check_room(made: Run, program: str) -> None:
    """Another program's own model is float32 altogether."""
    needed, free = FLOAT * sum(map(torch.numel, made.model.parameters())), memory.free()
    if free is not None and needed > free:
        raise TooLargeError(
            f"{program} computes in float32, for which the model takes {needed / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB are free."
        )


def kept_in(made: Run) -> tuple[str, ...]:
    """Data type of the model's matrices in memory."""
    parameters = made.model.named_parameters()  # biases of heads have two axes too
    names = ((name.rpartition(".")[2].lstrip("_"), parameter) for name, parameter in parameters)
    return tuple(kinds_of(parameter for name, parameter in names if name.startswith("W_")))


def stored_in(source: Source) -> tuple[str, ...]:
    """Data type of the matrices in a model's files."""
    return tuple(kinds_of(tensor for tensor in stored_tensors(source.path) if tensor.ndim > 1))


class _Compare(Tap):
    """Notes by which share of the largest entry each layer's stream and pattern differ from a reference's."""

    def __init__(self, theirs: Reference) -> None:
        self._theirs = {"hook_resid_pre": theirs.streams, "hook_pattern": theirs.patterns}
        self.largest: dict[str, float] = {}

    def __call__(self, name: str, activation: Tensor) -> Tensor:
        kind, layer = name.rpartition(".")[2], layer_of(name)
        if layer is not None and (theirs := self._theirs.get(kind)):
            difference = (activation.cpu() - theirs[layer]).abs().max() / theirs[layer].abs().max()
            self.largest[kind] = max(self.largest.get(kind, 0.0), float(difference))
        return activation

    def look(self, name: str) -> Look:
        return Look.WHOLE if self._theirs.get(name.rpartition(".")[2]) else Look.NEVER
