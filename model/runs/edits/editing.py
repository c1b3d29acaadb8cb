"""Runs with edits: the taps that apply `model.runs.edits`, and runs of the prompts that they take from."""

from collections.abc import Sequence
from functools import partial

from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import HeadlightError, InputError
from headlight.model.measure.alignment import Matches
from headlight.model.nn.cache import ActivationCache
from headlight.model.nn.hooks import Chain, Collect, HookFunction, HookPoint, NamesFilter, Tap, select_names
from headlight.model.nn.hooks import Edit as Hooks
from headlight.model.nn.layers import place
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import (
    SHARED,
    AblateHeads,
    AblateNeurons,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditDirection,
    EditFeature,
    FreezePatterns,
    Patch,
    Steer,
    check,
    layer_of,
)
from headlight.model.runs.edits.directions import add, direction_tap, scale
from headlight.model.runs.edits.edited import EditedRun, Means, Opened
from headlight.model.runs.edits.features import feature_tap
from headlight.model.runs.edits.interventions import ablate_head, cut_edge, put_neuron
from headlight.model.runs.edits.means import Tokens, z_name
from headlight.model.text.chat import Begin

BY_HEAD = ("hook_q", "hook_k", "hook_v", "hook_rot_q", "hook_rot_k", "hook_z", "hook_result")  # [batch, pos, head, ...]
BY_UNIT = (*BY_HEAD, "hook_post")  # neurons stand where heads do: [batch, pos, neuron]
BY_CELL = ("hook_attn_scores", "hook_pattern")  # [batch, head, query, key]


class EditTap(Chain):
    """The tap that does several edits, in their order, with the dictionaries and directions that they name.

    `nbytes` is what it holds of other runs.
    """

    def __init__(self, taps: Sequence[Tap], nbytes: int, opened: Opened) -> None:
        super().__init__(*taps)
        self.nbytes, self.opened = nbytes, opened


NO_EDITS = EditTap((), 0, {})


def tap(
    model: Transformer,
    tokens: Tokens,
    edits: Sequence[Edit],
    prepend_bos: Begin = False,
    n_prompt: int | None = None,
    means: Means | None = None,
    opened: Opened | None = None,
) -> EditTap:
    """The tap that does these edits of a run over these tokens, of a batch of one.

    Other prompts that the edits name are run here, with a beginning-of-sequence token or without; those of a mean only
    if the mean is not among `means` (what `mean_z` gives, by the prompts). `opened` are the dictionaries and directions
    that edits name, by these names. Where only the first
    `n_prompt` tokens are the prompt and the others were written behind it, what is taken from another prompt stands at
    the prompt's positions alone, and means are over these; all else is done at the written ones too. So no token
    changes what was computed at those before it.

    Raises:
        InputError: an edit names what this model or prompt does not have, or a prompt of which nothing can be matched.
        HookError: a patch names an activation that the model does not have.
    """
    run = EditedRun(model, tokens, prepend_bos, n_prompt or tokens.shape[1], means or {}, opened or {})
    taps = [_numbered(number, run, edit) for number, edit in enumerate(edits, 1)]
    return EditTap(taps, run.nbytes, run.opened)


def run_with_edits(
    model: Transformer,
    tokens: Tokens,
    edits: Sequence[Edit],
    names_filter: NamesFilter | None = None,
    prepend_bos: Begin = False,
    n_prompt: int | None = None,
) -> tuple[Float[Tensor, "1 pos d_out"], ActivationCache]:
    """`run_with_cache` with edits; the cache has the activations after the edits.

    Raises:
        HeadlightError: as `tap`.
    """
    names = select_names(names_filter or _all_but_results, model.hook_names)
    keep = Collect(names)
    logits = model(tokens, tap=Chain(tap(model, tokens, edits, prepend_bos, n_prompt), keep))
    return logits, ActivationCache(keep.kept, model.cfg.n_layers)


def _all_but_results(name: str) -> bool:
    return not name.endswith("hook_result")


def _numbered(number: int, run: EditedRun, edit: Edit) -> Tap:
    """Tap of an edit; its errors name the edit by number."""
    try:
        check(edit, run.model.cfg, run.n_prompt)
        return _tap(run, edit)
    except HeadlightError as error:
        raise type(error)(f"Edit {number}: {error}") from error


def _tap(run: EditedRun, edit: Edit) -> Tap:
    match edit:
        case AblateHeads():
            return _ablate(run, edit)
        case CutEdge(head=(layer, head), query=query, key=key, renormalise=renormalise):
            return cut_edge(layer, head, query, key, renormalise)
        case FreezePatterns(layers=layers):
            return _freeze(run, layers or range(run.model.cfg.n_layers))
        case Patch():
            return _patch(run, edit)
        case Steer():
            return _steer(run, edit)
        case EditDirection():
            return direction_tap(edit, run.opened, run.model.cfg, partial(_passed, run.model))
        case Drop():
            return _drop(run.model, edit)
        case EditFeature():
            return feature_tap(edit, run.opened, partial(_passed, run.model))
        case AblateNeurons():
            return _ablate_neurons(run, edit)
        case ClampNeurons(neurons=neurons, value=value, positions=positions):
            return Chain(*(put_neuron(*neuron, value, positions) for neuron in neurons))


def _ablate(run: EditedRun, edit: AblateHeads) -> Tap:
    if edit.by == "resample":
        there = run.other(edit.prompt, sorted({z_name(layer) for layer, _ in edit.heads}))
        matches = run.matches(edit.prompt, edit.align)
        return Chain(*(_put(run, z_name(layer), there[z_name(layer)], matches, head) for layer, head in edit.heads))
    means = run.mean_z(edit.over) if edit.by == "mean" and edit.over else None
    outputs = ((layer, head, None if means is None else means[layer, head][None]) for layer, head in edit.heads)
    return Chain(*(ablate_head(layer, head, edit.by, z, run.n_prompt) for layer, head, z in outputs))


def _ablate_neurons(run: EditedRun, edit: AblateNeurons) -> Tap:
    if edit.by != "resample":
        value = 0.0 if edit.by == "zero" else None
        return Chain(*(put_neuron(*neuron, value, edit.positions, run.n_prompt) for neuron in edit.neurons))
    names = {layer: f"blocks.{layer}.mlp.hook_post" for layer, _ in edit.neurons}
    chosen, there = _chosen(run, edit), run.other(edit.prompt, sorted(names.values()))
    return Chain(*(_put(run, names[layer], there[names[layer]], chosen, index) for layer, index in edit.neurons))


def _freeze(run: EditedRun, layers: Sequence[int]) -> Tap:
    """From queries and keys, which are smaller than patterns on a long prompt."""
    model, n_pos = run.model, run.tokens.shape[1]
    compared = {layer: model.block(layer).attn.compared for layer in layers}
    clean = run.clean([f"blocks.{layer}.attn.{name}" for layer in layers for name in compared[layer]])

    def own(pattern: Tensor, hook: HookPoint) -> Tensor:
        layer = hook.layer()
        q, k = (clean[f"blocks.{layer}.attn.{name}"].to(pattern.device) for name in compared[layer])
        rule = model.block(layer).attn.rule(place(model.cfg.attention_dir, None, n_pos, pattern.device), q, k)
        return rule.pattern(rule.scores(q, k)).expand_as(pattern)

    return Hooks([([f"blocks.{layer}.attn.hook_pattern" for layer in layers], own)])


def _patch(run: EditedRun, edit: Patch) -> Tap:
    select_names(edit.name, run.model.hook_names)  # refuses a name that there is not, before anything is run
    last = edit.name.rpartition(".")[2]
    if edit.one_head is not None and last not in BY_HEAD + BY_CELL:
        raise InputError(f"{edit.name} is no head's own activation. Patch it without choosing a head.")
    chosen = _chosen(run, edit)
    there = run.other(edit.prompt, edit.name)[edit.name]
    if last in BY_CELL and there.shape[-1] != run.n_prompt:
        raise InputError(
            f"The prompt {edit.prompt[:40]!r} has {there.shape[-1]} tokens and the edited one {run.n_prompt}, and "
            f"{edit.name} a column for each of them. Patch queries, keys or z instead: their positions can be matched."
        )
    return _put(run, edit.name, there, chosen, edit.one_head)


def _chosen(run: EditedRun, edit: Patch | AblateNeurons) -> Matches:
    """The positions of an edit that have a match in the prompt that it takes from, and that."""
    matches = run.matches(edit.prompt, edit.align)
    chosen = [pair for pair in matches if not edit.positions or pair[0] in edit.positions]
    if not chosen:
        places = ", ".join(map(str, edit.positions))
        raise InputError(f"The other prompt has no match for position {places}. Choose others, or match by position.")
    return chosen


def _put(run: EditedRun, name: str, there: Tensor, matches: Matches, head: int | None) -> Tap:
    """The tap that puts another run's activation, of one head or of all, at the positions that are matched."""
    last = name.rpartition(".")[2]
    slot = run.model.cfg.group_of(head) if head is not None and last in SHARED else head
    heads = slice(None) if slot is None else slice(slot, slot + 1)
    rows, others = (list(positions) for positions in zip(*matches, strict=True))

    def put(activation: Tensor, hook: HookPoint) -> None:
        source = there.to(activation.device)
        if last in BY_CELL:
            activation[:, heads, rows, : run.n_prompt] = source[:, heads, others]
        elif last in BY_UNIT:
            activation[:, rows, heads] = source[:, others, heads]
        else:
            activation[:, rows] = source[:, others]

    return _on(run.model, name, put)


def _steer(run: EditedRun, edit: Steer) -> Tap:
    name = f"blocks.{edit.layer}.hook_resid_pre"
    toward, away = (run.other(prompt, name)[name][0, -1] for prompt in (edit.toward, edit.away))
    direction = toward - away
    if edit.mode == "scale" and not bool(direction.any()):
        raise InputError("The two prompts give the same stream, so there is no direction between them. Change one.")
    return _on(run.model, name, partial(_along, edit=edit, direction=direction))


def _along(resid: Float[Tensor, "batch pos d_model"], hook: HookPoint, edit: Steer, direction: Tensor) -> None:
    if edit.mode == "add":
        add(resid, edit.factor * direction, edit.positions)
    else:
        scale(resid, direction / direction.norm(), edit.factor, edit.positions)


def _drop(model: Transformer, edit: Drop) -> Tap:
    written = {"attention": ["attn_out"], "MLP": ["mlp_out"], "layer": ["attn_out", "mlp_out"]}[edit.part]
    names = [f"blocks.{edit.layer}.hook_{name}" for name in written if not (model.cfg.attn_only and name == "mlp_out")]
    return Hooks([(names, lambda activation, hook: activation.zero_())])


def _on(model: Transformer, name: str, function: HookFunction) -> Tap:
    """The tap at one activation."""
    return Hooks([((_passed(model, name),), function)])


def _passed(model: Transformer, name: str) -> str:
    """Name of the activation to edit: the stream between layers by its first name, unless a norm stands there.

    What reads the stream after a layer then sees what the next layer sees.
    """
    layer = layer_of(name)
    if layer and not model.cfg.post_norm and name.endswith("hook_resid_pre"):
        return f"blocks.{layer - 1}.hook_resid_post"
    return name
