"""The session's selections: the active one, the pending one, and the widgets that change them.

The page is drawn from the selection alone. Widgets change it in their callbacks, before the script runs; components
report what they hold when they are drawn.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from headlight.app.selection.bars import BARS, PROMPT_BAR, SOURCE_BAR, BarFields, in_b
from headlight.app.selection.choices import Change, PageChoices
from headlight.app.selection.chosen import Selection
from headlight.app.selection.links import changed

_KEYS = "headlight."
_TYPED = tuple(name for bar in BARS for name in bar.typed)
_ASKED = tuple(name for bar in BARS for name in bar.names)
READ = tuple(name for bar in BARS for name in (bar.text, in_b(bar.text)))


@dataclass
class _Session:
    active: Selection | None = None
    pending: Selection | None = None
    refused: Selection | None = None
    refusal: str = ""
    linked: bool = False
    by_link: bool = False
    unread: tuple[str, ...] = ()
    withheld: tuple[Selection, str] | None = None
    comparing: set[BarFields] = field(default_factory=set)
    late: bool = False
    epoch: int = 0
    asks: int = 0
    pages: Sequence[str] = ()
    page: str = ""
    tied: set[str] = field(default_factory=set)


def _session() -> _Session:
    session: _Session | None = st.session_state.get("headlight")  # read once: a page asks a hundred times
    if session is None:
        session = st.session_state["headlight"] = _Session()
    return session


def forgotten() -> bool:
    """Whether the server has lost this session since its page was drawn, as it does when caches are cleared.

    The widgets' callbacks still come, but cannot read the widgets. The page is then drawn anew from its URL.
    """
    return "headlight" not in st.session_state or _session().late


def by_link() -> bool:
    """Whether the session began with a link to something other than the start page."""
    return _session().by_link


def arrived() -> bool:
    """Whether the page has been drawn from its URL since the session began; the server may have forgotten it since."""
    return bool(_session().pages)


def ask(selection: Selection, page: str = "") -> None:
    """Request this selection: run it and, if that works, activate it (on another page if one is named)."""
    session = _session()
    session.pending, session.refused, session.refusal = selection, None, ""
    session.page = page or session.page
    session.linked, session.unread, session.withheld = False, (), None
    session.epoch += 1
    session.asks += 1
    session.tied.clear()
    session.comparing = {bar for bar in BARS if bar.has_b(selection)}
    for name in _ASKED:
        st.session_state.pop(bar_key(name), None)
    fill_bars()


def fill_bars() -> None:
    """Restore the bars' values: a page without the bars has made the server forget them.

    What an encoder-decoder reads is left to its page until something was chosen.
    """
    for bar in BARS:  # Streamlit forgets a text with a page that lacks its box, and what stands beside it goes with it
        for name in bar.beside if bar_key(bar.text) not in st.session_state else ():
            st.session_state.pop(bar_key(name), None)
    now = _session().pending or current()
    values = {name: getattr(now, name) for name in _ASKED}
    values |= {in_b(bar.model): values[in_b(bar.model)] or values[bar.model] for bar in BARS}
    values |= {name: values[name] or "" for name in _TYPED if name != "source"}
    for name, value in values.items():
        left_open = value == getattr(Selection, name) and name in ("translator", "source", "translator_b")
        if bar_key(name) not in st.session_state and not left_open and not (_session().late and name in _TYPED):
            st.session_state[bar_key(name)] = value


def submit_late() -> None:
    """Submit input typed into a forgotten session, once the bar is drawn again and has received it.

    The bar then has to be drawn once more, or it would show the URL's.
    """
    session = _session()
    if not session.late:
        return
    if session.pending is not None:
        keys = {name: bar_key(name) for name in (*_TYPED, "model", "bos")}
        drawn = {name: st.session_state[key] for name, key in keys.items() if key in st.session_state}
        for bar in BARS:
            if bar not in session.comparing:
                drawn.pop(in_b(bar.text), None)
        drawn |= {name: drawn[name] or None for name in ("translation", "translation_b") if name in drawn}
        session.pending = replace(session.pending, **drawn)
    session.late = False
    st.rerun()


def ask_instead(wanted: Selection, page: str = "") -> None:
    """Submit a selection, as `ask`, without choices that only the present one gives a meaning."""
    now = current()
    change = Change(
        model=wanted.model != now.model,
        prompt=_differ(wanted, now, PROMPT_BAR.names),
        translator=wanted.translator != now.translator,
        source=_differ(wanted, now, SOURCE_BAR.names),
    )
    wanted = wanted.after(change)
    if change.model:
        wanted = replace(wanted, heads=None, dictionary="", feature=None, neuron=None)
    if wanted.compares != now.compares:
        wanted = replace(wanted, side=None, sort="place" if wanted.sort == "divergence" else wanted.sort)
    if change.prompt:
        wanted = replace(wanted, queries=(), keys=(), layer=None, position=None)
    if change.source:
        wanted = replace(wanted, branch=None, branch_b=None)
    ask(wanted, page)


def _differ(wanted: Selection, now: Selection, names: tuple[str, ...]) -> bool:
    """Whether another run is needed; empty texts are never run, and their choices came with a link."""
    return any(
        getattr(wanted, name) != getattr(now, name) and not (name in READ and getattr(now, name) == "")
        for name in names
    )


def accept(selection: Selection) -> None:
    """Activate the pending selection after its run, without parts that the run lacks."""
    session = _session()
    if session.linked and session.pending is not None:
        session.unread += _missing(session.pending, selection)
    session.linked, session.active, session.pending = False, selection, None


def _missing(wanted: Selection, accepted: Selection) -> tuple[str, ...]:
    """The names of requested fields that are missing, in whole or in part."""
    there = changed(accepted)
    return tuple(name for name, value in changed(wanted).items() if there.get(name) != value)


def refuse(reason: str) -> None:
    """Reject the pending selection, which cannot be run; the active one stays."""
    session = _session()
    session.refused, session.pending, session.refusal = session.pending, None, reason


def update(page: type[PageChoices] | None = None, /, **chosen: Any) -> None:
    """Store the user's choice in a component, of a shared field or of a page's option."""
    session = _session()
    session.active = current().updated(page, **chosen)


def choose(page: type[PageChoices] | None = None, /, **chosen: Any) -> None:
    """Set values that components hold, by the page rather than by the user."""
    update(page, **chosen)
    _session().epoch += 1


def current() -> Selection:
    """The active selection; before the first, the pending one, even if it was refused."""
    session = _session()
    return session.active or session.pending or session.refused or Selection()


def active() -> Selection | None:
    """The selection whose run is on the page; None before the first."""
    return _session().active


def pending() -> Selection | None:
    """The selection that waits to be run."""
    return _session().pending


def refused() -> Selection | None:
    """The last requested selection, if it could not be run."""
    return _session().refused


def refusal() -> str:
    """Why the last requested selection is not active; empty when it is."""
    return _session().refusal


def unread() -> tuple[str, ...]:
    """Names of the URL's parameters that could not be read, or that refer to missing parts."""
    return _session().unread


def withheld() -> Selection | None:
    """Parts of a link that need the user's consent first."""
    waiting = _session().withheld
    return waiting and waiting[0]


def ask_withheld() -> None:
    """Submit a link's selection, to which its user has agreed."""
    session = _session()
    if session.withheld is not None:
        unread = session.unread
        ask(*session.withheld)
        session.linked, session.unread = True, unread


def ask_linked(linked: Selection, unasked: Selection, page: str) -> None:
    """Submit a link's selection: what of it needs no consent at once, and all of it once its user has agreed."""
    ask(unasked, page)
    if linked != unasked:
        _session().withheld = linked, page


def leave_withheld() -> None:
    """Continue without the sources of the link."""
    _session().withheld = None


def page() -> str:
    """The current page."""
    return _session().page


def turn_to(page: str) -> None:
    """Show the same selection on another page."""
    session = _session()
    if page != session.page:
        session.page, session.epoch = page, session.epoch + 1


def epoch(*subject: Hashable) -> int:
    """Number that changes whenever the server, not the browser, has changed the components' values or their subject.

    A table of other rows is one of something else: a place in it means another row.
    """
    return hash((_session().epoch, *subject)) % 2**32 if subject else _session().epoch


def asks() -> int:
    """Grows with each requested selection: unsent text in the bars then gives way."""
    return _session().asks


def widget_key(name: str) -> str:
    """The key of the widget or component that holds one field, or one part of the page."""
    return f"{_KEYS}{name}"


def bar_key(name: str) -> str:
    """Key of a field's option in a bar.

    A text that may be left empty stands behind a button, where Streamlit lets it hear of no other value: it is a new
    box for each requested selection.
    """
    return widget_key(f"{name}.{asks()}" if name in _TYPED and name not in READ else name)


def bind(name: str, page: type[PageChoices]) -> dict[str, Any]:
    """The arguments that tie a widget to one of a page's options: its key, and the callback that notes a change.

    What the browser holds is not always what the server believes: a run that is stopped may have sent it something else
    that came late. So a widget gets its value anew after each requested selection.
    """
    value, key, tied = getattr(current().choices_of(page), name), widget_key(name), _session().tied
    if key not in tied or st.session_state.get(key) != value:
        tied.add(key)
        st.session_state[key] = value

    def note() -> None:
        if not forgotten():
            update(page, **{name: st.session_state[key]})

    return {"key": key, "on_change": note}
