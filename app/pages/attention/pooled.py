"""A long prompt's chosen heads: each pattern pooled to blocks of tokens, and exactly around the cell looked at."""

import streamlit as st

from headlight.app import selection
from headlight.app.components import HeadPanel, HeadPanels, Pin, TokenAxis, heads
from headlight.app.pages.attention.choices import Choices
from headlight.app.parts.markdown import plain
from headlight.app.parts.panels import window
from headlight.app.parts.parts import heading
from headlight.model.attention import fields
from headlight.model.attention.axis import MAX_TOKENS, Axis, Places, block_size
from headlight.model.attention.fields import How
from headlight.model.runs.comparison import BOTH, Comparison
from headlight.model.runs.edits import Head
from headlight.model.runs.head import attend
from headlight.model.runs.run import Run

WINDOW = 256  # tokens on a side, of which every cell has some pixels


def places_of(comparison: Comparison, own: Choices) -> Places:
    """What stands at a place of a pattern: the unit, or of a long prompt's tokens some together."""
    is_long = comparison.b is None and len(comparison.a.tokens) > MAX_TOKENS
    return "block" if own.unit == "token" and is_long else own.unit


def token_axis(axis: Axis, places: Places, comparison: Comparison) -> TokenAxis:
    """The axis of the heads and the text."""
    step = block_size(len(comparison.a.tokens)) if places == "block" else 1
    return TokenAxis(axis.labels, axis.presence, step=step, unit=places)


def how_of(own: Choices, places: Places) -> How:
    """What stands in the cells: of pooled ones the largest weight."""
    if places != "block":
        return own.how
    return How("weight", "keep" if own.sink == "keep" else "hide", "largest")


def pin_of(run: Run, pinned: tuple[tuple[int, ...], tuple[int, ...]]) -> Pin | None:
    """The blocks of the tokens that are pinned."""
    size = block_size(len(run.tokens))
    queries, keys = (tuple(dict.fromkeys(token // size for token in tokens)) for tokens in pinned)
    return Pin(queries, keys) if queries or keys else None


def choose(run: Run, head: Head, pin: Pin | None) -> None:
    """Pin the tokens of pinned blocks: of one cell the two with the largest weight."""
    size, n_tokens = block_size(len(run.tokens)), len(run.tokens)
    tokens = [[range(block * size, min((block + 1) * size, n_tokens)) for block in side] for side in pin or ((), ())]
    queries, keys = ([of_block[-1] for of_block in side] for side in tokens)
    if len(queries) == len(keys) == 1:
        (block,), (columns,) = tokens
        weights = attend(run, *head, block).pattern[:, columns.start : columns.stop]
        row, column = divmod(int(weights.argmax()), len(columns))
        queries, keys = [block[row]], [columns[column]]
    selection.choose(queries=tuple(queries), keys=tuple(keys))


def say_how(run: Run) -> None:
    """What a cell of the pooled patterns is."""
    size = block_size(len(run.tokens))
    hidden = "" if selection.current().choices_of(Choices).sink == "keep" else f" The first {size} tokens are hidden."
    st.caption(
        plain(
            f"{len(run.tokens):,} tokens: each cell is the largest weight between {size} × {size} of them.{hidden} "
            "Click a cell to see its tokens one by one below."
        )
    )


def draw_window(comparison: Comparison, chosen: tuple[Head, ...]) -> None:
    """The tokens around the pinned cell, or else around where the first head looks from the last token."""
    now, run = selection.current(), comparison.a
    query = now.queries[0] if now.queries else len(run.tokens) - 1
    key = now.keys[0] if now.keys else int(attend(run, *chosen[0], range(query, query + 1)).pattern[0].argmax())
    rows, columns = _around(run, query), _around(run, key)
    own = now.choices_of(Choices)
    show = "weight" if own.show == "disagreement" else own.show
    heading(f"Queries {rows[0]:,} to {rows[-1]:,}, keys {columns[0]:,} to {columns[-1]:,}", key="window")
    before = _within(Pin(now.queries, now.keys), rows, columns)
    pin = heads(
        HeadPanels(
            [_kept(run, head, rows, columns) for head in chosen],
            _axis(run, rows),
            None if rows == columns else _axis(run, columns),
            show=show,
            sink="keep" if own.sink == "keep" else "hide",
            scale=now.scale,
            own_scale=now.own_scale,
            quantity=fields.title(show),
        ),
        pinned=before,
        epoch=selection.epoch(),
        key=selection.widget_key(f"window_{rows[0]}_{columns[0]}"),
        group="window",
    )
    if pin != before:
        queries, keys = pin or ((), ())
        selection.update(queries=tuple(rows[each] for each in queries), keys=tuple(columns[each] for each in keys))


def _kept(run: Run, head: Head, rows: range, columns: range) -> HeadPanel:
    return run.keep(("window", head, rows, columns), lambda: window(run, head, rows, columns))


def _around(run: Run, token: int) -> range:
    """The tokens that a window with this one has; the same for all of them, but near the end."""
    begin = min(token // WINDOW * WINDOW, max(0, len(run.tokens) - WINDOW))
    return range(begin, min(begin + WINDOW, len(run.tokens)))


def _within(pin: Pin, rows: range, columns: range) -> Pin | None:
    """A pin by the places of a window, if it is in there."""
    queries = tuple(rows.index(each) for each in pin.queries if each in rows)
    keys = tuple(columns.index(each) for each in pin.keys if each in columns)
    return Pin(queries, keys) if queries or keys else None


def _axis(run: Run, tokens: range) -> TokenAxis:
    return TokenAxis(run.labels[tokens.start : tokens.stop], (BOTH,) * len(tokens), first=tokens.start)
