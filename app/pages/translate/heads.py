"""The heads' attention between source and target, of A, of B and of B - A, on the axes that they have in common."""

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import (
    HeadPanel,
    HeadPanels,
    HeadPattern,
    Pin,
    Switch,
    TokenAxis,
    TokenStrip,
    encode_weights,
    heads,
    token_strip,
)
from headlight.app.pages.translate import finding
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import grid, options
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import SIDES
from headlight.app.parts.tables import CELL, of_pattern
from headlight.app.runs.thumbnails import Thumbnails, farthest_from_zero, largest, scale_end
from headlight.app.selection.chosen import Selection
from headlight.model.attention.axis import Axis
from headlight.model.decoding.translation import Attends, Translation
from headlight.model.decoding.translations import Rows, Translations, clearest
from headlight.model.measure.difference import Side
from headlight.model.runs.edits import Head, head_name

FIRST_HEADS = 3


def chosen_of(translations: Translations, chosen: Selection) -> tuple[Head, ...]:
    """The chosen heads, or those worth a first look."""
    own = chosen.choices_of(Choices)
    return clearest(translations, own.attends, FIRST_HEADS) if own.pair_heads is None else own.pair_heads


def token_axes(translations: Translations, attends: Attends, rows: Rows) -> tuple[TokenAxis, TokenAxis | None]:
    """The axes for the components; columns of their own only where they are other tokens."""
    down, across = (TokenAxis(axis.labels, axis.presence) for axis in translations.axes(attends, rows))
    return down, across if attends == "cross" else None


def pictures(translations: Translations) -> None:
    """The strips of tokens, the grid of all heads and the chosen ones."""
    now = selection.current()
    own = now.choices_of(Choices)
    rows, across = token_axes(translations, own.attends, own.rows)
    group = f"pair-{own.attends}"
    strip, _, all_heads, large = grid.places(translations.b is not None, translations.shape(own.attends))
    with all_heads:
        chosen = _grid(translations, group)
    with large:
        if not chosen:
            grid.say_none_is_chosen()
            return
        panels = [panel(translations, head, own.attends, own.rows) for head in chosen]
        _heads(panels, rows, across, group)
    with strip:
        finding.draw(translations, chosen[0])
        caption = finding.CAPTION.format(head=head_name(chosen[0]))
        shown = TokenStrip(rows, panels[0], columns=across, scale=now.scale, caption=caption)
        token_strip(shown, key=selection.widget_key(f"strip.{own.attends}"), group=group)


def _grid(translations: Translations, group: str) -> tuple[Head, ...]:
    with title_row("All heads", "attention", "head", how=grid.HOW_TO_CHOOSE, key="translate_heads"):
        if translations.b is not None:
            options.row(grid.side_option(True), _sorting(), name="grid", title="Sorting")
    now, side = selection.current(), grid.side_of(translations.b is not None)
    own = now.choices_of(Choices)
    before = chosen_of(translations, now)
    order, captions = (None, None) if translations.b is None else _by_divergence(translations)
    seen = thumbnails(translations, side, own.attends, own.rows)
    chosen = grid.draw(
        grid.pictures(seen),
        "attention weight",
        translations.b is not None,
        before,
        f"grid.{group}",
        group,
        order=order,
        figures=captions if order else None,
        captions=None if captions is None else [[f"JS(A, B) {each} nats" for each in line] for line in captions],
    )
    if chosen != before:
        selection.update(Choices, pair_heads=chosen)
    return chosen


def _sorting() -> Switch:
    return options.tie(
        Switch,
        "pair_sort",
        "Sort by JS divergence of A and B",
        selection.current().sort == "divergence",
        lambda on: selection.update(sort="divergence" if on else "place"),
        folded=True,
    )


def _by_divergence(translations: Translations) -> tuple[list[Head] | None, list[list[str]]]:
    """The heads by the divergence of their patterns between A and B, if that order is chosen, with the divergences."""
    now = selection.current()
    own = now.choices_of(Choices)
    values = translations.divergence(own.attends, own.rows).values.numpy()
    order = [divmod(int(place), values.shape[1]) for place in np.argsort(-values, axis=None, kind="stable")]
    return order if now.sort == "divergence" else None, [[f"{value:.3g}" for value in layer] for layer in values]


def thumbnails(translations: Translations, side: Side, attends: Attends, rows: Rows) -> Thumbnails:
    """Every head's picture: of each bin the largest cell, of a difference the one farthest from zero."""
    signed = side == "difference"
    values = (farthest_from_zero if signed else largest)(translations.cells(side, attends, rows)).numpy()
    return Thumbnails(values, scale_end(float(np.nanmax(np.abs(values), initial=0))) if signed else 1.0, signed)


def panel(translations: Translations, head: Head, attends: Attends, rows: Rows) -> HeadPanel:
    """One head as the browser draws it, in A, or in A and B on their common axes."""
    down, across = translations.axes(attends, rows)
    coded = [_coded(each, head, attends, down, across, at) for at, each in enumerate(translations.sides.values())]
    return HeadPanel(coded[0], coded[1] if translations.b is not None else None)


def _coded(translation: Translation, head: Head, attends: Attends, down: Axis, across: Axis, at: int) -> HeadPattern:
    attended = translation.attention[attends]
    return HeadPattern(
        *head,
        weights=encode_weights(attended.pattern[head].numpy(), attended.masked.numpy()),
        logsumexp=attended.logsumexp[head].numpy(),
        write_norms=attended.write_norms[head].numpy(),
    ).on_axis(down.positions[at], across.positions[at])


def _heads(panels: list[HeadPanel], rows: TokenAxis, across: TokenAxis | None, group: str) -> None:
    now = selection.current()
    own = now.choices_of(Choices)
    before = Pin(own.pair_queries, own.pair_keys) if own.pair_queries or own.pair_keys else None
    pin = heads(
        HeadPanels(
            panels,
            rows,
            columns=across,
            scale=now.scale,
            own_scale=now.own_scale,
            title=grid.chosen_title("target token" if now.choices_of(Choices).attends == "decoder" else "source token"),
        ),
        pinned=before,
        epoch=selection.epoch(),
        key=selection.widget_key(f"heads.{own.attends}"),
        group=group,
    )
    if pin != before:
        selection.update(Choices, pair_queries=pin.queries if pin else (), pair_keys=pin.keys if pin else ())


def as_tables(translations: Translations) -> None:
    """The chosen heads' cells."""
    now = selection.current()
    own = now.choices_of(Choices)
    down, across = translations.axes(own.attends, own.rows)
    for layer, head in chosen_of(translations, now):
        for side in list(SIDES)[: 1 if translations.b is None else None]:
            called = f"{head_name((layer, head))}{'' if translations.b is None else f' {SIDES[side]}'}"
            heading(called)
            st.caption("Attention weight. Row: query. Empty: masked or absent.")
            cells = translations.cells(side, own.attends, own.rows)[layer, head].numpy()
            columns = of_pattern(cells, down.labels, across.labels)
            st.dataframe(
                columns,
                column_config={name: CELL for name in columns if name},
                hide_index=True,
                alt=f"attention weight of {called}: row: query, column: key",
            )
