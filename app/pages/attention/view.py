"""Every head's attention over the prompt, and the chosen heads side by side."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import (
    Choice,
    Fetchable,
    HeadPanel,
    HeadPanels,
    Listed,
    Option,
    Pin,
    Slider,
    Switch,
    TokenAxis,
    TokenStrip,
    heads,
    token_strip,
)
from headlight.app.components.heads import Kind
from headlight.app.frame import progress
from headlight.app.glossary import TERMS
from headlight.app.pages.attention import cell_tables, finding, head_tables, pooled, receivers
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts import grid, labels, options
from headlight.app.parts.first_heads import FIRST_HEADS, heads_of
from headlight.app.parts.grid import Pictures
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import typeable
from headlight.app.parts.panels import fetchable, panel
from headlight.app.parts.parts import title_row
from headlight.app.parts.scores import offered, score
from headlight.app.runs import thumbnails
from headlight.app.runs.prompts import first_prompt
from headlight.app.selection import Selection
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, axis_of, turn_starts
from headlight.model.attention.fields import How
from headlight.model.attention.folding import fold_all
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.run import LONG as LONG_RUN

GROUP = "attention"
UNITS = {"token": "tokens", "word": "words", "sentence": "sentences"}
TURNS = {"turn": "turns"}  # of a conversation
FOLDS = {"average": "averaged", "largest": "largest"}
WELCOME = "Headlight shows what a language model's attention heads do with a text."
LONG = 200  # tokens, beyond which sentences are offered


def render(comparison: Comparison) -> None:
    """The token strip with the page's options under it, the grid of all heads and the chosen ones."""
    offer = _offer_sentences(comparison)
    now = selection.current()
    own = now.choices_of(Choices)
    compares, shape = comparison.b is not None, (comparison.n_layers, comparison.n_heads)
    text, chooses, all_heads, large = grid.places(compares, shape)
    with chooses:
        _options(comparison)
        _say_before_norm(comparison)
    axis = comparison.keep(("axis", own.unit), lambda: axis_of(comparison, own.unit, now.align))
    if now.table:
        chosen = now.heads or heads_of(comparison, replace(now, heads=None))
        cell_tables.draw(comparison, chosen, own.how, axis, own.unit)
        head_tables.draw(comparison, chosen, axis)
        receivers.draw(comparison, chosen[0] if chosen else None, axis, own.unit)
    else:
        if own.unit != "token":
            with offer, st.spinner(f"Attention between {(UNITS | TURNS)[own.unit]}…", show_time=True):
                for head in heads_of(comparison, now):
                    panel(comparison, head, axis, own.unit, own.how.fold)  # which is kept, and drawn below
        _pictures(comparison, axis, text, all_heads, large)


def _pictures(
    comparison: Comparison, axis: Axis, text: DeltaGenerator, all_heads: DeltaGenerator, large: DeltaGenerator
) -> None:
    """The grid, the chosen heads and the text; of a long prompt the grid last, which needs every head's pattern."""
    now, run = selection.current(), comparison.a
    own, compares = now.choices_of(Choices), comparison.b is not None
    is_read = run.is_summarized if own.unit == "token" else len(run.tokens) < LONG_RUN
    grid_last = not compares and own.how.show == "weight" and not is_read
    if grid_last:
        chosen, limits = heads_of(comparison, now), grid.limits("a", 1.0)
    else:
        with all_heads:
            chosen, limits = _grid(comparison, axis)
    _chosen(comparison, chosen, axis, limits, text, large)
    if grid_last:
        with all_heads:
            is_all_read = progress.watched(
                "all heads",
                "layers done",
                "all_heads",
                (run.key, own.unit, own.how.fold),
                lambda: _read_all(comparison, axis, own.how),
                resumes=True,
            )
            if is_all_read:
                _grid(comparison, axis)
    if chosen:
        _numbers(comparison, chosen, axis)


def _read_all(comparison: Comparison, axis: Axis, how: How) -> bool:
    """Go through every head's pattern once: for thumbnails and scores, or between units."""
    (group,), run = axis.groups, comparison.a
    if group is None:
        return bool(run.scores)
    if not fold_all(run, group, how.fold):
        with run.host.turn():
            _thumbnails(comparison, axis)  # each head is folded for its picture alone
    return True


def _thumbnails(comparison: Comparison, axis: Axis) -> Pictures:
    """All heads' pictures, computed once."""
    side, own = grid.side_of(comparison.b is not None), selection.current().choices_of(Choices)
    return comparison.keep(
        ("pictures", side, own.how, own.unit),
        lambda: grid.pictures(thumbnails.thumbnails(comparison, side, own.how, axis)),
    )


def _chosen(
    comparison: Comparison,
    chosen: tuple[Head, ...],
    axis: Axis,
    limits: dict[Kind, float],
    text: DeltaGenerator,
    large: DeltaGenerator,
) -> None:
    """The chosen heads, and the text with the first of them; of a long prompt pooled, and exactly in a window."""
    now = selection.current()
    own = now.choices_of(Choices)
    places, tokens = pooled.places_of(comparison, own), axis
    how, is_pooled = pooled.how_of(own, places), places == "block"
    if is_pooled:
        axis = comparison.keep(("axis", places), lambda: axis_of(comparison, places, now.align))
    with large:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(comparison, head, axis, places, how.fold) for head in chosen]
        token_axis = pooled.token_axis(axis, places, comparison)
        before = Pin(now.queries, now.keys) if now.queries or now.keys else None
        if is_pooled:
            before = pooled.pin_of(comparison.a, (now.queries, now.keys))
            pooled.say_how(comparison.a)
        pin = _heads(panels, token_axis, how, limits, fetchable(comparison, axis, places, how.fold), before)
        if pin != before and is_pooled:
            pooled.choose(comparison.a, chosen[0], pin)
        elif pin != before:
            selection.update(queries=pin.queries if pin else (), keys=pin.keys if pin else ())
        if is_pooled:
            pooled.draw_window(comparison, chosen)
        _ask_why(chosen)
    with text:
        finding.draw(comparison, chosen[0], tokens)
        _text(comparison, panels[0], axis, token_axis, how, limits)


def _numbers(comparison: Comparison, chosen: tuple[Head, ...], axis: Axis) -> None:
    """What is received from later sentences, and the chosen heads' tables."""
    receivers.draw(comparison, chosen[0], axis, selection.current().choices_of(Choices).unit)
    numbers = st.expander(
        "Tables of the chosen heads: scores, pairwise distances, most similar heads",
        **selection.bind("numbers", Choices),
    )
    if numbers.open:  # tables take the browser longer than the pictures that they would hold up
        with numbers:
            head_tables.draw(comparison, chosen, axis)


def _text(
    comparison: Comparison, drawn: HeadPanel, axis: Axis, token_axis: TokenAxis, how: How, limits: dict[Kind, float]
) -> None:
    """The prompt with the first chosen head's attention, and behind it what is predicted, which leads to Why."""
    now = selection.current()
    own = now.choices_of(Choices)
    predicted = [finding.predicted(run) for run in comparison.runs] if own.unit == "token" else []
    tokens = [] if None in predicted else [token for token in predicted if token is not None]

    def ask_why(side: int) -> None:
        if side < len(tokens):
            target = typeable(comparison.runs[side], tokens[side]) or ""
            selection.ask(replace(now, target=target, position=None), "why")

    token_strip(
        TokenStrip(
            token_axis,
            drawn,
            show=how.show,
            sink=how.sink,
            scale=now.scale,
            predictions=[finding.prediction(run, token) for run, token in zip(comparison.runs, tokens, strict=False)],
            turns=turn_starts(comparison, axis),
            quantity=fields.title(how.show, how.fold),
            others=limits,
            caption=_caption_of_text(comparison, drawn, how) if own.unit == "token" else "",
        ),
        key=selection.widget_key("strip"),
        group=GROUP,
        open_prediction=ask_why,
    )


def _caption_of_text(comparison: Comparison, drawn: HeadPanel, how: How) -> str:
    """What the lines and colours are; before anything was chosen, what Headlight is, too."""
    now = selection.current()
    is_begun = selection.by_link() or now != Selection(model=now.model, prompt=first_prompt(now.model))
    head, quantity = (drawn.a.layer, drawn.a.head), fields.title(how.show, how.fold)
    return f"{'' if is_begun else f'{WELCOME} '}{finding.how_to_read(comparison, head, quantity)}"


def _offer_sentences(comparison: Comparison) -> DeltaGenerator:
    """A button that folds the tokens of a long text into its sentences; returns its place, where it is then awaited."""
    own = selection.current().choices_of(Choices)
    # The container is there always: it would else take the pictures' place, and hold them while a long text is run.
    place = st.container(horizontal=True, vertical_alignment="center", key="headlight-fold")
    with place:
        if own.unit != "token" or len(comparison.a.tokens) <= LONG:
            for _ in range(2):
                st.empty()  # in the places of what was drawn, which would else stay until all heads are done
            return place
        st.caption(plain(f"{len(comparison.a.tokens):,} tokens are a long text."), width="content")
        st.button(
            "Read it by sentences",
            type="tertiary",
            key=selection.widget_key("fold"),
            on_click=lambda: selection.choose(Choices, unit="sentence"),
        )
    return place


def _options(comparison: Comparison) -> None:
    own = selection.current().choices_of(Choices)
    units = UNITS | (TURNS if comparison.a.turns or own.unit in TURNS else {})
    options.row(
        options.bind(Choice, "show", page=Choices, **grid.CHOICES["show"]),
        options.bind(Choice, "scale", folded=True, **grid.CHOICES["scale"]),
        options.bind(Listed, "sink", page=Choices, width=165, **_sink_choice(comparison)),
        options.as_tables(),
        options.bind(Listed, "unit", "Tokens grouped by", page=Choices, options=units, width=130, folded=True),
        options.bind(Choice, "fold", "Between units", page=Choices, options=FOLDS) if own.unit != "token" else None,
        options.bind(Switch, "own_scale", "Scale per head", folded=True),
        title="Display options",
    )
    if own.unit != "token" and own.show != "weight":
        st.caption(
            "Units of several tokens show weights only: scores and value-weighted cells belong to single tokens."
        )


def _sink_choice(comparison: Comparison) -> dict[str, Any]:
    """Look of the choice of what becomes of sinks, which names those that are not the first token.

    Of words, sentences and turns the first alone is hidden.
    """
    look, unit = dict(grid.CHOICES["sink"]), selection.current().choices_of(Choices).unit
    if unit != "token":
        return look | {"label": f"First {unit}"}
    if not (named := finding.named_sinks(comparison)):
        return look
    return look | {"label": "Sinks", "help": f"{TERMS['sink']} Here the first token and {', '.join(named)}."}


def _say_before_norm(comparison: Comparison) -> None:
    """Note that the enlarged heads' writes differ from the grid's, where a norm stands behind the heads."""
    own = selection.current().choices_of(Choices)
    if own.show == "write" and any(run.cfg.use_normalization_before_and_after for run in comparison.runs):
        st.caption(
            "This model normalizes the sum of a layer's heads. The grid and the tables divide each head's output by "
            "that norm's scale at the query; the enlarged heads show it before the norm."
        )


def _grid(comparison: Comparison, axis: Axis) -> tuple[tuple[Head, ...], dict[Kind, float]]:
    """All heads, for the chosen ones and the limits of the colours."""
    with title_row("All heads", "attention", "head", how=grid.HOW_TO_CHOOSE):
        options.row(grid.side_option(comparison.b is not None), *_sorting(comparison), name="grid", title="Sorting")
    now, side, order = selection.current(), grid.side_of(comparison.b is not None), _order(comparison, axis)
    before, drawn_as = heads_of(comparison, now), now.choices_of(Choices).how
    pictures = _thumbnails(comparison, axis)
    supported = labels.known(comparison, now)
    chosen = grid.draw(
        pictures,
        fields.title(drawn_as.show, drawn_as.fold),
        comparison.b is not None,
        before,
        "grid",
        GROUP,
        captions=_with_labels(_captions(comparison, axis), supported),
        marks=labels.marks(supported, comparison.n_layers, comparison.n_heads) if supported else None,
        roles=labels.roles(supported),
        order=order,
        figures=None if order is None else _figures(comparison, axis),
        lacks=grid.lacks(axis.presence),
    )
    if chosen != before:
        selection.update(heads=chosen)
    return chosen, grid.limits(side, pictures.limit)


def _sorting(comparison: Comparison) -> Iterator[Option]:
    """Options for the score that heads are sorted by and how many of them are drawn."""
    titles = {"place": "layer and head", **{name: each.title for name, each in offered(comparison).items()}}
    compares, by = comparison.b is not None, _sort(comparison)  # with a B, what the grid shows stands beside it
    yield options.tie(Listed, "sort", "Sort by", by or "place", _sort_by, options=titles, width=200, folded=compares)
    n_heads = comparison.n_layers * comparison.n_heads
    if by is not None and n_heads > 1:
        yield options.bind(Slider, "top", "Top heads", n_heads, page=Choices, least=1, most=n_heads, folded=True)


def _sort_by(name: str) -> None:
    selection.update(sort=name)


def _sort(comparison: Comparison) -> str | None:
    """The score by which the heads are sorted; None where they stand in their own places, as without that score."""
    now = selection.current().sort
    return now if now in offered(comparison) else None


def _order(comparison: Comparison, axis: Axis) -> list[Head] | None:
    """The first heads by the chosen score, largest first; None for the model's own order."""
    by = _sort(comparison)
    if by is None:
        return None
    values = _score_to_sort(comparison, by, axis)
    if values is None:
        return None
    order = [int(index) for index in np.argsort(-np.nan_to_num(values, nan=-np.inf), axis=None, kind="stable")]
    return [
        divmod(index, comparison.n_heads)
        for index in order[: selection.current().choices_of(Choices).top or len(order)]
    ]


def _score_to_sort(comparison: Comparison, by: str, axis: Axis) -> Float[np.ndarray, "layer head"] | None:
    """A score of all heads; of a long prompt, where some take as long as all thumbnails, None where it was stopped."""
    if len(comparison.a.tokens) < LONG_RUN:
        return score(comparison, by, axis)
    return progress.watched(
        "sorting",
        "layers done",
        "sorting",
        (comparison.a.key, by),
        lambda: score(comparison, by, axis),
        resumes=by == "other_sinks",  # a layer that is done is kept
    )


def _figures(comparison: Comparison, axis: Axis) -> list[list[str]]:
    values = score(comparison, selection.current().sort, axis)
    return [["–" if np.isnan(value) else f"{value:.3g}" for value in layer] for layer in values]


def _captions(comparison: Comparison, axis: Axis) -> list[list[str]]:
    """Beside a head's name three of its scores in A; between units of a long prompt only where they are known."""
    if axis.groups[0] is not None and not comparison.a.is_summarized:
        return [[""] * comparison.n_heads for _ in range(comparison.n_layers)]
    return comparison.keep("captions", lambda: _scores_said(comparison))


def _scores_said(comparison: Comparison) -> list[list[str]]:
    names = ("entropy", "previous_token", "induction")
    scores = (comparison.a.scores[name].values[: comparison.n_layers, : comparison.n_heads].tolist() for name in names)
    return [[_caption(*head) for head in zip(*layer, strict=True)] for layer in zip(*scores, strict=True)]


def _with_labels(captions: list[list[str]], supported: labels.Labels) -> list[list[str]]:
    """The captions, each preceded by the head's labels from the page of head roles."""
    own = {head: " ".join([*map(labels.words, kinds), "·", ""]) for head, kinds in supported.items()}
    return [
        [own.get((layer, head), "") + caption for head, caption in enumerate(line)]
        for layer, line in enumerate(captions)
    ]


def _caption(entropy: float, previous_token: float, induction: float) -> str:
    repeats = "–" if np.isnan(induction) else f"{induction:.2f}"
    return f"entropy {entropy:.2f} nats · previous token {previous_token:.2f} · induction {repeats}"


def _heads(
    panels: list[HeadPanel], axis: TokenAxis, how: How, limits: dict[Kind, float], others: Fetchable, before: Pin | None
) -> Pin | None:
    """Draw the heads with the pin of before; return the pin."""
    now = selection.current()
    return heads(
        HeadPanels(
            panels,
            axis,
            show=how.show,
            sink=how.sink,
            scale=now.scale,
            own_scale=now.own_scale,
            others=limits,
            title=grid.chosen_title("token"),
            quantity=fields.title(how.show, how.fold),
        ),
        pinned=before,
        epoch=selection.epoch(),
        key=selection.widget_key("heads"),
        group=GROUP,
        fetchable=others,
    )


def _ask_why(chosen: tuple[Head, ...]) -> None:
    """A button for each of the first heads, where a single cell is pinned: the page *Why* explains it."""
    now = selection.current()
    if now.choices_of(Choices).unit != "token" or len(now.queries) != 1 or len(now.keys) != 1:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-why"):
        st.caption("Why this cell?", width="content")
        for head in chosen[:FIRST_HEADS]:
            others = tuple(other for other in chosen if other != head)
            selected = replace(now, heads=(head, *others))
            st.button(
                plain(head_name(head)),
                icon=":material/help_center:",
                key=selection.widget_key(f"why_{head}"),
                on_click=selection.ask,
                args=(selected, "why"),
            )
