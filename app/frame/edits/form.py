"""The form for another edit: its kind, and the fields that this kind has.

What stands in it is not part of the selection, so its keys are none of the selection's.
"""

from collections.abc import Callable
from typing import get_args

import streamlit as st

from headlight.app.frame import means
from headlight.app.frame.bars import ALIGN
from headlight.app.glossary import TERMS
from headlight.app.selection import Selection
from headlight.model.analysis.alignment import Align, match_positions
from headlight.model.edits import (
    MOST_EDITS,
    MOST_FACTOR,
    AblateHeads,
    CutEdge,
    Drop,
    Edit,
    FreezePatterns,
    Head,
    Part,
    Patch,
    Steer,
    Steering,
    follows_stream,
    head_name,
    layer_of,
)
from headlight.model.run import Run

KINDS = {
    "ablate": "Ablate heads",
    "cut": "Cut an edge",
    "freeze": "Freeze patterns",
    "patch": "Patch from another prompt",
    "steer": "Steer along a direction",
    "drop": "Drop a layer or a part",
}
BY: dict[str, str] = {"zero": "zero", "mean": "mean over this prompt", "resample": "another prompt's"}
LISTED = "listed"  # a mean too, over the prompts of the session's list
MEAN = "of_edit"
MODES: dict[Steering, str] = {"add": "add it, times", "scale": "scale the part along it, by"}
WITH_HEADS = ("q", "k", "v", "z", "result", "attn_scores", "pattern")


def key(field: str) -> str:
    """The key of a widget of the drawer."""
    return f"edits.{field}"


def draw(run: Run, now: Selection) -> Edit | None:
    """The form; the edit that was made of it, once, when its button was pressed."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-edit-form"):
        kind = st.selectbox(
            "Another edit", list(KINDS), format_func=KINDS.__getitem__, key=key("kind"), width=230, help=TERMS["edit"]
        )
        edit = _FORMS[kind](run, now)
        unready = means.missing(_wanted(run, edit))
        pressed = st.button("Add", key=key("add"), type="primary", disabled=edit is None or bool(unready) or _full(now))
    if unready:
        means.work(MEAN, unready)
    if told := _matching(run, edit):
        st.caption(told)
    if _full(now):
        st.caption(f"{MOST_EDITS} edits are as many as a run takes. Remove one to add another.")
    return edit if pressed else None


def _wanted(run: Run, edit: Edit | None) -> list[means.Inputs]:
    """What has to be run for the mean that an edit puts in place."""
    return means.wanted([run], edit.over) if isinstance(edit, AblateHeads) else []


def _matching(run: Run, edit: Edit | None) -> str:
    """How many positions are matched with those of the prompt that is taken from, if it has not as many."""
    if not isinstance(edit, AblateHeads | Patch) or not edit.prompt:
        return ""
    own, there = run.tokens.tolist(), _tokens(run, edit.prompt)
    if len(own) == len(there):
        return ""
    matched = len(match_positions(own, there, edit.align))
    return f"{matched} of the {len(own)} positions are matched with the other prompt's {len(there)}; the others stay."


def _tokens(run: Run, prompt: str) -> list[int]:
    return run.tokenizer.to_tokens(prompt, prepend_bos=run.bos)[0].tolist()


def _full(now: Selection) -> bool:
    return len(now.edits) >= MOST_EDITS


def _ablate(run: Run, now: Selection) -> Edit | None:
    heads = [(layer, head) for layer in range(run.cfg.n_layers) for head in range(run.cfg.n_heads)]
    chosen = [head for head in now.heads or () if head in heads]
    named = st.multiselect("Heads", heads, chosen, format_func=head_name, key=key("heads"), width=300)
    listed = len(means.texts())
    ways = BY | ({LISTED: f"mean over the {listed:,} listed prompts"} if listed >= means.LEAST else {})
    by = st.selectbox("Replaced by", list(ways), format_func=ways.__getitem__, key=key("by"), width=240)
    if by == "resample":
        prompt = _prompt("prompt", "Prompt", now)
        align = _align(run, prompt)
        return AblateHeads(tuple(named), "resample", prompt, (), align) if named and prompt else None
    over = means.taken([run]) if by == LISTED else ()
    return AblateHeads(tuple(named), "zero" if by == "zero" else "mean", over=over) if named else None


def _cut(run: Run, now: Selection) -> Edit | None:
    head = _head(run, now)
    last = len(run.tokens) - 1
    query = _token("query", "From query", run, now.queries[0] if now.queries else last)
    looked_at = now.keys[0] if now.keys and now.keys[0] <= query else 0
    causal = run.cfg.attention_dir == "causal"
    source = _token("key", "to key", run, looked_at, query + 1 if causal else last + 1)
    renormalise = st.toggle("Rescale the row", key=key("renormalise"), help=TERMS["edit_renormalise"])
    return CutEdge(head, query, source, renormalise)


def _freeze(run: Run, now: Selection) -> Edit | None:
    layers = st.multiselect(
        "Layers",
        range(run.cfg.n_layers),
        format_func=lambda layer: f"L{layer}",
        placeholder="every layer",
        key=key("layers"),
        width=300,
    )
    return FreezePatterns(tuple(layers))


def _patch(run: Run, now: Selection) -> Edit | None:
    names = list(dict.fromkeys(map(_without_layer, _patchable(run))))
    first = names.index("hook_resid_pre")
    part = st.selectbox("Activation", names, first, key=key("name"), width=220, help=TERMS["edit_name"])
    layers = [layer_of(full) for full in _patchable(run) if _without_layer(full) == part]
    full = part
    if layers != [None]:
        layer = st.selectbox("Layer", layers, format_func=lambda at: f"L{at}", key=key("patch_layer"), width=90)
        full = f"blocks.{layer}.{part}"
    only = None
    if part.rpartition("hook_")[2] in WITH_HEADS:
        heads: list[int | None] = [None, *range(run.cfg.n_heads)]
        only = st.selectbox(
            "Head",
            heads,
            format_func=lambda at: "every head" if at is None else f"H{at}",
            key=key("one_head"),
            width=130,
        )
    positions = _positions(run)
    prompt = _prompt("prompt", "From the run of", now)
    return Patch(full, prompt, positions, only, _align(run, prompt)) if prompt else None


def _align(run: Run, prompt: str) -> Align:
    """How positions are matched: asked where the other prompt has not as many tokens."""
    if not prompt or len(_tokens(run, prompt)) == len(run.tokens):
        return "tokens"
    return st.selectbox(
        "Match", list(ALIGN), format_func=ALIGN.__getitem__, key=key("align"), width=150, help=TERMS["edit_align"]
    )


def _patchable(run: Run) -> list[str]:
    """The activations before the last LayerNorm, by their full names."""
    return [full for full in run.model.hook_names if not follows_stream(full)]


def _without_layer(full: str) -> str:
    return full if layer_of(full) is None else full.split(".", 2)[2]


def _steer(run: Run, now: Selection) -> Edit | None:
    layer = _layer(run, "Before layer")
    toward = _prompt("toward", "Direction to", now)
    away = _prompt("away", "from", now)
    mode = st.selectbox("Then", list(MODES), format_func=MODES.__getitem__, key=key("mode"), width=220)
    factor = st.number_input("Factor", -MOST_FACTOR, MOST_FACTOR, 1.0, 0.5, key=key("factor"), width=130)
    positions = _positions(run)
    return Steer(layer, toward, away, float(factor), positions, mode) if toward and away else None


def _drop(run: Run, now: Selection) -> Edit | None:
    layer = _layer(run, "Layer")
    parts = [part for part in get_args(Part) if part != "MLP" or not run.cfg.attn_only]
    part = st.selectbox("What of it", parts, format_func=_part, key=key("part"), width=160)
    return Drop(layer, part)


def _part(part: str) -> str:
    return "the whole layer" if part == "layer" else f"its {part}"


def _head(run: Run, now: Selection) -> Head:
    heads = [(layer, head) for layer in range(run.cfg.n_layers) for head in range(run.cfg.n_heads)]
    first = next((heads.index(head) for head in now.heads or () if head in heads), 0)
    return st.selectbox("Head", heads, first, format_func=head_name, key=key("head"), width=110)


def _layer(run: Run, label: str) -> int:
    return st.selectbox(
        label, range(run.cfg.n_layers), format_func=lambda layer: f"L{layer}", key=key("layer"), width=110
    )


def _token(field: str, label: str, run: Run, first: int, count: int | None = None) -> int:
    places = range(len(run.tokens) if count is None else count)
    return st.selectbox(label, places, min(first, len(places) - 1), format_func=_labels(run), key=key(field), width=180)


def _positions(run: Run) -> tuple[int, ...]:
    chosen = st.multiselect(
        "At",
        range(len(run.tokens)),
        format_func=_labels(run),
        placeholder="every position",
        key=key("positions"),
        width=260,
    )
    return tuple(sorted(chosen))


def _labels(run: Run) -> Callable[[int], str]:
    return lambda place: f"{place}  {run.labels[place]}" if place < len(run.labels) else str(place)


def _prompt(field: str, label: str, now: Selection) -> str:
    """Another prompt; at first that of B, if there is one."""
    return st.text_input(label, now.prompt_b or "", key=key(field), placeholder="Another prompt", width=320)


_FORMS: dict[str, Callable[[Run, Selection], Edit | None]] = {
    "ablate": _ablate,
    "cut": _cut,
    "freeze": _freeze,
    "patch": _patch,
    "steer": _steer,
    "drop": _drop,
}
