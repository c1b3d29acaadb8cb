"""The beam search trees of the translations."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import BeamNode, beam_tree
from headlight.app.figures.text import token_name
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import tables
from headlight.app.parts.parts import heading
from headlight.model.decoding.translation import Translation, labels
from headlight.model.decoding.translations import Translations

BRANCHES = {"A": "branch", "B": "branch_b"}


def draw(translations: Translations) -> None:
    """A tree for each translation that was searched for."""
    for side, each in translations.sides.items():
        if each.search is not None:
            heading("Beam search" if translations.b is None else f"{side}: beam search", "beam_search")
            _tree(each, side)


def _tree(translation: Translation, side: str) -> None:
    assert translation.search is not None  # the previous branch
    st.caption("One token per step, left to right. Click a token to open the beam that ends there.")
    named = labels(translation.model, "target", [each.token for each in translation.search.tree])
    nodes = [
        BeamNode(
            label=token_name(label, each.n_tokens),
            parent=each.parent,
            step=each.n_tokens,
            log_prob=each.log_prob,
            total=each.total,
            score=each.score,
            state=each.fate,
        )
        for label, each in zip(named, translation.search.tree, strict=True)
    ]
    if selection.current().table:
        tables.draw(_table(nodes), "Every expansion of the beams, step by step")
        return
    key = selection.widget_key("beam_tree" if side == "A" else f"beam_tree_{side}")
    leaf = beam_tree(nodes, selected=translation.leaf, epoch=selection.epoch(), key=key)
    if leaf != translation.leaf:  # None: back to the best
        selection.choose(Choices, **{BRANCHES[side]: leaf}, pair_queries=(), pair_keys=())
        st.rerun(scope="fragment")


def _table(nodes: list[BeamNode]) -> tables.Columns:
    return {
        "step": [node.step for node in nodes],
        "token": [node.label for node in nodes],
        "follows": ["" if node.parent is None else f"{node.parent} {nodes[node.parent].label}" for node in nodes],
        "log-probability (nats)": [node.log_prob for node in nodes],
        "score": [node.score for node in nodes],
        "fate": [node.state for node in nodes],
    }
