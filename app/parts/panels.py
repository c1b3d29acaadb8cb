"""Heads as the browser draws them: their weights as codes, on the page's axis."""

import numpy as np
import streamlit as st

from headlight.app.components import Fetchable, HeadPanel, HeadPattern, encode_weights
from headlight.app.components.heads import panel_content
from headlight.app.components.shared.fetchable import Content
from headlight.app.runs import runs
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, Group, Places
from headlight.model.attention.folding import Fold
from headlight.model.attention.sinks import sinks_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.run import Run


def panel(comparison: Comparison, head: Head, axis: Axis, unit: Places, fold: Fold = "average") -> HeadPanel:
    """One head in A, or in A and B."""
    if comparison.b is None:
        return HeadPanel(coded(comparison, 0, head, axis, unit, fold))
    a, b = (coded(comparison, index, head, axis, unit, fold).on_axis(axis.positions[index]) for index in (0, 1))
    return HeadPanel(a, b)


def fetchable(comparison: Comparison, axis: Axis, unit: Places, fold: Fold = "average") -> Fetchable:
    """Register any head's `panel` for a browser to fetch; its name stays the same while the runs do.

    It holds no run: one that is no more in the cache is not to be had.
    """
    identity = (*(run.key for run in comparison.runs), axis.positions, unit, fold)
    kept = st.session_state.get("fetchable")
    if kept is None or kept[0] != identity:
        kept = st.session_state["fetchable"] = (identity, _fetchable(comparison, axis, unit, fold))
    return kept[1]


def _fetchable(comparison: Comparison, axis: Axis, unit: Places, fold: Fold = "average") -> Fetchable:
    keys, alignment, n_layers, n_heads = (
        [run.key for run in comparison.runs],
        comparison.alignment,
        comparison.n_layers,
        comparison.n_heads,
    )

    def content(layer: int, head: int) -> Content | None:
        panels = [runs.kept(key) for key in keys]
        if not all(panels) or layer >= n_layers or head >= n_heads:
            return None
        a, b = panels if alignment else (*panels, None)
        with runs.turn_beside():
            return panel_content(panel(Comparison(a, b, alignment), (layer, head), axis, unit, fold))

    return Fetchable(content)


def coded(
    comparison: Comparison, index: int, head: Head, axis: Axis, unit: Places, fold: Fold = "average"
) -> HeadPattern:
    """One head of run number `index` on that run's own tokens, words or sentences."""
    group = axis.groups[index]
    return comparison.keep(("head", index, head, unit, fold), lambda: of_run(comparison.runs[index], head, group, fold))


def of_run(run: Run, head: Head, group: Group | None = None, fold: Fold = "average") -> HeadPattern:
    """One head of a run on its own tokens, or on `group`'s units of them."""
    attended = fields.attention_of(run, head, group, fold)
    return HeadPattern(
        *head,
        weights=encode_weights(attended.weights.numpy(), attended.scores.isneginf().numpy()),
        logsumexp=attended.logsumexp.numpy().astype(np.float32),
        write_norms=attended.write_norms.numpy().astype(np.float32),
        sinks=sinks_of(run) if group is None else (),
    )


def window(run: Run, head: Head, queries: range, keys: range) -> HeadPanel:
    """One head's attention from some tokens to some, of a pattern that is not sent whole."""
    attended = fields.attention_of(run, head, queries=queries)
    columns = slice(keys.start, keys.stop)
    cells, masked = attended.weights[:, columns], attended.scores[:, columns].isneginf()
    return HeadPanel(
        HeadPattern(
            *head,
            weights=encode_weights(cells.numpy(), masked.numpy()),
            logsumexp=attended.logsumexp.numpy().astype(np.float32),
            write_norms=attended.write_norms[columns].numpy().astype(np.float32),
            sinks=tuple(sink - keys.start for sink in (0, *sinks_of(run)) if sink in keys),
            is_part=True,
        )
    )
