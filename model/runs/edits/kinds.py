"""The kinds of edits: what is changed on the way, and where.

In every edit, no positions means every position, and no layers every layer.
"""

import re
from dataclasses import dataclass
from typing import Literal

from headlight.model.measure.alignment import Align
from headlight.model.nn.config import TransformerConfig

Head = tuple[int, int]
Neuron = tuple[int, int]
Ablation = Literal["zero", "mean", "resample"]
Steering = Literal["add", "scale"]
Part = Literal["layer", "attention", "MLP"]
Featuring = Literal["ablate", "clamp", "add"]

SHARED = ("hook_k", "hook_v", "hook_rot_k")  # of a group of heads, where these share keys and values
MAX_EDITS = 20  # of a run


@dataclass(frozen=True)
class AblateHeads:
    """What the heads (layer, head) give, their z, is replaced at every position.

    `zero`: by nothing. `mean`: by its mean over all positions of the prompts in `over`, or else over this prompt's.
    `resample`: by what they give on `prompt`. If that has another number of tokens, `align` says how its positions
    are matched to this one's (`measure.alignment.match_positions`); those without a match stay as they are.
    """

    heads: tuple[Head, ...]
    by: Ablation = "zero"
    prompt: str = ""
    over: tuple[str, ...] = ()
    align: Align = "tokens"


@dataclass(frozen=True)
class CutEdge:
    """A head's query takes nothing from one key; with `renormalise` the row's other weights again sum to 1."""

    head: Head
    query: int
    key: int
    renormalise: bool = False


@dataclass(frozen=True)
class FreezePatterns:
    """Every head of these layers keeps the pattern that it has without any edit, whatever its input has become."""

    layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Patch:
    """An activation is that of another prompt's run, at these positions and, where it has heads, of one head or all.

    `name` is the activation's full name. Of scores and patterns, the positions are those of queries. `align` counts
    where the other prompt has another number of tokens, as in `AblateHeads`.
    """

    name: str
    prompt: str
    positions: tuple[int, ...] = ()
    one_head: int | None = None
    align: Align = "tokens"


@dataclass(frozen=True)
class Steer:
    """The stream before a layer is changed along a direction: from `away` to `toward`, two prompts' last positions.

    `add`: `factor` times the difference of the two streams is added. `scale`: the stream's component along that
    direction is multiplied by `factor`, so that 0 takes it out and 1 changes nothing.
    """

    layer: int
    toward: str
    away: str
    factor: float = 1.0
    positions: tuple[int, ...] = ()
    mode: Steering = "add"


@dataclass(frozen=True)
class Drop:
    """A layer, or its attention or MLP alone, writes nothing to the stream."""

    layer: int
    part: Part = "layer"


@dataclass(frozen=True)
class EditFeature:
    """A feature of a dictionary is as active as is said, at these positions; what the dictionary misses stays.

    `dictionary` is what it is opened by, `hook` the full name of the activation that it reads. `ablate`: the feature's
    activation becomes 0. `clamp`: it becomes `factor`. `add`: `factor` times the feature's decoder row is added,
    whatever its activation is. What the feature writes changes by so much, and nothing else.
    """

    dictionary: str
    hook: str
    feature: int
    how: Featuring = "ablate"
    factor: float = 0.0
    positions: tuple[int, ...] = ()


@dataclass(frozen=True)
class AblateNeurons:
    """What the neurons (layer, neuron) give, their activation before W_out, is replaced at these positions.

    `zero`: by nothing. `mean`: by its mean over this prompt's positions. `resample`: by what they give on `prompt`,
    matched as in `AblateHeads`; positions without a match stay as they are.
    """

    neurons: tuple[Neuron, ...]
    by: Ablation = "zero"
    prompt: str = ""
    positions: tuple[int, ...] = ()
    align: Align = "tokens"


@dataclass(frozen=True)
class ClampNeurons:
    """The neurons (layer, neuron) give this value at these positions, whatever they read."""

    neurons: tuple[Neuron, ...]
    value: float
    positions: tuple[int, ...] = ()


Edit = AblateHeads | CutEdge | FreezePatterns | Patch | Steer | Drop | EditFeature | AblateNeurons | ClampNeurons

KINDS: dict[str, type[Edit]] = {
    "ablate": AblateHeads,
    "cut": CutEdge,
    "freeze": FreezePatterns,
    "patch": Patch,
    "steer": Steer,
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
    """What a head is called, layer and head counted from 0: L2H1."""
    return f"L{head[0]}H{head[1]}"


def neuron_name(neuron: Neuron) -> str:
    """What a neuron is called, layer and neuron counted from 0: L2N1."""
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
    """With which heads a patched head shares what is patched, in a sentence; nothing where it shares it with none."""
    heads = patched_heads(edit, cfg)
    if len(heads) < 2:
        return ""
    return f"This is one key or value of {', '.join(f'H{head}' for head in heads)} together, so it changes all of them."


def touches(edit: Edit, head: Head, cfg: TransformerConfig) -> bool:
    """Whether an edit changes something between what a head reads and what it gives."""
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
    return name.startswith(("ln_final.", "mlm_head.", "unembed."))
