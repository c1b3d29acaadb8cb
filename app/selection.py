"""All that the user has chosen: one frozen value, to the page's URL and back without loss, and the widgets' keys.

The page is drawn from the selection alone. Widgets change it in their callbacks, before the script runs; components
report what they hold when they are drawn. A URL that the user opens, or goes back to, replaces it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import streamlit as st

Head = tuple[int, int]
Scale = Literal["sqrt", "linear"]
Measure = Literal["top", "target", "rank", "entropy", "kl"]

MAX_HEADS = 6
MAX_URL_PROMPT = 6000  # characters; a longer prompt is left out of the URL, and the page says so
_LEFT_OUT, _NONE = "left_out", "none"


@dataclass(frozen=True)
class Selection:
    """What the user has chosen; None where the page is to choose.

    `heads` are (layer, head). `query` and `key` are the pinned tokens of the attention page, `layer` (0 is the
    embedding) and `position` the cell looked at on the others. `target` is the text of the token that the lens follows.
    """

    model: str = ""
    prompt: str = ""
    bos: bool = True
    heads: tuple[Head, ...] | None = None
    query: int | None = None
    key: int | None = None
    scale: Scale = "sqrt"
    layer: int | None = None
    position: int | None = None
    measure: Measure = "top"
    target: str = ""


def to_query(selection: Selection) -> dict[str, str]:
    """The URL's parameters: every field that is not at its default, but for a prompt too long for a URL."""
    values = {each.name: getattr(selection, each.name) for each in fields(Selection)}
    query = {name: _CODECS[name][0](value) for name, value in values.items() if value != getattr(Selection, name)}
    if not fits_url(selection):
        del query["prompt"]
        query[_LEFT_OUT] = "prompt"
    return query


def fits_url(selection: Selection) -> bool:
    """Whether the prompt is short enough for a URL."""
    return len(selection.prompt) <= MAX_URL_PROMPT


def from_query(query: Mapping[str, str]) -> tuple[Selection, tuple[str, ...]]:
    """The selection that the URL's parameters give, and the names of those that could not be read and were left out."""
    chosen: dict[str, Any] = {}
    unread = [name for name in (query.get(_LEFT_OUT),) if name in _CODECS]
    for name in (name for name in _CODECS if name in query):
        try:
            chosen[name] = _CODECS[name][1](query[name])
        except ValueError:
            unread.append(name)
    return Selection(**chosen), tuple(unread)


def within(selection: Selection, n_layers: int, n_heads: int, n_pos: int) -> Selection:
    """The selection without the heads, layers and positions that this run does not have."""

    def index(value: int | None, size: int) -> int | None:
        return value if value is not None and value < size else None

    heads = selection.heads and tuple(
        (layer, head) for layer, head in selection.heads if layer < n_layers and head < n_heads
    )
    return replace(
        selection,
        heads=None if selection.heads and not heads else heads,
        query=index(selection.query, n_pos),
        key=index(selection.key, n_pos),
        layer=index(selection.layer, n_layers + 1),
        position=index(selection.position, n_pos),
    )


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise ValueError(text)
    return int(text)


def _heads_text(heads: tuple[Head, ...]) -> str:
    return " ".join(f"{layer}.{head}" for layer, head in heads) or _NONE


def _heads(text: str) -> tuple[Head, ...]:
    pairs = [part.split(".") for part in text.split() if text != _NONE]
    heads = tuple(dict.fromkeys((_index(layer), _index(head)) for layer, head in pairs))
    if len(heads) > MAX_HEADS:
        raise ValueError(text)
    return heads


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return parse


_CODECS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    "model": (str, str),
    "prompt": (str, str),
    "bos": (lambda bos: str(int(bos)), lambda text: _one_of("0", "1")(text) == "1"),
    "heads": (_heads_text, _heads),
    "query": (str, _index),
    "key": (str, _index),
    "scale": (str, _one_of(*get_args(Scale))),
    "layer": (str, _index),
    "position": (str, _index),
    "measure": (str, _one_of(*get_args(Measure))),
    "target": (str, str),
}


# The session's side: what is shown, what is asked for, and the widgets that change it.

_KEYS = "headlight."
_IN_PROMPT_BAR = ("model", "prompt", "bos")


@dataclass
class _Session:
    shown: Selection | None = None
    asked: Selection | None = None
    refusal: str = ""
    unread: tuple[str, ...] = ()
    epoch: int = 0
    page: str = ""
    goto: str = ""
    written: dict[str, str] = field(default_factory=dict)
    widgets: dict[str, Any] = field(default_factory=dict)


def _session() -> _Session:
    if "headlight" not in st.session_state:
        st.session_state["headlight"] = _Session()
    return st.session_state["headlight"]


def arrive(page: str, start: Selection) -> None:
    """Take over the URL where the user opened one or went back to one; `start` fills what the first URL lacks.

    A click on another page comes without parameters, and a widget's change may come with those from before the last
    answer, which the browser has yet to hear: neither is a URL that the user chose.
    """
    session, query = _session(), st.query_params.to_dict()
    opened = session.shown is None and session.asked is None and not session.refusal
    went_back = page != session.page or _widgets() == session.widgets
    if opened or (query and query != session.written and went_back):
        selection, unread = from_query(query)
        if "prompt" not in query and "prompt" not in unread:
            selection = replace(selection, prompt=start.prompt)
        ask(selection if selection.model else replace(selection, model=start.model))
        session.unread = unread
    if page != session.page:
        session.page, session.epoch = page, session.epoch + 1


def write_url() -> None:
    """Make the page's URL that of what is shown."""
    session = _session()
    if session.shown is not None:
        session.written, session.widgets = to_query(session.shown), _widgets()
        if session.written != st.query_params.to_dict():
            st.query_params.from_dict(session.written)


def _widgets() -> dict[str, Any]:
    return {str(key): value for key, value in st.session_state.items() if str(key).startswith(_KEYS)}


def ask(selection: Selection, page: str = "") -> None:
    """Have this selection run and, if that works, shown (on another page if one is named)."""
    session = _session()
    session.asked, session.goto, session.refusal, session.unread = selection, page, "", ()
    session.epoch += 1
    for name in _IN_PROMPT_BAR:
        st.session_state[widget_key(name)] = getattr(selection, name)


def submit() -> None:
    """Ask for what stands in the prompt bar; what was chosen stays where it still means something."""
    now = current()
    typed = {name: st.session_state[widget_key(name)] for name in _IN_PROMPT_BAR}
    asked = replace(now, **typed)
    if asked.model != now.model:
        asked = replace(asked, heads=None)
    if asked != now:
        asked = replace(asked, query=None, key=None, layer=None, position=None)
    ask(asked)


def accept(selection: Selection) -> None:
    """What was asked for has been run and is shown from now on."""
    session = _session()
    session.shown, session.asked = selection, None


def refuse(reason: str) -> None:
    """What was asked for cannot be run; what was shown before stays."""
    session = _session()
    session.asked, session.refusal = None, reason


def update(**chosen: Any) -> None:
    """Note what a component reports that the user has chosen in it."""
    session = _session()
    session.shown = replace(current(), **chosen)


def current() -> Selection:
    """The selection that is shown; before the first, the one asked for."""
    session = _session()
    return session.shown or session.asked or Selection()


def shown() -> Selection | None:
    """The selection whose run is on the page; None before the first."""
    return _session().shown


def asked() -> Selection | None:
    """The selection that waits to be run."""
    return _session().asked


def refusal() -> str:
    """Why the last selection asked for is not shown; empty when it is."""
    return _session().refusal


def unread() -> tuple[str, ...]:
    """The names of the URL's parameters that could not be read."""
    return _session().unread


def take_goto() -> str:
    """The page to change to, once."""
    session = _session()
    page, session.goto = session.goto, ""
    return page


def epoch() -> int:
    """Grows whenever the server, not the browser, has changed what the components hold."""
    return _session().epoch


def widget_key(name: str) -> str:
    """The key of the widget or component that holds one field, or one part of the page."""
    return f"{_KEYS}{name}"


def bind(name: str, default: Any = None) -> dict[str, Any]:
    """The arguments that tie a widget to a field: its key, and the callback that notes a change.

    A field that is None shows the default.
    """
    key, value = widget_key(name), getattr(current(), name)
    value = default if value is None else value
    if st.session_state.get(key) != value:
        st.session_state[key] = value
    return {"key": key, "on_change": lambda: update(**{name: st.session_state[key]})}
