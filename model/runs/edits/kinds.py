"""Kinds of edits: the activation that is changed, and where.

In every edit, no positions means every position, and no layers every layer.
"""

import re
from dataclasses import dataclass
from typing import Literal

from headlight.model.measure.alignment import Align
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.direction import MARK

Head = tuple[int, int]
Neuron = tuple[int, int]
Ablation = Literal["zero", "mean", "resample"]
Steering = Literal["add", "scale"]
Part = Literal["layer", "attention", "MLP"]
Featuring = Literal["ablate", "clamp", "add"]
Action = Literal["add", "project_out", "cap"]

SHARED = ("hook_k", "hook_v", "hook_rot_k")  # of a group of heads, where these share keys and values
MAX_EDITS = 20  # of a run


@dataclass(frozen=True)
class AblateHeads:
    """Ablate heads: replace their z at every position.

    Attributes:
        heads: (layer, head) pairs.
        by: "zero", "mean" (over the positions of the prompts in `over`, or of this prompt) or "resample" (z on
            `prompt`).
        prompt: the other prompt of "resample".
        over: the prompts of "mean".
        align: how the positions of a prompt of another length are matched; positions without a match stay unchanged.
    """

    heads: tuple[Head, ...]
    by: Ablation = "zero"
    prompt: str = ""
    over: tuple[str, ...] = ()
    align: Align = "tokens"


@dataclass(frozen=True)
class CutEdge:
    """Set one attention weight to 0; with `renormalise` the row's other weights are scaled to sum to 1 again."""

    head: Head
    query: int
    key: int
    renormalise: bool = False


@dataclass(frozen=True)
class FreezePatterns:
    """Freeze the attention patterns of these layers, or of all if none are named, to those of the unedited run."""

    layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Patch:
    """Patch an activation: take it from the run of another prompt.

    Attributes:
        name: full name of the activation.
        prompt: the other prompt.
        positions: where (query positions of scores and patterns); all positions if empty.
        one_head: only this head; None for all heads.
        align: as in `AblateHeads`.
    """

    name: str
    prompt: str
    positions: tuple[int, ...] = ()
    one_head: int | None = None
    align: Align = "tokens"


@dataclass(frozen=True)
class Steer:
    """Steer the residual stream before a layer along the difference of two prompts' streams at their last positions.

    Attributes:
        layer: the layer.
        toward: the prompt that the direction points to.
        away: the prompt that it points away from.
        factor: see `mode`.
        positions: where; all positions if empty.
        mode: "add" adds `factor` times the difference; "scale" multiplies the component along it by `factor`, so
            that 0 removes it.
    """

    layer: int
    toward: str
    away: str
    factor: float = 1.0
    positions: tuple[int, ...] = ()
    mode: Steering = "add"


@dataclass(frozen=True)
class EditDirection:
    """Move the residual stream along a direction.

    Attributes:
        direction: the name that the direction is opened by.
        layers: the layers before which the stream is edited; all that the direction has a vector for if empty. The
            number of layers stands for the stream after the last.
        action: "add" adds `factor` times the direction's vector; "project_out" removes the stream's part along it;
            "cap" lets that part be no more than `factor` times the vector's length.
        factor: see `action`.
        positions: where; all positions if empty.
    """

    direction: str
    layers: tuple[int, ...] = ()
    action: Action = "add"
    factor: float = 1.0
    positions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Drop:
    """Remove a layer, or only its attention or its MLP: it writes nothing to the residual stream."""

    layer: int
    part: Part = "layer"


@dataclass(frozen=True)
class EditFeature:
    """Edit a dictionary feature: only what the feature writes changes, the reconstruction error stays.

    Attributes:
        dictionary: the name that the dictionary is opened by.
        hook: full name of the activation that it reads.
        feature: index of the feature.
        how: "ablate" sets its activation to 0, "clamp" to `factor`; "add" adds `factor` times its decoder row.
        factor: see `how`.
        positions: where; all positions if empty.
    """

    dictionary: str
    hook: str
    feature: int
    how: Featuring = "ablate"
    factor: float = 0.0
    positions: tuple[int, ...] = ()


@dataclass(frozen=True)
class AblateNeurons:
    """Ablate neurons: replace their activations (before W_out).

    Attributes:
        neurons: (layer, neuron) pairs.
        by: "zero", "mean" (over this prompt's positions) or "resample" (activations on `prompt`).
        prompt: the other prompt of "resample".
        positions: where; all positions if empty.
        align: as in `AblateHeads`.
    """

    neurons: tuple[Neuron, ...]
    by: Ablation = "zero"
    prompt: str = ""
    positions: tuple[int, ...] = ()
    align: Align = "tokens"


@dataclass(frozen=True)
class ClampNeurons:
    """Clamp neurons, (layer, neuron) pairs, to a value at these positions, or at all if none are named."""

    neurons: tuple[Neuron, ...]
    value: float
    positions: tuple[int, ...] = ()


Edit = (
    AblateHeads
    | CutEdge
    | FreezePatterns
    | Patch
    | Steer
    | EditDirection
    | Drop
    | EditFeature
    | AblateNeurons
    | ClampNeurons
)

KINDS: dict[str, type[Edit]] = {
    "ablate": AblateHeads,
    "cut": CutEdge,
    "freeze": FreezePatterns,
    "patch": Patch,
    "steer": Steer,
    "direction": EditDirection,
    "drop": Drop,
    "feature": EditFeature,
    "neurons": AblateNeurons,
    "clamp": ClampNeurons,
}


def sources(edit: Edit) -> tuple[str, ...]:
    """The prompts that an edit takes something from."""
    match edit:
        case AblateHeads(by="resample", prompt=prompt) | AblateNeurons(by="resample", prompt=prompt):
            return (prompt,)
        case Patch(prompt=prompt):
            return (prompt,)
        case Steer(toward=toward, away=away):
            return toward, away
    return ()


def describe(edit: Edit) -> str:
    """An edit in a few words, without the prompts that it takes from."""
    match edit:
        case AblateHeads(heads=heads, by=by, over=over):
            where = f" over {len(over):,} prompt{'s' * (len(over) != 1)}" if by == "mean" and over else ""
            return f"{', '.join(map(head_name, heads))} ablated ({by}{where})"
        case CutEdge(head=head, query=query, key=key, renormalise=renormalise):
            return f"{head_name(head)}: edge from {query} to {key} cut{', row renormalised' if renormalise else ''}"
        case FreezePatterns(layers=layers):
            return f"patterns of {', '.join(f'L{layer}' for layer in layers) or 'every layer'} frozen"
        case Patch(name=name, positions=positions, one_head=head):
            return f"{name}{'' if head is None else f' of H{head}'} patched at {_places(positions)}"
        case Steer(layer=layer, factor=factor, positions=positions, mode=mode):
            done = f"plus {factor:g} × direction" if mode == "add" else f"with {factor:g} × its part along direction"
            return f"stream before L{layer} {done} at {_places(positions)}"
        case EditDirection(direction=direction, layers=layers, action=action, factor=factor, positions=positions):
            name = direction.partition(MARK)[0]
            ways = {
                "add": f"plus {factor:g} × {name}",
                "project_out": f"without its part along {name}",
                "cap": f"with its part along {name} capped at {factor:g}",
            }
            where = ", ".join(f"L{layer}" for layer in layers) or "every layer of the direction"
            return f"stream before {where} {ways[action]} at {_places(positions)}"
        case Drop(layer=layer, part=part):
            return f"L{layer}{'' if part == 'layer' else f' {part}'} dropped"
        case EditFeature(hook=hook, feature=feature, how=how, factor=factor, positions=positions):
            texts = {"ablate": "ablated", "clamp": f"clamped to {factor:g}", "add": f"plus {factor:g} × its direction"}
            return f"feature {feature} of {hook} {texts[how]} at {_places(positions)}"
        case AblateNeurons(neurons=neurons, by=by, positions=positions):
            return f"{_neuron_names(neurons)} ablated ({by}) at {_places(positions)}"
        case ClampNeurons(neurons=neurons, value=value, positions=positions):
            return f"{_neuron_names(neurons)} clamped to {value:g} at {_places(positions)}"


def head_name(head: Head) -> str:
    """Name of a head, with layer and head counted from 0: L2H1."""
    return f"L{head[0]}H{head[1]}"


def neuron_name(neuron: Neuron) -> str:
    """Name of a neuron, with layer and neuron counted from 0: L2N1."""
    return f"L{neuron[0]}N{neuron[1]}"


def _neuron_names(neurons: tuple[Neuron, ...]) -> str:
    return ", ".join(map(neuron_name, neurons))


def _places(positions: tuple[int, ...]) -> str:
    return ", ".join(map(str, positions)) or "every position"


def patched_heads(edit: Edit, cfg: TransformerConfig) -> tuple[int, ...]:
    """The heads of the layer that a patch of one head changes: all of its group, where that shares keys and values.

    None of them where the edit patches no head by itself.
    """
    if not isinstance(edit, Patch) or edit.one_head is None:
        return ()
    if not edit.name.endswith(SHARED):
        return (edit.one_head,)
    return tuple(head for head in range(cfg.n_heads) if cfg.group_of(head) == cfg.group_of(edit.one_head))


def told_sharing(edit: Edit, cfg: TransformerConfig) -> str:
    """Sentence on the heads that share the patched activation with a head; empty where none does."""
    heads = patched_heads(edit, cfg)
    if len(heads) < 2:
        return ""
    return f"This is one key or value of {', '.join(f'H{head}' for head in heads)} together, so it changes all of them."


def touches(edit: Edit, head: Head, cfg: TransformerConfig) -> bool:
    """Whether an edit acts between a head's input and its output."""
    match edit:
        case AblateHeads(heads=heads):
            return head in heads
        case CutEdge(head=cut):
            return head == cut
        case FreezePatterns(layers=layers):
            return not layers or head[0] in layers
        case Patch(name=name, one_head=one_head):
            inside = name.startswith((f"blocks.{head[0]}.attn.", f"blocks.{head[0]}.ln1."))
            return inside and (one_head is None or head[1] in patched_heads(edit, cfg))
        case EditFeature(hook=hook):
            return hook.startswith((f"blocks.{head[0]}.attn.", f"blocks.{head[0]}.ln1."))
    return False


def layer_of(name: str) -> int | None:
    """The layer that an activation belongs to by its name; None for those before the first and after the last."""
    match = re.match(r"blocks\.(\d+)\.", name)
    return int(match[1]) if match else None


def follows_stream(name: str) -> bool:
    """Whether an activation comes after the last state of the residual stream, by its name."""
    return name.startswith(("ln_final.", "mlm_head.", "pooler.", "value_head.", "unembed."))
