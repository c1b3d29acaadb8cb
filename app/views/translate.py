"""What an encoder-decoder wrote, where its heads looked while writing, and the tree of beams that it was found in."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import UInt8

from app import selection
from app.components import (
    BeamNode,
    HeadPanel,
    HeadPattern,
    Pin,
    TokenAxis,
    beam_tree,
    encode_thumbnails,
    encode_weights,
    head_grid,
    heads,
    token_strip,
)
from app.glossary import TERMS
from app.run import THUMBNAIL
from app.selection.chosen import Attends, Head, Rows
from app.translation import Attention, Translation, labels
from app.views import tables
from app.views.parts import heading
from model.analysis import attention

ATTENDS: dict[Attends, str] = {
    "cross": "target → source (cross)",
    "decoder": "target → target",
    "encoder": "source → source",
}
ROWS: dict[Rows, str] = {"written": "token it writes", "read": "token it reads"}
SCALES = {"sqrt": "√", "linear": "linear"}
FIRST_HEADS = 3


def render(found: Translation) -> None:
    """The target, the two strips, the grid of all heads, the chosen ones, and the beams' tree."""
    _written(found)
    _options()
    attends = selection.current().attends
    attention_here = found.attention[attends]
    rows, columns = axes(found, attends, selection.current().rows)
    chosen = selection.current().pair_heads
    chosen = clearest(attention_here) if chosen is None else chosen
    if selection.current().table:
        _tables(attention_here, rows, columns, chosen)
    else:
        _pictures(found, attends, chosen)
    _beams(found)


def axes(found: Translation, attends: Attends, rows: Rows) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the rows and the columns of one kind of attention are called.

    Within one side a row is the token that is read, as a column is.
    """
    if attends == "cross":
        return found.written_labels if rows == "written" else found.read_labels, found.source_labels
    labels = found.source_labels if attends == "encoder" else found.read_labels
    return labels, labels


def token_axes(found: Translation, attends: Attends, rows: Rows) -> tuple[TokenAxis, TokenAxis | None]:
    """The same for the components; columns of their own only where they are other tokens."""
    down, across = (TokenAxis(names, ["both"] * len(names)) for names in axes(found, attends, rows))
    return down, across if attends == "cross" else None


def clearest(found: Attention) -> tuple[Head, ...]:
    """The heads worth a first look: those whose rows rest most on a single token, the deepest layer's first."""
    peaks = found.pattern.amax(-1).mean(-1)
    last = len(peaks) - 1
    return tuple((last, int(head)) for head in peaks[last].argsort(descending=True)[:FIRST_HEADS])


def _written(found: Translation) -> None:
    heading("What it wrote" if found.search else "The target you gave", "log_prob")
    st.text(found.text or "Nothing: it ended at once.")
    probabilities = zip(found.written_labels, found.log_probs.exp().tolist(), strict=True)
    with st.container(key="headlight-probabilities"):
        st.text("  ".join(f"{label} {_percent(probability)}" for label, probability in probabilities))
    total = f"{float(found.log_probs.sum()):.3f}".replace("-", "−")
    st.caption(f"Each token's probability, given those before it. All together: {total} nats.")


def _percent(probability: float) -> str:
    return "<1%" if probability < 0.01 else f"{probability:.0%}"


def _options() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", key="headlight-options"):
        _choice("attends", "Attention", ATTENDS)
        if selection.current().attends == "cross":
            _choice("rows", "A row is called by the", ROWS)
        _choice("scale", "Colour scale", SCALES)
        st.toggle("Own scale each", help=TERMS["own_scale"], **selection.bind("own_scale"))
        st.toggle("As tables", help=TERMS["table"], **selection.bind("table"))


def _choice(name: str, label: str, options: Mapping[Any, str]) -> None:
    st.segmented_control(
        label,
        list(options),
        format_func=options.__getitem__,
        required=True,
        wrap=True,
        help=TERMS[name],
        **selection.bind(name),
    )


def _pictures(found: Translation, attends: Attends, chosen: tuple[Head, ...]) -> None:
    rows, across = token_axes(found, attends, selection.current().rows)
    attended, group = found.attention[attends], f"pair-{attends}"
    strip = st.container()
    left, right = st.columns([2, 3], gap="large")
    with left:
        chosen = _grid(attended, chosen, group)
    with right:
        heading("Chosen heads", "attention")
        if not chosen:
            st.info("No head is chosen. Click one in the grid to see its pattern here.")
            return
        panels = [panel(attended, head) for head in chosen]
        _heads(panels, rows, across, group, attends)
    with strip:
        token_strip(
            rows,
            panels[0],
            columns=across,
            key=selection.widget_key(f"strip.{attends}"),
            group=group,
            scale=selection.current().scale,
        )


def _grid(found: Attention, before: tuple[Head, ...], group: str) -> tuple[Head, ...]:
    heading("All heads", "attention", "head")
    st.caption("One picture a head, one row a layer. Click those to see large.")
    chosen = head_grid(
        thumbnails(found),
        selected=before,
        epoch=selection.epoch(),
        key=selection.widget_key(f"grid.{group}"),
        group=group,
    )
    if chosen != before:
        selection.update(pair_heads=chosen)
    return chosen


def thumbnails(found: Attention) -> UInt8[np.ndarray, "layer head h w"]:
    """Every head's picture as codes."""
    pooled = attention.max_pool(found.pattern, THUMBNAIL).numpy()
    return encode_thumbnails(pooled, ~attention.max_pool(~found.masked, THUMBNAIL).numpy())


def panel(found: Attention, head: Head) -> HeadPanel:
    """One head as the browser draws it."""
    return HeadPanel(
        HeadPattern(
            *head,
            weights=encode_weights(found.pattern[head].numpy(), found.masked.numpy()),
            logsumexp=found.logsumexp[head].numpy(),
            write_norms=found.write_norms[head].numpy(),
        )
    )


def _heads(panels: list[HeadPanel], rows: TokenAxis, across: TokenAxis | None, group: str, attends: Attends) -> None:
    now = selection.current()
    side = "source" if attends != "decoder" else "target"
    st.caption(f"Row: the token that looks. Column: the {side} token looked at. Click a cell to pin it, drag to zoom.")
    before = Pin(now.pair_queries, now.pair_keys) if now.pair_queries or now.pair_keys else None
    pin = heads(
        panels,
        rows,
        columns=across,
        pinned=before,
        epoch=selection.epoch(),
        key=selection.widget_key(f"heads.{attends}"),
        group=group,
        scale=now.scale,
        own_scale=now.own_scale,
    )
    if pin != before:
        selection.update(pair_queries=pin.queries if pin else (), pair_keys=pin.keys if pin else ())


def _tables(found: Attention, rows: tuple[str, ...], columns: tuple[str, ...], chosen: tuple[Head, ...]) -> None:
    for layer, head in chosen:
        heading(f"L{layer}H{head}")
        st.caption("Attention weight. Row: the token that looks. Empty: masked.")
        cells = np.where(found.masked.numpy(), np.nan, found.pattern[layer, head].numpy())
        names = [f"{place} {label}" for place, label in enumerate(columns)]
        st.dataframe(
            {"": [f"{place} {label}" for place, label in enumerate(rows)], **dict(zip(names, cells.T, strict=True))},
            hide_index=True,
            alt=f"attention weight of L{layer}H{head}: row the token that looks, column the one seen",
        )


def _beams(found: Translation) -> None:
    if found.search is None:
        return
    heading("Beam search", "beam_search")
    st.caption("From left to right, a token a step. Click a token: the page then shows the branch that ends there.")
    named = labels(found.model, "target", [each.token for each in found.search.tree])
    nodes = [
        BeamNode(
            label=label,
            parent=each.parent,
            step=each.n_tokens,
            log_prob=each.log_prob,
            total=each.total,
            score=each.score,
            state=each.fate,
        )
        for label, each in zip(named, found.search.tree, strict=True)
    ]
    if selection.current().table:
        columns: tables.Columns = {
            "step": [node.step for node in nodes],
            "token": [node.label for node in nodes],
            "follows": ["" if node.parent is None else f"{node.parent} {nodes[node.parent].label}" for node in nodes],
            "log-probability (nats)": [node.log_prob for node in nodes],
            "score": [node.score for node in nodes],
            "fate": [node.state for node in nodes],
        }
        tables.draw(columns, "Every expansion of the beams, step by step")
        return
    branch = beam_tree(nodes, selected=found.leaf, epoch=selection.epoch(), key=selection.widget_key("beam_tree"))
    if branch != found.leaf:  # None: back to the best
        selection.choose(branch=branch, pair_queries=(), pair_keys=())
        st.rerun(scope="fragment")
