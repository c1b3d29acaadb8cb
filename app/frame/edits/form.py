"""The form for another edit: its kind, and the fields that this kind has.

What stands in it is not part of the selection, so its keys are none of the selection's.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

import streamlit as st

from headlight.app.components import Listed, Number, Option, Several, Switch, Text
from headlight.app.frame import means
from headlight.app.frame.bars import ALIGN
from headlight.app.glossary import TERMS
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.runs import dictionaries, directions, runs
from headlight.app.selection import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.measure.alignment import Align, match_positions
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import (
    MAX_CLAMP,
    MAX_EDITS,
    MAX_FACTOR,
    AblateHeads,
    AblateNeurons,
    Action,
    ClampNeurons,
    CutEdge,
    Drop,
    Edit,
    EditDirection,
    EditFeature,
    Featuring,
    FreezePatterns,
    Head,
    Part,
    Patch,
    Steer,
    Steering,
    follows_stream,
    layer_of,
    told_sharing,
)
from headlight.model.runs.edits.interventions import no_neurons
from headlight.model.runs.run import Run

KINDS = {
    "ablate": "Ablate heads",
    "cut": "Ablate an attention edge",
    "freeze": "Freeze patterns",
    "patch": "Patch from another prompt",
    "steer": "Steer along a difference of prompts",
    "direction": "Move along a kept direction",
    "drop": "Drop a layer or sublayer",
    "neurons": "Change a neuron",
    "feature": "Change a feature",
}
BY: dict[str, str] = {"zero": "zero", "mean": "mean over this prompt", "resample": "another prompt's"}
LISTED = "listed"  # a mean too, over the prompts of the session's list
MEAN = "of_edit"
BY_NEURON = {**BY, "clamp": "a value"}
HOW: dict[Featuring, str] = {"ablate": "ablate it", "clamp": "clamp it to", "add": "add its direction, times"}
MODES: dict[Steering, str] = {"add": "add it, times", "scale": "scale the part along it, by"}
ACTIONS: dict[Action, str] = {"add": "add it, times", "project_out": "project it out", "cap": "cap its part at"}
WITH_HEADS = ("q", "k", "v", "rot_q", "rot_k", "z", "result", "attn_scores", "pattern")


def key(field: str) -> str:
    """Key in the session of one of the drawer's fields."""
    return f"edits.{field}"


class _Form:
    """The options of the form in order, each with its value in the session."""

    def __init__(self) -> None:
        self.options: list[Option] = []

    def ask(self, kind: type[Option], field: str, label: str, default: Any, **look: Any) -> Any:
        """The value of an option, or its default where none was chosen or it is no more on offer."""
        value = st.session_state.get(key(field), default)
        option = kind(field, label, value, partial(_hold, field), **look)
        try:
            option.read(option.raw)
        except (KeyError, ValueError):
            option = replace(option, value=default)
        self.options.append(option)
        return option.value

    def one(self, field: str, label: str, options: Mapping[Any, str], default: Any, width: int, help: str = "") -> Any:
        """One of a list."""
        return self.ask(Listed, field, label, default, options=options, width=width, help=help)

    def several(self, field: str, label: str, options: Mapping[Any, str], default: Any, placeholder: str = "") -> Any:
        """Any of a list."""
        return self.ask(Several, field, label, default, options=options, width=170, placeholder=placeholder)

    def prompt(self, field: str, label: str, now: Selection) -> str:
        """Another prompt; at first that of B, if there is one."""
        prompt: str = self.ask(Text, field, label, now.prompt_b or "", placeholder="Another prompt", width=320)
        return prompt


def _hold(field: str, value: Any) -> None:
    st.session_state[key(field)] = value


def draw(comparison: Comparison, now: Selection) -> Edit | None:
    """Draw the form; return the new edit once, when its button was pressed.

    Edits are of run A, and so are their positions: what is chosen by its place is offered at A's own position.
    """
    form, run = _Form(), comparison.a
    now = replace(now, queries=_positions_in_a(comparison, now.queries), keys=_positions_in_a(comparison, now.keys))
    kind = form.one("kind", "Add edit", KINDS, "ablate", 230, TERMS["edit"])
    edit = _FORMS[kind](form, run, now)
    unready = means.missing(_wanted(run, edit))
    add = options.button("add", "Add", lambda: _hold("add", True), disabled=edit is None or bool(unready) or _full(now))
    options.row(*form.options, add, name="edit", whole=True)
    if unready:
        means.work(MEAN, unready)
    for remark in (_matching(run, edit), told_sharing(edit, run.cfg) if edit else ""):
        if remark:
            st.caption(plain(remark))
    if _full(now):
        st.caption(f"{MAX_EDITS} edits are as many as a run takes. Remove one to add another.")
    return edit if st.session_state.pop(key("add"), False) and not add.disabled else None


def _positions_in_a(comparison: Comparison, places: tuple[int, ...]) -> tuple[int, ...]:
    positions = comparison.positions(comparison.a)
    return tuple(at for place in places if place < len(positions) and (at := positions[place]) is not None)


def _wanted(run: Run, edit: Edit | None) -> list[runs.Inputs]:
    """Runs needed for the mean that an edit inserts."""
    return means.wanted([run], edit.over) if isinstance(edit, AblateHeads) else []


def _matching(run: Run, edit: Edit | None) -> str:
    """Number of positions matched with those of the source prompt, if the two differ in length."""
    if not isinstance(edit, AblateHeads | AblateNeurons | Patch) or not edit.prompt:
        return ""
    own, there = run.tokens.tolist(), _tokens(run, edit.prompt)
    if len(own) == len(there):
        return ""
    matched = len(match_positions(own, there, edit.align))
    return (
        f"{matched} of the {len(own)} positions are matched with the other prompt's {len(there)}; the others are not "
        "patched."
    )


def _tokens(run: Run, prompt: str) -> list[int]:
    return run.tokenizer.to_tokens(prompt, prepend_bos=run.bos)[0].tolist()


def _full(now: Selection) -> bool:
    return len(now.edits) >= MAX_EDITS


def _ablate(form: _Form, run: Run, now: Selection) -> Edit | None:
    heads = _heads(run)
    named = form.several("heads", "Heads", heads, tuple(head for head in now.heads or () if head in heads))
    listed = len(means.texts())
    ways = BY | ({LISTED: f"mean over the {listed:,} listed prompts"} if listed >= means.LEAST else {})
    by = form.one("by", "Replace with", ways, "zero", 240)
    if by == "resample":
        prompt = form.prompt("prompt", "Prompt", now)
        align = _align(form, run, prompt)
        return AblateHeads(named, "resample", prompt, (), align) if named and prompt else None
    over = means.taken([run]) if by == LISTED else ()
    return AblateHeads(named, "zero" if by == "zero" else "mean", over=over) if named else None


def _cut(form: _Form, run: Run, now: Selection) -> Edit | None:
    heads, places = _heads(run), _places(run)
    first = next((head for head in now.heads or () if head in heads), (0, 0))
    head = form.one("head", "Head", heads, first, 110)
    query = form.one("query", "From query", places, now.queries[0] if now.queries else len(places) - 1, 180)
    looked_at = now.keys[0] if now.keys and now.keys[0] <= query else 0
    if run.cfg.attention_dir == "causal":
        places = {place: text for place, text in places.items() if place <= query}
    source = form.one("key", "to key", places, looked_at, 180)
    renormalise = form.ask(Switch, "renormalise", "Rescale the row", False, help=TERMS["edit_renormalise"])
    return CutEdge(head, query, source, renormalise)


def _freeze(form: _Form, run: Run, now: Selection) -> Edit | None:
    return FreezePatterns(form.several("layers", "Layers", _layers(run), (), "every layer"))


def _patch(form: _Form, run: Run, now: Selection) -> Edit | None:
    names = {name: name for name in map(_without_layer, _patchable(run))}
    part = form.one("name", "Activation", names, "hook_resid_pre", 220, TERMS["edit_name"])
    layers = [layer_of(full) for full in _patchable(run) if _without_layer(full) == part]
    full = part
    if layers != [None]:
        layer = form.one("patch_layer", "Layer", {at: f"L{at}" for at in layers}, layers[0], 90)
        full = f"blocks.{layer}.{part}"
    only = None
    if part.rpartition("hook_")[2] in WITH_HEADS:
        heads = {None: "every head"} | {head: f"H{head}" for head in range(run.cfg.n_heads)}
        only = form.one("one_head", "Head", heads, None, 130)
    positions = _positions(form, run)
    prompt = form.prompt("prompt", "From prompt", now)
    return Patch(full, prompt, positions, only, _align(form, run, prompt)) if prompt else None


def _align(form: _Form, run: Run, prompt: str) -> Align:
    """Alignment of positions; an option where the source prompt has another number of tokens."""
    if not prompt or len(_tokens(run, prompt)) == len(run.tokens):
        return "tokens"
    align: Align = form.one("align", "Match", ALIGN, "tokens", 150, TERMS["edit_align"])
    return align


def _patchable(run: Run) -> list[str]:
    """The activations before the last LayerNorm, by their full names."""
    return [full for full in run.model.hook_names if not follows_stream(full)]


def _without_layer(full: str) -> str:
    return full if layer_of(full) is None else full.split(".", 2)[2]


def _steer(form: _Form, run: Run, now: Selection) -> Edit | None:
    layer = form.one("layer", "Before layer", _layers(run), 0, 110)
    toward = form.prompt("toward", "Direction to", now)
    away = form.prompt("away", "from", now)
    mode = form.one("mode", "Then", MODES, "add", 220)
    factor = form.ask(Number, "factor", "Factor", 1.0, least=-MAX_FACTOR, most=MAX_FACTOR, step=0.5)
    positions = _positions(form, run)
    return Steer(layer, toward, away, factor, positions, mode) if toward and away else None


def _direction(form: _Form, run: Run, now: Selection) -> Edit | None:
    kept = {
        identity: direction
        for identity, direction in directions.kept().items()
        if direction.d_model == run.cfg.d_model and direction.layers[-1] <= run.cfg.n_layers
    }
    if not kept:
        st.caption("No direction of this model is kept. Find one, or open its file, on the page Directions.")
        return None
    names = {identity: direction.name for identity, direction in kept.items()}
    identity = form.one("kept_direction", "Direction", names, next(iter(names)), 190)
    layers = {layer: f"L{layer}" if layer < run.cfg.n_layers else "end" for layer in kept[identity].layers}
    chosen = form.several("direction_layers", "Before layers", layers, (), "every layer")
    action = form.one("action", "Then", ACTIONS, "add", 170)
    factor = 1.0
    if action != "project_out":
        factor = form.ask(Number, "direction_factor", "Factor", 0.5, least=-MAX_FACTOR, most=MAX_FACTOR, step=0.25)
    return EditDirection(identity, tuple(sorted(chosen)), action, float(factor), _positions(form, run))


def _drop(form: _Form, run: Run, now: Selection) -> Edit | None:
    layer = form.one("layer", "Layer", _layers(run), 0, 110)
    parts = {part: f"its {part}" for part in get_args(Part) if part != "MLP" or not run.cfg.attn_only}
    part = form.one("part", "Component", parts | {"layer": "the whole layer"}, "layer", 160)
    return Drop(layer, part)


def _neurons(form: _Form, run: Run, now: Selection) -> Edit | None:
    if reason := no_neurons(run.cfg):
        st.caption(plain(reason))
        return None
    assert run.cfg.d_mlp is not None  # no_neurons has ruled out the rest
    layer = form.one("layer", "Layer", _layers(run), 0, 110)
    index = form.ask(Number, "neuron", "Neuron", 0, least=0, most=run.cfg.d_mlp - 1)
    by = form.one("by_neuron", "Replace with", BY_NEURON, "zero", 210)
    if by == "clamp":
        value = form.ask(Number, "value", "Value", 0.0, least=-MAX_CLAMP, most=MAX_CLAMP, step=0.5)
        return ClampNeurons(((layer, int(index)),), value, _positions(form, run))
    prompt = form.prompt("prompt", "Prompt", now) if by == "resample" else ""
    align, positions = _align(form, run, prompt), _positions(form, run)
    return AblateNeurons(((layer, int(index)),), by, prompt, positions, align) if prompt or by != "resample" else None


def _feature(form: _Form, run: Run, now: Selection) -> Edit | None:
    names = [name for name in (dictionaries.named(now.dictionary, run.source.name), *dictionaries.offered()) if name]
    if not names:
        st.caption("No dictionary is open. Open one on the page Features first.")
        return None
    name = form.one("dictionary", "Dictionary", {each: each for each in names}, names[0], 200, TERMS["dictionary"])
    try:
        opened = dictionaries.fitting(name, run.model)
    except HeadlightError as error:
        st.caption(plain(str(error)))
        return None
    chosen = now.feature or (next(iter(opened)), 0)
    hooks = {layer: each.hook_in for layer, each in opened.items()}
    layer = form.one("of_layer", "Of", hooks, chosen[0] if chosen[0] in hooks else next(iter(hooks)), 210)
    most = opened[layer].n_features - 1
    feature = form.ask(Number, "feature", "Feature", min(chosen[1], most), least=0, most=most)
    how = form.one("how", "Then", HOW, "ablate", 190)
    factor = 0.0
    if how != "ablate":
        factor = form.ask(Number, "feature_factor", "By", 1.0, least=-MAX_FACTOR, most=MAX_FACTOR, step=0.5)
    return EditFeature(name, hooks[layer], int(feature), how, float(factor), _positions(form, run))


def _heads(run: Run) -> dict[Head, str]:
    return options.heads(range(run.cfg.n_layers), run.cfg.n_heads)


def _layers(run: Run) -> dict[int, str]:
    return {layer: f"L{layer}" for layer in range(run.cfg.n_layers)}


def _places(run: Run) -> dict[int, str]:
    return options.numbered(run.labels[: len(run.tokens)])


def _positions(form: _Form, run: Run) -> tuple[int, ...]:
    return tuple(sorted(form.several("positions", "At", _places(run), (), "every position")))


_FORMS: dict[str, Callable[[_Form, Run, Selection], Edit | None]] = {
    "ablate": _ablate,
    "cut": _cut,
    "freeze": _freeze,
    "patch": _patch,
    "steer": _steer,
    "direction": _direction,
    "drop": _drop,
    "neurons": _neurons,
    "feature": _feature,
}
