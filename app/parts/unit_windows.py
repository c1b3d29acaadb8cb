"""A neuron or a feature over a corpus: how often it is active, where most, and the tokens that it peaks at."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, SampledText, SampledTexts, Table, row_table, sampled_texts
from headlight.app.components.options.kinds import Link
from headlight.app.figures.corpus import histogram
from headlight.app.parts import charts, options
from headlight.app.parts.labels import number, readable
from headlight.app.parts.markdown import plain
from headlight.app.parts.over_corpus import scan_of
from headlight.app.parts.parts import heading
from headlight.app.runs import models, scans
from headlight.app.selection.choices import Change
from headlight.model.base.commands import make
from headlight.model.base.errors import ScanError
from headlight.model.corpus.tree import Tree, UnitDashboard, Window
from headlight.model.runs.run import Run
from headlight.model.text.chat import is_begun
from headlight.model.text.labels import label

WIDTHS = 4, 3
MAX_TOKENS = 10
BUCKETS = {
    4: "Where it is most active",
    3: "Third quarter of sequences",
    2: "Second quarter",
    1: "Where it is least active",
}
NONE = "No scan of this model has recorded it. It appears here once a scan that records it is in the models folder:"


def draw(run: Run, slug: str, kind: str, layer: int, index: int, *, dictionary: str = "") -> None:
    """The section of the page `slug` for one of the "neurons" or "features" of a run's model."""
    heading("Over a corpus", "corpus_units", key=f"corpus_{kind}")
    tree = scan_of(run, selection.current())
    try:
        dashboard = None if tree is None else _read(tree, kind, layer, index, dictionary)
    except ScanError as error:
        st.warning(plain(str(error)))
        return
    if tree is None or dashboard is None:
        watched = ["--neurons"] if kind == "neurons" else ["--features", dictionary]
        command = make("scan", *watched, MODEL=models.opened_by(run.source), CORPUS="texts.jsonl")
        with st.container(key=f"headlight-said-{kind}"):
            st.text(NONE)
            st.code(command, "bash")
        return
    with st.container(key=f"headlight-said-{kind}"):
        st.text(_said(tree, dashboard))
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        _windows(run, slug, kind, dashboard)
    with right:
        _histogram(kind, dashboard)
        _tokens(run, kind, dashboard)


def _read(tree: Tree, kind: str, layer: int, index: int, dictionary: str) -> UnitDashboard | None:
    """Record of the unit in the scan; None where that is of another dictionary."""
    watched = str(tree.provenance.settings.get("features", "")) if tree.provenance else ""
    if dictionary and Path(watched).name != Path(dictionary).name:
        return None
    return scans.unit(tree, kind, layer, index)


def _said(tree: Tree, dashboard: UnitDashboard) -> str:
    """Its figures in a line."""
    over = f"over {Path(tree.dataset_name).name}"
    if dashboard.largest <= 0:
        return f"Never active {over}."
    mean, largest = number(dashboard.mean), number(dashboard.largest)
    return f"Active at {dashboard.density:.2%} of tokens {over}; mean activation {mean}, largest {largest}."


def _windows(run: Run, slug: str, kind: str, dashboard: UnitDashboard) -> None:
    if not dashboard.windows:
        return
    epoch = selection.epoch(kind, dashboard.layer, dashboard.index)
    chosen = sampled_texts(
        SampledTexts(shown_windows(run, dashboard), title="Texts around its peaks, the strongest first"),
        epoch=epoch,
        key=selection.widget_key(f"corpus_{kind}_windows"),
    )
    window = dashboard.windows[chosen or 0]
    link = Link(slug, "Open as prompt A", None, lambda _: open_window(run, slug, window))
    options.row(link, name=f"corpus_{kind}_open", whole=True)


def shown_windows(run: Run, dashboard: UnitDashboard) -> list[SampledText]:
    """The windows as they are drawn: every token with its activation."""
    return [
        SampledText(
            readable(run.tokenizer.to_str_tokens(window.token_ids), run.tokenizer.labels(window.token_ids)),
            cells=np.arange(len(window.token_ids)) * (len(window.token_ids) + 1),
            weights=window.activations / max(dashboard.largest, 1e-30),
            title=number(window.strength),
            note=label(f"{Path(window.document).name}, from token {window.start:,}".encode()).replace("␣", " "),
            group=BUCKETS[window.bucket],
            marked=(window.peak, window.peak),
            scale=dashboard.largest,
        )
        for window in dashboard.windows
    ]


def open_window(run: Run, slug: str, window: Window) -> None:
    """Show a window as prompt A on the same page, its peak chosen."""
    now, ids, bos = selection.current(), window.token_ids, run.tokenizer.bos_token_id
    begins = ids[0] == bos
    new = replace(now, prompt=run.tokenizer.to_string(ids[begins:]), prompt_b=None, model_b="", edits=(), edits_off=())
    place = window.peak - begins + (is_begun(new.bos) and bos is not None)
    selection.ask(replace(new.after(Change(prompt=True)), position=place, neuron=now.neuron, feature=now.feature), slug)


def _histogram(kind: str, dashboard: UnitDashboard) -> None:
    edges, values = dashboard.histogram.bin_edges, dashboard.histogram.bin_values
    plot = histogram(edges, values, title="Sequences by largest activation", along="activation", unit="sequences")
    charts.alone([[plot]], "Histogram of the largest activation of each sequence", f"corpus_{kind}_histogram")


def _tokens(run: Run, kind: str, dashboard: UnitDashboard) -> None:
    first = dashboard.top_tokens[:MAX_TOKENS]
    if first:
        columns = [
            Column("peaks at", run.tokenizer.labels([token for token, _ in first])),
            Column("summed", [weight for _, weight in first], 1),
        ]
        key = selection.widget_key(f"corpus_{kind}_tokens")
        row_table(Table(columns, title="Tokens that sequences peak at"), key=key, choosable=False, whole=True)
