"""Model, prompt, BOS switch and run; and the example prompts."""

from dataclasses import replace

import streamlit as st

from app import prompts, runs, selection
from app.glossary import TERMS


def draw() -> None:
    """The prompt bar, with the examples under it."""
    with st.form("headlight.bar", border=False):
        st.text_area(
            "Prompt",
            key=selection.widget_key("prompt"),
            height=68,
            placeholder="Type a sentence",
            label_visibility="collapsed",
        )
        with st.container(horizontal=True, vertical_alignment="center", key="headlight-bar"):
            _model_list()
            st.toggle("BOS token", key=selection.widget_key("bos"), help=TERMS["bos"])
            st.form_submit_button("Run", type="primary", on_click=selection.submit, shortcut="Mod+Enter")
    _examples()


def _model_list() -> None:
    key = selection.widget_key("model")
    st.selectbox(
        "Model",
        dict.fromkeys((*runs.offered_models(), st.session_state[key])),
        key=key,
        accept_new_options=runs.settings().allow_paths,
        placeholder="Choose a model",
        label_visibility="collapsed",
        help="Pick a model, or type a folder, a .safetensors file or a name on the Hugging Face hub.",
        width=280,
    )


def _examples() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="headlight-examples"):
        st.caption("Examples", width="content")
        for example in prompts.examples():
            st.button(
                example.title,
                key=selection.widget_key(f"example.{example.title}"),
                type="tertiary",
                on_click=_open,
                args=(example,),
            )


def look_at(prompt: str) -> None:
    """What to look at, if the prompt is one of the examples."""
    for example in prompts.examples():
        if example.prompt == prompt:
            st.caption(f"**What to look at.** {example.look_at}")


def _open(example: prompts.Example) -> None:
    now = selection.current()
    chosen = selection.Selection(model=now.model, prompt=example.prompt, bos=now.bos, heads=example.heads)
    selection.ask(replace(chosen, scale=now.scale, measure=now.measure), page=example.view)
