"""How to read a page: three sentences with the numbers of its runs, open until they have been read."""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.parts.labels import percent, quoted_word
from headlight.app.parts.markdown import plain
from headlight.model.decoding.translations import Translations

TITLE = "How to read this"
OF_RUN: Mapping[str, Callable[[Any], object]] = {
    "tokens": lambda run: f"{len(run.tokens):,}",
    "layers": lambda run: run.cfg.n_layers,
    "heads": lambda run: f"{run.cfg.n_layers * run.cfg.n_heads:,}",
    "d_model": lambda run: run.cfg.d_model,
    "d_head": lambda run: run.cfg.d_head,
    "neurons": lambda run: f"{run.cfg.d_mlp or 0:,}",
    "vocabulary": lambda run: f"{run.cfg.d_vocab:,}",
    "last": lambda run: quoted_word(run.labels[-1]),
    "output": lambda run: (
        quoted_word(run.outputs.labels([int(run.next_logits.argmax())])[0]) if _predicts(run) else "no token"
    ),
    "chance": lambda run: percent(float(run.next_logits.softmax(-1).max())) if _predicts(run) else "no head",
    "first_norm": lambda run: _norm(run, 0),
    "last_norm": lambda run: _norm(run, run.cfg.n_layers),
}
OF_TRANSLATION: Mapping[str, Callable[[Any], object]] = {
    "source": lambda made: len(made.source_tokens),
    "target": lambda made: len(made.written),
    "first": lambda made: quoted_word(made.written_labels[0]),
}


class _Numbers(dict[str, object]):
    """What a text names, computed when it does."""

    def __init__(self, run: Any, rules: Mapping[str, Callable[[Any], object]]) -> None:
        self.run, self.rules = run, rules

    def __missing__(self, name: str) -> object:
        return self.rules[name](self.run)


def draw(slug: str, text: str, runs: Any, of_body: str = "") -> None:
    """Draw the sentences under a page, open until one has closed them or gone on to another page.

    A model without a head has others, `of_body`, where the page shows something else of it.
    """
    if of_body and not isinstance(runs, Translations) and not _predicts(runs.a):
        text = of_body
    closed: set[str] = st.session_state.setdefault(selection.widget_key("read"), set())
    key, at = (selection.widget_key(f"reading_{place}") for place in (slug, "at"))
    if (before := st.session_state.get(at, slug)) != slug:
        closed.add(before)
    st.session_state[at] = slug

    def note() -> None:
        (closed.discard if st.session_state[key] else closed.add)(slug)

    st.session_state.setdefault(key, slug not in closed)
    with st.expander(TITLE, key=key, on_change=note):
        st.caption(plain(filled(text, runs)))


def filled(text: str, runs: Any) -> str:
    """The sentences with the numbers of run A."""
    return text.format_map(_Numbers(runs.a, OF_TRANSLATION if isinstance(runs, Translations) else OF_RUN))


def _predicts(run: Any) -> bool:
    return bool(run.cfg.output != "none")


def _norm(run: Any, layer: int) -> str:
    return f"{float(run.stream(layer, slice(-1, None)).norm()):.3g}"
