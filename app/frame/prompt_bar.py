"""Model, prompt, BOS switch and run; a second prompt and model beside them; and the example prompts."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Listed, Option, Switch
from headlight.app.frame import bars
from headlight.app.frame.edits import drawer
from headlight.app.glossary import TERMS
from headlight.app.runs import models, prompts
from headlight.app.selection import PROMPT_BAR, Selection
from headlight.app.selection.choices import Change
from headlight.app.server.settings import settings
from headlight.model.text.chat import Begin

BEGINNINGS: dict[Begin, str] = {True: "BOS token", "chat": "chat template", False: "nothing"}


def draw() -> None:
    """The prompt bar: one line, or one for A and one for B."""
    bars.draw(_BAR)


def menus() -> DeltaGenerator:
    """The row of menus under the bar; returns its beginning, for what was run."""
    return bars.menus(_BAR, prompts.examples(), _open, drawer.link())


def _prompt(side: str, field: str) -> None:
    bars.text(f"prompt{field}", f"Prompt{side}", "Type a sentence")


def _model(side: str, field: str) -> Option:
    return bars.model_list(
        f"model{field}",
        f"Model{side}",
        models.offered_models(),
        "Pick a model, or type a folder, a .safetensors file or a name on the Hugging Face hub. The weights of "
        "teach-… were written by hand, so that what every head does is known.",
    )


def _begin() -> Option:
    """What prompts begin with: more than yes or no where a model may know conversations, or one was asked for."""
    now, held = selection.current(), st.session_state[selection.bar_key("bos")]
    if held == "chat" or any(map(models.may_know_chat, filter(None, (now.model, now.model_b)))):
        return bars.option(Listed, "bos", "Begin with", help=TERMS["begin"], options=BEGINNINGS, width=140)
    return bars.option(Switch, "bos", "BOS token", help=TERMS["bos"])


def _submit() -> None:
    """Ask for what stands in the bar; a model chosen without another prompt brings its own, if it has one."""
    if not selection.forgotten():
        _bring_prompt()
    selection.submit(PROMPT_BAR)


def _bring_prompt() -> None:
    now, held, prompt = selection.current(), st.session_state, selection.bar_key("prompt")
    model = held[selection.bar_key("model")]
    own = prompts.own_prompt(model)
    if own and model != now.model and held[prompt] == now.prompt and not selection.comparing(PROMPT_BAR):
        held[prompt] = own


_BAR = bars.Bar(
    PROMPT_BAR,
    "Add a second prompt or model: every page then shows A, B and the difference.",
    _prompt,
    _model,
    _begin,
    _submit,
)


def look_at(prompt: str) -> str:
    """What to look at, if the prompt is one of the examples and this the page that it is an example of."""
    shown = (each.look_at for each in prompts.examples() if each.prompt == prompt and each.view == selection.page())
    return next(shown, "")


def on_default(asked: Selection) -> Selection:
    """What was asked, on the model that the server opens with."""
    return replace(asked, model=settings().model, model_b="", bos=bool(asked.bos))


def _open(example: prompts.Example) -> None:
    now = selection.current()
    chosen = Selection(
        model=example.model or now.model,
        prompt=example.prompt,
        prompt_b=example.prompt_b,
        bos=bool(example.model) or now.bos,  # those written by hand rest on it
        heads=example.heads,
    )
    stays = now.after(Change(example=True))
    selection.ask(replace(chosen, scale=stays.scale, choices=stays.choices), page=example.view)
