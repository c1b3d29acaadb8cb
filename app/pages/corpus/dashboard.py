"""One head over the corpus: its sequences by bucket, histograms, top tokens and pairs, and whether it matters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from headlight.app import selection
from headlight.app.components import (
    Column,
    Listed,
    NamedNumber,
    Option,
    SampledText,
    SampledTexts,
    Table,
    number_grid,
    row_table,
    sampled_texts,
)
from headlight.app.components.options.kinds import Link
from headlight.app.exports.csv_files import Cell
from headlight.app.pages.corpus import finder, opening, plots
from headlight.app.pages.corpus.choices import Choices
from headlight.app.pages.corpus.scan_view import WIDTHS, ScanView
from headlight.app.parts import charts, options, over_corpus
from headlight.app.parts.labels import quoted, readable
from headlight.app.parts.parts import heading, title_row
from headlight.model.corpus.titles import WEIGHT, estimates, figure
from headlight.model.corpus.tree import Dashboard, Effect, Head, SampledSequence, TokenPair
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name
from headlight.model.runs.run import Run
from headlight.model.text.labels import label

MAX_LISTED = 10  # tokens, or pairs of them
N_STRIPS = 3  # figures, the most unusual, that stand among all heads
EFFECTS = {
    "loss_change": "loss (nats)",
    "when_active": "where it is active (nats)",
    "when_not": "where it is not (nats)",
    "direct": "direct effect (logits)",
}


def draw(comparison: Comparison, view: ScanView) -> None:
    """The head that is chosen first."""
    of_head = view.dashboard()
    name = head_name(view.head)
    step = view.a.provenance and view.a.provenance.step
    at = "" if step is None else f" at step {step:,} of the training"
    with title_row(f"{name} over the corpus{at}", "corpus_head", key="corpus_dashboard"):
        options.row(_head(view), name="corpus_head", whole=True)
    number_grid(
        figures(view), others="All heads, from the least to the most", key=selection.widget_key("corpus_figures")
    )
    with st.container(key="headlight-said-head"):
        if view.own and (said := over_corpus.sentence(comparison.a, view.head, view.by, view.a)):
            st.text(said)
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        _sequences(comparison, view, of_head)
    with right:
        _matters(of_head)
        if rows := plots.of_head(of_head):
            charts.draw(rows, f"Activity of {name} over the corpus, and its attention distance")
    _top_tokens(of_head)


def _head(view: ScanView) -> Option:
    def change(head: Head) -> None:
        finder.choose(view, options.head_first(head, view.heads[1:]))

    named = {head: head_name(head) for head in view.a.rows}
    return options.tie(Listed, "corpus_head", "Head", view.head, change, options=named, width=100)


def figures(view: ScanView) -> list[NamedNumber]:
    """The head's figures, those first by which it stands out of all heads, and with a strip of these."""
    numbers = list[tuple[float, NamedNumber]]()
    for metric in view.a.metrics:
        estimate = estimates(view.a, metric)
        value, low, high = (float(each[view.head]) for each in (estimate.values, estimate.low, estimate.high))
        if np.isfinite(value):
            unit = "" if figure(metric).unit in (WEIGHT, "share") else f" {figure(metric).unit}".rstrip()
            number, _, half = rounded(value, (high - low) / 2).partition(" ± ")
            named = NamedNumber(figure(metric).title, f"{number}{unit}", half and f"± {half}")
            numbers.append((unusualness(value, estimate.values), replace(named, **_strip(value, estimate.values))))
    numbers.sort(key=lambda each: -each[0])
    return [
        named if place < N_STRIPS else replace(named, others=(), at=None) for place, (_, named) in enumerate(numbers)
    ]


def unusualness(value: float, heads: Float[np.ndarray, "layer head"]) -> float:
    """How far a head's figure lies from the median head's, in quartile ranges of all heads."""
    low, median, high = np.nanpercentile(heads, (25, 50, 75))
    return abs(value - float(median)) / (float(high - low) or float(np.nanstd(heads)) or 1.0)


def _strip(value: float, heads: Float[np.ndarray, "layer head"]) -> dict[str, Any]:
    """Every head's place between the least and the most of them, and the head's own."""
    finite = heads[np.isfinite(heads)]
    least, extent = float(finite.min()), float(np.ptp(finite)) or 1.0
    return {"others": ((finite - least) / extent).round(3).tolist(), "at": (value - least) / extent}


def rounded(value: float, half: float) -> str:
    """A number with half the width of its interval, to the second digit of that; three digits where it has none."""
    if not (np.isfinite(half) and half > 0):
        return f"{value:.3g}".replace("-", "−")
    decimals = max(0, 1 - int(np.floor(np.log10(half))))
    return f"{value:,.{decimals}f} ± {half:,.{decimals}f}".replace("-", "−")


def _sequences(comparison: Comparison, view: ScanView, of_head: Dashboard) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-sequences"):
        heading("Sequences", "corpus_sequences", key="corpus_sequences_title")
        st.caption("Open on", width="content")
        links = st.container()
    said = st.container()
    if not of_head.sequences:
        st.info("No sequence was sampled for this head.")
        return
    sequences = of_head.sequences
    chosen = sampled_texts(
        SampledTexts(
            shown_texts(sequences, view.a.n_intervals, comparison.a if view.own else None),
            title=f"Sequences by activity of {head_name(view.head)}",
        ),
        chosen=_within(selection.current().choices_of(Choices).sequence, len(sequences)),
        epoch=selection.epoch(str(view.a.folder), view.head),
        key=selection.widget_key("corpus_sequences"),
    )
    if chosen != selection.current().choices_of(Choices).sequence:
        selection.update(Choices, sequence=chosen)
    prompt = opening.prompt_of(view, sequences[chosen or 0], comparison.a)
    with links:
        _open(prompt, view, sequences[chosen or 0])
    with said:
        _say_how(prompt)


def _within(place: int | None, count: int) -> int | None:
    return place if place is not None and place < count else None


def shown_texts(sequences: Sequence[SampledSequence], n_intervals: int, run: Run | None) -> list[SampledText]:
    """Sequences as drawn, with a heading each; `run` resolves tokens that are parts of a character."""
    return [
        SampledText(
            tokens := _readable(each, run),
            each.attention_indices,
            each.attention_values,
            title="" if each.max_activation is None else f"{each.max_activation:.3f}",
            note=_note(each, tokens),
            group=_bucket(each.interval, n_intervals),
            marked=each.strongest,
        )
        for each in sequences
    ]


def _readable(sequence: SampledSequence, run: Run | None) -> list[str]:
    ids = opening.known_ids(sequence, run) if run is not None else []
    return readable(sequence.tokens, run.tokenizer.labels(ids) if run and ids else map(_label, sequence.tokens))


def _note(sequence: SampledSequence, tokens: Sequence[str]) -> str:
    where = label(opening.document_of(sequence).encode()).replace("␣", " ")
    cell = sequence.strongest
    if cell is None:
        return where
    query, key = (tokens[place].strip() or "␣" for place in cell)
    return f"{quoted(query)} looks at {quoted(key)}, {cell[0] - cell[1]} back · {where}"


def _bucket(interval: int, n_intervals: int) -> str:
    ends = {n_intervals: ", the head is most active", 1: ", least active"} if n_intervals > 1 else {}
    return f"Bucket {interval} of {n_intervals}{ends.get(interval, '')}"


def _open(prompt: opening.Prompt, view: ScanView, sequence: SampledSequence) -> None:
    """Links to the other pages with the chosen sequence, or the strongest, as prompt A."""

    def link(slug: str, title: str) -> Link:
        return Link(slug, title, None, lambda _: opening.open_on(slug, prompt, view.head, sequence))

    options.row(*(link(slug, title) for slug, title in opening.PAGES.items()), name="corpus_open", whole=True)


def _say_how(prompt: opening.Prompt) -> None:
    """Note on differences between a sequence in the scan and the same sequence on the page."""
    if prompt.exact is False:
        st.caption("The model tokenizes this text differently from the scan: the cell may be elsewhere.")
    elif prompt.exact is None:
        with st.container(key="headlight-said-model"):
            st.text(f"Opens with {prompt.model}, the scan's model.")


def _matters(of_head: Dashboard) -> None:
    heading("Causal effect", "corpus_matters", key="corpus_matters")
    effects = _effects(of_head)
    if not effects:
        st.caption("This scan has no ablations; only scans made with Headlight do.")
        return
    row_table(
        Table(
            [
                Column("mean-ablated", [EFFECTS[name] for name in effects]),
                Column("mean", [each.mean for each in effects.values()], 3, signed=True),
                Column("95%", [finder.span(*each.interval) if each.interval else None for each in effects.values()]),
            ],
            title="Loss change when the head is ablated",
        ),
        key=selection.widget_key("corpus_effects"),
        choosable=False,
        whole=True,
    )


def _effects(of_head: Dashboard) -> dict[str, Effect]:
    effects = {name: getattr(of_head.matters, name, None) for name in EFFECTS}
    return {name: effect for name, effect in effects.items() if effect is not None}


def _top_tokens(of_head: Dashboard) -> None:
    lists: dict[str, list[Column]] = {
        "as query": _tokens("query", of_head.top_query_tokens),
        "as key": _tokens("key", of_head.top_key_tokens),
        "as pairs": _pairs(of_head.top_pairs),
    }
    there = {name: columns for name, columns in lists.items() if columns[0].cells}
    if not there:
        return
    heading("Top tokens and pairs", "corpus_top", key="corpus_top")
    for place, (name, columns) in zip(st.columns(len(there), gap="medium"), there.items(), strict=True):
        with place:
            key = selection.widget_key(f"corpus_top {name}")
            row_table(Table(columns, title=f"Tokens with most attention {name}"), key=key, choosable=False, whole=True)


def _tokens(side: str, listed: Sequence[tuple[str, float]]) -> list[Column]:
    first = listed[:MAX_LISTED]
    weights: list[Cell] = [weight for _, weight in first]
    return [Column(side, [_label(token) for token, _ in first]), Column("weight", weights, 1)]


def _pairs(listed: Sequence[TokenPair]) -> list[Column]:
    first = listed[:MAX_LISTED]
    return [
        Column("query", [_label(pair.query) for pair in first]),
        Column("key", [_label(pair.key) for pair in first]),
        Column("weight", [pair.weight for pair in first], 1),
    ]


def _label(token: str) -> str:
    return label(token.encode())
