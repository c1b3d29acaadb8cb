"""Settings that a state dict's shapes do not determine, chosen on the page and stored behind the model's name."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.parts.markdown import plain
from headlight.app.runs import models
from headlight.app.selection import Selection

LABELS = {
    "n_heads": "Heads",
    "act_fn": "Activation",
    "normalization_type": "Normalization",
    "attention_dir": "Attention",
    "positional_embedding_type": "Positions",
    "attn_scale": "Scores divided by",
    "window_size": "Window",
    "attn_types": "Layers with the window",
    "eps": "Epsilon of the norms",
    "scale_attn_by_inverse_layer_idx": "Scores divided by the layer's number, too",
    "parallel_attn_mlp": "Attention and MLP in parallel",
    "attn_scores_soft_cap": "Soft cap of scores",
    "output_logits_soft_cap": "Soft cap of logits",
}
ANSWERS: dict[tuple[str, object], str] = {
    ("attn_scale", None): "sqrt(d_head)",
    ("attn_scale", 1.0): "1",
    ("normalization_type", None): "none",
}
WINDOW = "How many tokens each query sees, itself included; 0 for all of them."
WINDOWED = "Where only some layers see no further than the window, as every second one of GPT-Neo's: those."
WIDTH = 170  # pixels


def draw(pending: Selection | None) -> None:
    """A form for each selected model that is a state dict with missing settings."""
    for field in ("model", "model_b"):
        name = getattr(pending, field, "")
        if pending and name and (questions := models.questions(name)):
            _form(pending, field, name, questions)


def _form(pending: Selection, field: str, name: str, questions: models.Questions) -> None:
    with st.container(key=f"headlight-settings-{field}", border=True):
        st.text(f"{Path(models.base_name(name)).name} as it was trained")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for question, answers in questions.required.items():
                _ask(field, question, answers)
        with st.expander("Settings that few models have"), st.container(horizontal=True, vertical_alignment="bottom"):
            for question, default in questions.optional.items():
                _ask_optional(field, question, default, questions.n_layers)
        st.button(
            "Open with these settings",
            key=selection.widget_key(f"settings_{field}"),
            on_click=_answer,
            args=(pending, field, name, questions),
        )


def _ask(field: str, question: str, answers: tuple[object, ...]) -> None:
    label, key = LABELS[question], _key(field, question)
    if question == "window_size":
        st.number_input(plain(label), min_value=0, value=0, key=key, help=WINDOW, width=WIDTH)
    else:
        st.selectbox(plain(label), answers, key=key, format_func=partial(_told, question), width=WIDTH)


def _ask_optional(field: str, question: str, default: Any, n_layers: int) -> None:
    label, key = LABELS[question], _key(field, question)
    if question == "attn_types":
        layers = {layer: f"L{layer}" for layer in range(n_layers)}
        st.multiselect(
            plain(label),
            layers,
            key=key,
            format_func=layers.__getitem__,
            placeholder="all layers",
            help=WINDOWED,
            width=2 * WIDTH,
        )
    elif isinstance(default, bool):
        st.checkbox(plain(label), default, key=key)
    else:
        st.number_input(plain(label), 0.0, value=default, key=key, format="%g", placeholder="none", width=WIDTH)


def _told(question: str, answer: object) -> str:
    return ANSWERS.get((question, answer), str(answer))


def _answer(pending: Selection, field: str, name: str, questions: models.Questions) -> None:
    answers = {each: st.session_state[_key(field, each)] for each in (*questions.required, *questions.optional)}
    if answers.get("window_size") == 0:
        answers["window_size"] = None
    if "attn_types" in answers:
        answers["attn_types"] = _attn_types(answers["attn_types"], questions.n_layers)
    selection.ask(pending.updated(**{field: models.answered(name, _needed(answers, questions))}))


def _attn_types(windowed: list[int], n_layers: int) -> tuple[str, ...] | None:
    """The kind of each layer where some see no further than the window, else None."""
    return tuple("local" if layer in windowed else "global" for layer in range(n_layers)) if windowed else None


def _needed(answers: Mapping[str, Any], questions: models.Questions) -> dict[str, Any]:
    """All required settings, and of the others those that differ from their defaults."""
    required, optional = questions.required, questions.optional
    return {each: value for each, value in answers.items() if each in required or value != optional[each]}


def _key(field: str, question: str) -> str:
    return selection.widget_key(f"settings_{field}_{question}")
