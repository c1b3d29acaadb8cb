"""Model, prompt, BOS switch and run; a second prompt and model beside them; and the example prompts."""

from dataclasses import replace

import streamlit as st

from app import bars, models, prompts, selection
from app.components import Option, Switch
from app.glossary import TERMS


def draw() -> None:
    """The prompt bar, with the examples under it."""
    selection.fill_bars()
    with st.form("headlight.bar", border=False):
        if selection.comparing():
            _two()
        else:
            _one()
    selection.submit_late()
    bars.line_under(
        prompts.examples(),
        _open,
        bars.SideB(
            selection.comparing(),
            "Add a second prompt or model: every page then shows A, B and the difference.",
            selection.compare,
            selection.compare_no_more,
            selection.swap,
        ),
    )


def _one() -> None:
    _prompt("prompt", "Prompt")
    with bars.line():
        chosen = bars.row("chosen", _model("model", "Model"), _bos())
        bars.run_button(_submit, chosen)


def _two() -> None:
    sides = []
    for column, side, field in zip(st.columns(2, gap="medium"), "AB", ("", "_b"), strict=True):
        with column:
            _prompt(f"prompt{field}", f"Prompt {side}")
            sides.append(bars.row(f"chosen{side}", _model(f"model{field}", f"Model {side}")))
    with bars.line():
        both = bars.row("chosen", bars.alignment("align"), _bos())
        bars.hint("model", "prompt")
        bars.run_button(_submit, *sides, both)


def _prompt(name: str, label: str) -> None:
    st.text_area(
        label,
        key=selection.widget_key(name),
        height=68,
        placeholder="Type a sentence",
        label_visibility="visible" if selection.comparing() else "collapsed",
    )


def _model(field: str, label: str) -> Option:
    return bars.model_list(
        field,
        label,
        models.offered_models(),
        "Pick a model, or type a folder, a .safetensors file or a name on the Hugging Face hub. The weights of "
        "teach-… were written by hand, so that what every head does is known.",
    )


def _bos() -> Option:
    return bars.option(Switch, "bos", "BOS token", help=TERMS["bos"])


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
