"""Runs with edits: the taps that do what `model.edits` says, and the runs of other prompts that they take from."""

from collections.abc import Sequence
from functools import partial

from jaxtyping import Float, Int
from torch import Tensor

from model.cache import ActivationCache
from model.edits import AblateHeads, CutEdge, Drop, Edit, FreezePatterns, Patch, Steer, check, layer_of
from model.errors import HeadlightError, InputError
from model.hooks import Chain, Collect, HookFunction, HookPoint, NamesFilter, Tap, select_names
from model.hooks import Edit as Hooks
from model.interventions import ablate_head, cut_edge
from model.layers import attention_pattern, attention_scale, attention_scores, visible_keys
from model.transformer import Transformer

Tokens = Int[Tensor, "1 pos"]
BY_HEAD = ("hook_q", "hook_k", "hook_v", "hook_z", "hook_result")  # [batch, pos, head, ...]
BY_CELL = ("hook_attn_scores", "hook_pattern")  # [batch, head, query, key]


class EditTap(Chain):
    """The tap that does several edits, in their order; `nbytes` is what it holds of other runs."""

    def __init__(self, taps: Sequence[Tap], nbytes: int) -> None:
        super().__init__(*taps)
        self.nbytes = nbytes


NO_EDITS = EditTap((), 0)


def tap(model: Transformer, tokens: Tokens, edits: Sequence[Edit], prepend_bos: bool = False) -> EditTap:
    """The tap that does these edits of a run over these tokens, of a batch of one.

    Other prompts that the edits name are run here, with a beginning-of-sequence token or without.

    Raises:
        InputError: an edit names what this model or prompt does not have, or a prompt of another length.
        HookError: a patch names an activation that the model does not have.
    """
    run = _Run(model, tokens, prepend_bos)
    taps = [_numbered(number, run, edit) for number, edit in enumerate(edits, 1)]
    return EditTap(taps, run.nbytes)


def run_with_edits(
    model: Transformer,
    tokens: Tokens,
    edits: Sequence[Edit],
    names_filter: NamesFilter | None = None,
    prepend_bos: bool = False,
) -> tuple[Float[Tensor, "1 pos d_out"], ActivationCache]:
    """`run_with_cache` of a run with edits; what is kept is what the edits have left.

    Raises:
        HeadlightError: as `tap`.
    """
    names = select_names(names_filter or _all_but_results, model.hook_names)
    keep = Collect(names)
    logits = model(tokens, tap=Chain(tap(model, tokens, edits, prepend_bos), keep))
    return logits, ActivationCache(keep.kept, model.cfg.n_layers)


def _all_but_results(name: str) -> bool:
    return not name.endswith("hook_result")


class _Run:
    """The run that is edited: its model and tokens, and what was taken from runs of other prompts."""

    def __init__(self, model: Transformer, tokens: Tokens, prepend_bos: bool) -> None:
        self.model, self.tokens, self._prepend_bos = model, tokens, prepend_bos
        self.nbytes = 0

    def clean(self, names: NamesFilter) -> ActivationCache:
        """Activations of the same tokens without edits."""
        return self._kept(self.tokens, names)

    def other(self, prompt: str, names: NamesFilter, same_length: bool) -> ActivationCache:
        """Activations of another prompt."""
        tokens = self.model.to_tokens(prompt, prepend_bos=self._prepend_bos)
        there, here = tokens.shape[1], self.tokens.shape[1]
        if same_length and there != here:
            raise InputError(
                f"The prompt {prompt[:40]!r} has {there} tokens and the edited one {here}: position by position, one "
                "can stand in for the other only where they have as many. Add or leave out words until they do."
            )
        return self._kept(tokens, names)

    def _kept(self, tokens: Tokens, names: NamesFilter) -> ActivationCache:
        _, cache = self.model.run_with_cache(tokens, names)
        self.nbytes += sum(activation.nbytes for activation in cache.values())
        return cache


def _numbered(number: int, run: _Run, edit: Edit) -> Tap:
    """The tap of an edit; what is wrong with it is said of that edit."""
    try:
        check(edit, run.model.cfg, run.tokens.shape[1])
        return _tap(run, edit)
    except HeadlightError as error:
        raise type(error)(f"Edit {number}: {error}") from error


def _tap(run: _Run, edit: Edit) -> Tap:
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
        case Drop():
            return _drop(run.model, edit)


def _ablate(run: _Run, edit: AblateHeads) -> Tap:
    if edit.by != "resample":
        return Chain(*(ablate_head(layer, head, edit.by) for layer, head in edit.heads))
    names = sorted({_z(layer) for layer, _ in edit.heads})
    there = run.other(edit.prompt, names, same_length=True)
    return Chain(*(ablate_head(layer, head, "resample", there[_z(layer)][0, :, head]) for layer, head in edit.heads))


def _z(layer: int) -> str:
    return f"blocks.{layer}.attn.hook_z"


def _freeze(run: _Run, layers: Sequence[int]) -> Tap:
    """From queries and keys, which are smaller than patterns on a long prompt."""
    cfg, n_pos = run.model.cfg, run.tokens.shape[1]
    clean = run.clean([f"blocks.{layer}.attn.hook_{name}" for layer in layers for name in "qk"])

    def own(pattern: Tensor, hook: HookPoint) -> Tensor:
        q, k = (clean[name, hook.layer()].to(pattern.device) for name in "qk")
        visible = visible_keys(cfg.attention_dir, None, n_pos, pattern.device)
        return attention_pattern(attention_scores(q, k, visible, attention_scale(cfg, hook.layer())), visible)

    return Hooks([([f"blocks.{layer}.attn.hook_pattern" for layer in layers], own)])


def _patch(run: _Run, edit: Patch) -> Tap:
    select_names(edit.name, run.model.hook_names)  # refuses a name that there is not, before anything is run
    last = edit.name.rpartition(".")[2]
    if edit.one_head is not None and last not in BY_HEAD + BY_CELL:
        raise InputError(f"{edit.name} is no head's own activation. Patch it without choosing a head.")
    there = run.other(edit.prompt, edit.name, same_length=True)[edit.name]
    heads = slice(None) if edit.one_head is None else slice(edit.one_head, edit.one_head + 1)
    rows = list(edit.positions) or slice(None)

    def patch(activation: Tensor, hook: HookPoint) -> None:
        source = there.to(activation.device)
        if last in BY_CELL:
            activation[:, heads, rows] = source[:, heads, rows]
        elif last in BY_HEAD:
            activation[:, rows, heads] = source[:, rows, heads]
        else:
            activation[:, rows] = source[:, rows]

    return _on(edit.name, patch)


def _steer(run: _Run, edit: Steer) -> Tap:
    name = f"blocks.{edit.layer}.hook_resid_pre"
    toward, away = (run.other(prompt, name, same_length=False)[name][0, -1] for prompt in (edit.toward, edit.away))
    direction = toward - away
    if edit.mode == "scale" and not bool(direction.any()):
        raise InputError("The two prompts give the same stream, so there is no direction between them. Change one.")
    return _on(name, partial(_along, edit=edit, direction=direction))


def _along(resid: Float[Tensor, "batch pos d_model"], hook: HookPoint, edit: Steer, direction: Tensor) -> None:
    direction, rows = direction.to(resid.device), list(edit.positions) or slice(None)
    if edit.mode == "add":
        resid[:, rows] += edit.factor * direction
    else:
        unit = direction / direction.norm()
        resid[:, rows] += (edit.factor - 1) * (resid[:, rows] @ unit)[..., None] * unit


def _drop(model: Transformer, edit: Drop) -> Tap:
    written = {"attention": ["attn_out"], "MLP": ["mlp_out"], "layer": ["attn_out", "mlp_out"]}[edit.part]
    names = [f"blocks.{edit.layer}.hook_{name}" for name in written if not (model.cfg.attn_only and name == "mlp_out")]
    return Hooks([(names, lambda activation, hook: activation.zero_())])


def _on(name: str, function: HookFunction) -> Tap:
    """The tap at one activation; of the stream between two layers, under its first name.

    What reads the stream after a layer then sees what the next layer sees.
    """
    layer = layer_of(name)
    if layer and name.endswith("hook_resid_pre"):
        name = f"blocks.{layer - 1}.hook_resid_post"
    return Hooks([((name,), function)])
