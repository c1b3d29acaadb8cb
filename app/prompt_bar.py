"""Model, prompt, BOS switch and run; a second prompt and model beside them; and the example prompts."""

from dataclasses import replace

import streamlit as st

from app import models, prompts, selection, tour
from app.glossary import TERMS

ALIGN = {"tokens": "same tokens", "position": "same position"}


def draw() -> None:
    """The prompt bar, with the examples under it."""
    selection.fill_bars()
    with st.form("headlight.bar", border=False):
        if selection.comparing():
            _two()
        else:
            _prompt("prompt", "Prompt")
            with st.container(horizontal=True, vertical_alignment="center", key="headlight-bar"):
                _model_list("model", "Model")
                _bos_and_run()
    selection.submit_late()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="headlight-examples"):
        _examples()
        st.space("stretch")
        _compare()
        tour.draw()


def _two() -> None:
    for column, side, field in zip(st.columns(2, gap="medium"), "AB", ("", "_b"), strict=True):
        with column:
            _prompt(f"prompt{field}", f"Prompt {side}")
            _model_list(f"model{field}", f"Model {side}")
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-bar"):
        st.radio(
            "Lay side by side",
            list(ALIGN),
            format_func=ALIGN.__getitem__,
            key=selection.widget_key("align"),
            horizontal=True,
            label_visibility="collapsed",
            help=TERMS["align"],
        )
        _bos_and_run()


def _prompt(name: str, label: str) -> None:
    st.text_area(
        label,
        key=selection.widget_key(name),
        height=68,
        placeholder="Type a sentence",
        label_visibility="visible" if selection.comparing() else "collapsed",
    )


def _bos_and_run() -> None:
    st.toggle("BOS token", key=selection.widget_key("bos"), help=TERMS["bos"])
    st.form_submit_button("Run", type="primary", on_click=_submit, shortcut="Mod+Enter")


def _submit() -> None:
    """Ask for what stands in the bar; a model chosen without another prompt brings its own, if it has one."""
    if not selection.forgotten():
        _bring_prompt()
    selection.submit()


def _bring_prompt() -> None:
    now, held, prompt = selection.current(), st.session_state, selection.widget_key("prompt")
    model = held[selection.widget_key("model")]
    own = prompts.own_prompt(model)
    if own and model != now.model and held[prompt] == now.prompt and not selection.comparing():
        held[prompt] = own


def _model_list(name: str, label: str) -> None:
    key = selection.widget_key(name)
    st.selectbox(
        label,
        dict.fromkeys((*models.offered_models(), st.session_state[key])),
        key=key,
        accept_new_options=models.any_model_allowed(),
        placeholder="Choose a model",
        label_visibility="collapsed",
        help="Pick a model, or type a folder, a .safetensors file or a name on the Hugging Face hub. The weights of "
        "teach-… were written by hand, so that what every head does is known.",
        width=280,
    )


def _compare() -> None:
    """One button opens B and closes it again, so that the keyboard's focus stays on it."""
    comparing = selection.comparing()
    st.button(
        "Close B" if comparing else "Compare A | B",
        key=selection.widget_key("compare"),
        type="tertiary",
        icon=":material/close:" if comparing else ":material/compare:",
        on_click=selection.compare_no_more if comparing else selection.compare,
        help="Go on with A alone."
        if comparing
        else "Add a second prompt or model: every page then shows A, B and the difference.",
    )
    if comparing:
        st.button("Swap A and B", key=selection.widget_key("swap"), type="tertiary", on_click=selection.swap)


def _examples() -> None:
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
    """What to look at, if the prompt is one of the examples and this the page that it is an example of."""
    for example in prompts.examples():
        if example.prompt == prompt and example.view == selection.page():
            st.caption(f"**What to look at.** {example.look_at}")


def _open(example: prompts.Example) -> None:
    now = selection.current()
    chosen = selection.Selection(
        model=example.model or now.model,
        prompt=example.prompt,
        prompt_b=example.prompt_b,
        bos=now.bos or bool(example.model),  # those written by hand rest on it
        heads=example.heads,
    )
    selection.ask(replace(chosen, scale=now.scale, measure=now.measure), page=example.view)
