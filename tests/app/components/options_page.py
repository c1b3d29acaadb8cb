"""A Streamlit page with an option of each kind, and under it what Python has of each."""

from functools import partial
from typing import Any

import streamlit as st

from headlight.app.components import (
    Button,
    Choice,
    Link,
    Listed,
    Number,
    Option,
    Several,
    Slider,
    Switch,
    Text,
    option_row,
)
from tests.app.components.options import BEGUN, FRUIT, GROUPS, HELP, SIZES

st.set_page_config(layout="wide")
now: dict[str, Any] = st.session_state.setdefault("now", dict(BEGUN))


def note(name: str, value: Any) -> None:
    """What the user has chosen, but for a name that is refused."""
    if value != "refused":
        now[name] = value


def press(_: None) -> None:
    """One more time."""
    now["press"] += 1


def bound(kind: type[Option], name: str, label: str, **look: Any) -> Option:
    """An option that holds what Python has under its name."""
    return kind(name, label, now[name], partial(note, name), **look)


of_large = [Switch("whole", "Whole", True, lambda on: None)] if now["size"] == 3 else []
option_row(
    [
        *of_large,
        bound(Choice, "size", "Size", options=SIZES, help=HELP),
        bound(Listed, "fruit", "Fruit", options=FRUIT, groups=GROUPS),
        bound(Several, "basket", "Basket", options=FRUIT, placeholder="empty"),
        bound(Switch, "ripe", "Ripe"),
        bound(Text, "name", "Name", placeholder="nameless"),
        bound(Number, "count", "Count", least=1, most=9),
        bound(Number, "most", "At most", least=1, most=9, placeholder="no end"),
        bound(Slider, "weight", "Weight", least=0.0, most=2.0, step=0.05),
        Button("press", "Press", None, press, help="Counts.", disabled=now["ripe"]),
    ],
    key="row",
)
option_row([Link("also", f"After {now['press']}", None, press)], key="line")
st.button("Call it Joe", on_click=lambda: now.update(name="Joe"))
st.text(" ".join(f"{name}={value!r}" for name, value in now.items()))
