"""Heads over a corpus: a scatter of two metrics, a ranking by one, and the dashboard of the chosen head."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.app.components import Listed, Option, Suggested
from headlight.app.frame import notices
from headlight.app.pages.corpus import dashboard, finder, plots, training
from headlight.app.pages.corpus.choices import Choices
from headlight.app.pages.corpus.scan_view import WIDTHS, ScanView, find
from headlight.app.parts import charts, options, tables
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import title_row
from headlight.app.runs import models, scans
from headlight.app.server import boundary
from headlight.model.base.commands import make
from headlight.model.corpus.titles import figure
from headlight.model.runs.comparison import Comparison

MAX_CHOSEN = 8  # heads that a lasso chooses: other pages draw each of them
CORPUS = "README.md"
HOW = (
    "No corpus scan yet. Create one with this command, which runs a model over text files and writes statistics of "
    "every head into a folder."
)


def render(comparison: Comparison) -> None:
    """The options, every head as a point with the finder beside, and the chosen head's dashboard."""
    views: list[ScanView] = []
    with title_row("Heads over a corpus", "corpus", level=1, key="corpus"):
        row = st.container()
    with boundary.guard(lambda reason: notices.refused(reason, "scan")):
        views += filter(None, [find(comparison, selection.current())])
    with row:
        _options(comparison, *views)
    if views:
        _say_whose(views[0], comparison)
        _heads(views[0])
        with boundary.guard(lambda reason: notices.refused(reason, "dashboard")):
            dashboard.draw(comparison, views[0])
        training.draw(views[0])
    elif not is_open():
        _say_how()


def _say_whose(view: ScanView, comparison: Comparison) -> None:
    """Note that the scan is of another model than the page's, for which there is no scan."""
    if not view.own and not selection.current().scan:
        command = make("scan", MODEL=models.opened_by(comparison.a.source), CORPUS=CORPUS)
        other = plots.called(view.a.model_name)
        st.text(f"No corpus scan for {comparison.a.source.name} yet; showing {other}'s. Create one:")
        st.code(command, "bash")


def is_open() -> bool:
    """Whether there is a scan to be taken along: one that is chosen, or any on offer."""
    return bool(selection.current().scan or scans.offered())


def _say_how() -> None:
    with st.container(key="headlight-missing-scan"):
        st.info(HOW)
        st.code(make("scan", MODEL="mini", CORPUS=CORPUS), "bash")
        st.caption(
            "Then enter the folder's path as the scan. Trees of HeadVis open too, such as Neuronpedia's exports."
        )


def _options(comparison: Comparison, view: ScanView | None = None) -> None:
    now = selection.current()
    name = scans.named(now.scan, comparison.a.source.name)
    row: list[Option | None] = [_scan("scan", "Scan", name, "")]
    if view is not None:
        row.append(_figure(view, "corpus_by", "Rank by", view.by))
        if view.b is None:
            row += [
                _figure(view, "corpus_across", "Across", view.across),
                _figure(view, "corpus_colour", "Colour", view.colour),
            ]
    row += [_beside(view), replace(options.as_tables(), folded=True)]
    options.row(*row)


def _beside(view: ScanView | None) -> Option:
    """Scan for comparison: the chosen one, or else that of B's model, which no choice removes."""
    chosen = selection.current().choices_of(Choices).scan_b
    if chosen or view is None or view.b is None:
        return _scan("scan_b", "B", chosen, "none")
    return _scan("scan_b", "B", scans.chosen_as(view.b), "")


def _scan(field: str, label: str, value: str, placeholder: str) -> Option:
    """A scan on offer, or any other's folder where that is allowed."""
    offered = tuple(scans.offered())

    def change(name: str) -> None:
        if field == "scan":
            selection.choose(Choices, scan_heads=None, sequence=None)
            selection.choose(scan=name)
        else:
            selection.choose(Choices, scan_b="" if name == "none" else name)

    if models.any_model_allowed():
        current = value or placeholder
        more = (placeholder,) if placeholder else ()
        return options.tie(
            Suggested,
            field,
            label,
            current,
            change,
            offered=(*more, *offered),
            placeholder="Choose or type a folder",
            width=130,
        )
    names = {"": placeholder} if placeholder else {}
    return options.tie(Listed, field, label, value, change, options=names | {each: each for each in offered}, width=130)


def _figure(view: ScanView, field: str, label: str, value: str) -> Listed:
    description = view.a.descriptions.get(value, "")
    return options.tie(
        Listed,
        field,
        label,
        value,
        lambda metric: selection.choose(Choices, **{field: metric}),
        options={metric: figure(metric).title for metric in view.metrics},
        help=description,
        width=135,
    )


def _heads(view: ScanView) -> None:
    left, right = st.columns(WIDTHS, gap="medium")
    with left:
        if selection.current().table:
            tables.draw(finder.columns(view), "Every head's figures")
        else:
            _scatter(view)
    with right:
        picked = finder.draw(view)
        many = f" {len(view.heads)} are chosen." if len(view.heads) > 1 else ""
        st.caption(plain(f"Or click a point, or draw around several with the plot's lasso.{many}"))
        _say_how_much(view)
    if picked is not None and picked != view.head:
        finder.choose(view, options.head_first(picked, view.heads[1:]))
        st.rerun()


def _scatter(view: ScanView) -> None:
    listed = view.listed

    def chosen(places: list[int]) -> None:
        heads = [listed[place] for place in places if place < len(listed)]
        first = [head for head in view.order() if head in heads]
        if first:
            finder.choose(view, tuple(first[:MAX_CHOSEN]))

    title = f"Every head by {figure(view.by).title}"
    charts.choosable(plots.of_heads(view), title, "corpus_scatter", chosen)


def _say_how_much(view: ScanView) -> None:
    for side, tree in {"A": view.a, "B": view.b}.items():
        if tree is not None and tree.provenance is not None:
            counts = {"documents": tree.provenance.n_documents, "tokens": tree.provenance.n_tokens}
            parts = [f"{count:,} {name}" for name, count in counts.items() if count is not None]
            parts += [f"mean loss {tree.provenance.loss:.3g} nats"] if tree.provenance.loss is not None else []
            parts += [] if tree.provenance.complete else ["not finished yet"]
            st.caption(plain(f"{'' if view.b is None else f'{side}: '}{', '.join(parts)}"))
