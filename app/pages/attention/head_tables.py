"""Numbers under the heads: the chosen ones' scores, how they differ from each other, and which heads are like them."""

from itertools import combinations

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import HeadPanel, HeadPanels, Listed, TokenAxis, heads
from headlight.app.glossary import TERMS
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.parts.panels import panel
from headlight.app.parts.parts import heading
from headlight.app.parts.scores import SCORES, offered, score
from headlight.app.parts.sides import DIFFERENCE, compared
from headlight.model.attention import fields
from headlight.model.attention.axis import Axis, axis_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name
from headlight.model.runs.run import Run

MAX_ALIKE = 8
SINK = "To the sink"  # the share of the weights that goes to no key


def draw(comparison: Comparison, chosen: tuple[Head, ...], axis: Axis) -> None:
    """All three tables."""
    heading("Scores", "head")
    draw_scores(comparison, chosen, axis, "Scores of the chosen heads on this prompt")
    left, right = st.columns(2, gap="large")
    with left:
        heading("Pairwise distance (JS)", "js")
        _apart(comparison, chosen)
    with right:
        heading("Most similar heads", "js")
        _alike(comparison, chosen)


def draw_scores(comparison: Comparison, chosen: tuple[Head, ...], axis: Axis, alt: str) -> None:
    """The scores of some heads as a sortable table."""
    st.dataframe(
        scores_table(comparison, chosen, axis),
        column_config={
            each.title: st.column_config.NumberColumn(each.title, format="%.3f", help=TERMS[each.term])
            for each in SCORES.values()
        },
        hide_index=True,
        placeholder="–",
        alt=alt,
    )


def scores_table(comparison: Comparison, chosen: tuple[Head, ...], axis: Axis) -> dict[str, list[str] | list[float]]:
    """One row a head; with a B one for A, one for B and one for the difference."""
    sides = list(comparison.sides) + ([DIFFERENCE] if comparison.b is not None else [])
    rows = [(head, side) for head in chosen for side in sides]
    table: dict[str, list[str] | list[float]] = {"Head": [head_name(head) for head, _ in rows]}
    if comparison.b is not None:
        table["Run"] = [side for _, side in rows]
    for key, each in offered(comparison).items():
        if not each.needs_b:
            table[each.title] = [_of_side(comparison, key, head, side) for head, side in rows]
        else:
            values = score(comparison, key, axis)
            table[each.title] = [float(values[head]) if side == DIFFERENCE else float("nan") for head, side in rows]
    if any(run.cfg.use_attention_sinks for run in comparison.runs):
        table[SINK] = [_to_sink(comparison, head, side) for head, side in rows]
    return table


def _to_sink(comparison: Comparison, head: Head, side: str) -> float:
    """The mean share of a head's weights that goes to its sink; none where it has none."""

    def mean(run: Run) -> float:
        shares = fields.to_sink(run, head)
        return 0.0 if shares is None else float(shares.mean())

    return compared(comparison.sides, mean)[side]


def _of_side(comparison: Comparison, key: str, head: Head, side: str) -> float:
    return compared(comparison.sides, lambda run: fields.head_score(run, key, head))[side]


def _apart(comparison: Comparison, chosen: tuple[Head, ...]) -> None:
    if len(chosen) < 2:
        st.caption("Choose a second head in the grid to compare them.")
        return
    apart = fields.apart(comparison.a, chosen).values.numpy()
    names = [head_name(head) for head in chosen]
    st.dataframe(
        {"nats": names, **{other: apart[:, column] for column, other in enumerate(names)}},
        column_config={other: st.column_config.NumberColumn(other, format="%.3f") for other in names},
        hide_index=True,
        alt="Jensen-Shannon divergence between the chosen heads of A, in nats",
    )
    _pair(comparison, chosen)


def _pair(comparison: Comparison, chosen: tuple[Head, ...]) -> None:
    """Two of the chosen heads and the difference of their patterns."""
    named: dict[tuple[Head, ...], str] = {(): "choose two heads"}
    named |= {(one, other): f"{head_name(other)} − {head_name(one)}" for one, other in combinations(chosen, 2)}
    now = selection.current().choices_of(Choices).pair
    pair = now if now in named else ()
    if pair != now:
        selection.update(Choices, pair=pair)
    difference = options.tie(
        Listed,
        "pair",
        "Difference of",
        pair,
        lambda new: selection.update(Choices, pair=new),
        options=named,
        width=320,
    )
    options.row(difference, name="pair", whole=True)
    if pair:
        _difference(comparison, pair)


def _difference(comparison: Comparison, pair: tuple[Head, ...]) -> None:
    a = Comparison(comparison.a)
    axis = axis_of(a, "token", "tokens")
    one, other = (panel(a, head, axis, "token").a for head in pair)
    now = selection.current()
    heads(
        HeadPanels(
            [HeadPanel(one, other)],
            TokenAxis(axis.labels, axis.presence),
            sink=now.choices_of(Choices).sink,
            scale=now.scale,
        ),
        pinned=None,
        epoch=selection.epoch(),
        key=selection.widget_key("pair_heads"),
        group="pair",
    )


def _alike(comparison: Comparison, chosen: tuple[Head, ...]) -> None:
    key = selection.widget_key("alike")
    head_chosen = st.session_state.get(key)
    head = (
        head_chosen if head_chosen in chosen else None
    )  # all heads' patterns are computed for it, so not before somebody asks
    named: dict[Head | None, str] = {None: "choose a head"}
    named |= {each: head_name(each) for each in chosen}

    def hold(new: Head | None) -> None:
        st.session_state[key] = new

    options.row(
        options.tie(Listed, "alike", "Similar to", head, hold, options=named, width=320), name="alike", whole=True
    )
    if head is None:
        return
    apart = comparison.keep(("alike", head), lambda: fields.alike(comparison.a, head).values.numpy())
    order = np.argsort(apart, axis=None, kind="stable")
    others = [divmod(int(index), apart.shape[1]) for index in order]
    nearest = [other for other in others if other != head][:MAX_ALIKE]
    st.dataframe(
        {"Head": [head_name(other) for other in nearest], "JS (nats)": [float(apart[other]) for other in nearest]},
        column_config={"JS (nats)": st.column_config.NumberColumn(format="%.4f", help=TERMS["js"])},
        hide_index=True,
        alt=f"Heads with the patterns on prompt A most similar to {head_name(head)}'s",
    )
    st.button(
        plain(f"Add the three most similar to {head_name(head)}"),
        key=selection.widget_key("show_alike"),
        type="tertiary",
        on_click=selection.choose,
        kwargs={"heads": (head, *nearest[:3])},
    )
