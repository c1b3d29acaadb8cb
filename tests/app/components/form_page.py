"""A Streamlit page with a row of options in a form, a button that begins another epoch, and what Python has of each."""

from functools import partial
from typing import Any

import streamlit as st

from headlight.app.components import Number, Suggested, Switch, form_row
from tests.app.components.options import LABELS, OFFERED

st.set_page_config(layout="wide")
now: dict[str, Any] = st.session_state.setdefault("now", {"model": OFFERED[0], "bos": True, "beams": 4, "epoch": 0})


def note(name: str, value: Any) -> None:
    """What the user has chosen."""
    now[name] = value


def run(hear: Any) -> None:
    """The submit's own callback, which rests on what the row has heard."""
    hear()
    now["ran"] = now["model"]


with st.form("form"):
    hear = form_row(
        [
            Suggested(
                "model",
                "Model",
                now["model"],
                partial(note, "model"),
                offered=OFFERED,
                labels=LABELS,
                placeholder="Any",
            ),
            Switch("bos", "BOS", now["bos"], partial(note, "bos")),
            Number("beams", "Beams", now["beams"], partial(note, "beams"), least=1, most=9),
        ],
        key="row",
        epoch=now["epoch"],
    )
    st.form_submit_button("Run", on_click=run, args=(hear,), shortcut="Mod+Enter")
st.button("Again")
st.button("Another epoch", on_click=lambda: note("epoch", now["epoch"] + 1))
st.session_state["drawn"] = st.session_state.get("drawn", 0) + 1
st.text(" ".join(f"{name}={value!r}" for name, value in now.items()))
st.text(f"drawn {st.session_state['drawn']} times")
