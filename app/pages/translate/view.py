"""Translations by encoder-decoders, the attention of their heads, and the beam search trees."""

from dataclasses import replace
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Listed, Switch
from headlight.app.pages.translate import beams, heads, text, why
from headlight.app.pages.translate.choices import Choices
from headlight.app.parts import grid, options
from headlight.app.parts.markdown import plain
from headlight.model.decoding.translation import Attends, Translation
from headlight.model.decoding.translations import Rows, Translations

ATTENDS: dict[Attends, str] = {
    "cross": "target → source (cross)",
    "decoder": "target → target",
    "encoder": "source → source",
}
ROWS: dict[Rows, str] = {"written": "token it writes", "read": "token it reads"}


def render(translations: Translations) -> None:
    """The outputs, the strips, the grid of all heads, the chosen ones, why a token was written, and the beams."""
    _options(translations.a)
    is_table = selection.current().table
    is_first = is_table or translations.a.reads_source
    if is_first:
        text.draw(translations)
    (heads.as_tables if is_table else heads.pictures)(translations)
    if not is_first:
        text.draw(translations)
    why.draw(translations)
    _say_what_is_common(translations)
    beams.draw(translations)


def _say_what_is_common(translations: Translations) -> None:
    """One line for the heads that only one of two models has."""
    attends = selection.current().choices_of(Choices).attends
    counts = {side: each.attention[attends].pattern.shape[:2] for side, each in translations.sides.items()}
    if len(set(counts.values())) > 1:
        said = " and ".join(f"{side} {layers} layers of {n_heads} heads" for side, (layers, n_heads) in counts.items())
        st.caption(plain(f"Here {said}: the heads that both have are shown."))


def _options(translation: Translation) -> None:
    reads_source = translation.reads_source
    languages = () if reads_source else translation.offered_languages
    offered = {"": "model's default", **{name: name for name in languages}}
    from_to = [
        options.bind(
            Listed,
            f"{side}_language",
            f"{side.capitalize()} language",
            change=_translate_anew,
            options=offered,
            width=130,
        )
        for side in ("source", "target")
        if len(offered) > 1
    ]
    rows = options.bind(Choice, "rows", "Label rows by the", page=Choices, options=ROWS, folded=True)
    options.row(
        *from_to,
        options.bind(Choice, "attends", "Attention", page=Choices, options=ATTENDS),
        rows if selection.current().choices_of(Choices).attends == "cross" and not reads_source else None,
        options.bind(Choice, "scale", **grid.CHOICES["scale"]),
        options.as_tables(),
        options.bind(Switch, "own_scale", "Scale per head", folded=True),
    )


def _translate_anew(_: object, **languages: Any) -> None:
    selection.ask(replace(selection.current(), **languages, branch=None, branch_b=None))
