"""What the shapes of a state dict cannot tell, chosen on the page: the answers stand behind the model's name."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import streamlit as st

from headlight.app import selection
from headlight.app.parts.markdown import plain
from headlight.app.runs import models
from headlight.app.selection import Selection

LABELS = {
    "act_fn": "Activation",
    "normalization_type": "Normalization",
    "attention_dir": "Attention",
    "positional_embedding_type": "Positions",
    "attn_scale": "Scores divided by",
    "window_size": "Window",
}
ANSWERS: dict[tuple[str, object], str] = {
    ("attn_scale", None): "sqrt(d_head)",
    ("attn_scale", 1.0): "1",
    ("normalization_type", None): "none",
}
WINDOW = "How many tokens each query sees, itself included; 0 for all of them."
WIDTH = 170  # pixels


def draw(asked: Selection | None) -> None:
    """A form for each model that was asked for and is a state dict with settings left to tell."""
    for field in ("model", "model_b"):
        name = getattr(asked, field, "")
        if asked and name and (questions := models.questions(name)):
            _form(asked, field, name, questions)


def _form(asked: Selection, field: str, name: str, questions: Mapping[str, tuple[object, ...]]) -> None:
    with st.container(key=f"headlight-settings-{field}", border=True):
        st.text(f"{Path(models.base_name(name)).name} as it was trained")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for question, answers in questions.items():
                _ask(field, question, answers)
            st.button(
                "Open with these settings",
                key=selection.widget_key(f"settings_{field}"),
                on_click=_answer,
                args=(asked, field, name, tuple(questions)),
            )


def _ask(field: str, question: str, answers: tuple[object, ...]) -> None:
    label, key = LABELS[question], _key(field, question)
    if question == "window_size":
        st.number_input(plain(label), min_value=0, value=0, key=key, help=WINDOW, width=WIDTH)
    else:
        st.selectbox(plain(label), answers, key=key, format_func=partial(_told, question), width=WIDTH)


def _told(question: str, answer: object) -> str:
    return ANSWERS.get((question, answer), str(answer))


def _answer(asked: Selection, field: str, name: str, questions: tuple[str, ...]) -> None:
    told = {question: st.session_state[_key(field, question)] for question in questions}
    if told.get("window_size") == 0:
        told["window_size"] = None
    selection.ask(asked.updated(**{field: models.answered(name, told)}))


def _key(field: str, question: str) -> str:
    return selection.widget_key(f"settings_{field}_{question}")
