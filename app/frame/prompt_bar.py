"""Model, prompt, BOS switch and run; a second prompt and model beside them; and the example prompts."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import Listed, Option, Switch
from headlight.app.frame import bars, conversation, hint, trust
from headlight.app.frame.edits import drawer
from headlight.app.glossary import TERMS
from headlight.app.runs import models, prompts
from headlight.app.selection import PROMPT_BAR, Selection
from headlight.app.server.settings import settings
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin, is_begun, is_literal

FIRST_PAGE = "attention"
BEGINNINGS: dict[Begin, str] = {True: "BOS token", "chat": "chat template", False: "nothing"}
AS_TEXT: dict[Begin, str] = {"bos_literal": "BOS, all as text", "literal": "all as text"}


def draw() -> None:
    """The prompt bar: one line, or one for A and one for B."""
    bars.draw(_BAR)


def menus() -> DeltaGenerator:
    """Row of menus under the bar; returns the beginning of the prompts that were run."""
    return bars.menus(_BAR, prompts.examples(), open_example, drawer.link())


def _prompt(side: str, field: str) -> Callable[[], None]:
    return conversation.draw(side, field) or bars.text(f"prompt{field}", f"Prompt{side}", "Type a sentence")


def _model(side: str, field: str) -> Option:
    return bars.model_list(
        f"model{field}",
        f"Model{side}",
        models.offered_models(),
        "Pick a model, or type a folder, a .safetensors or .gguf file or a name on the Hugging Face hub. The weights "
        "of teach-… were written by hand, so that what every head does is known. "
        + " ".join(f"{name} is a real model, {label}." for name, label in models.list_labels().items()),
        models.list_labels(),
    )


def _begin() -> Option:
    """Beginning of prompts: more than yes or no where a model has a chat template, or one was chosen."""
    now = selection.pending() or selection.current()  # a model that is about to be opened has its template at once
    begins = st.session_state[selection.bar_key("bos")]
    knows_chat = begins == "chat" or any(map(models.may_know_chat, filter(None, (now.model, now.model_b))))
    if knows_chat or is_literal(begins):
        chat = {begin: name for begin, name in BEGINNINGS.items() if knows_chat or begin != "chat"}
        options = chat | (AS_TEXT if is_literal(begins) else {})
        return bars.option(Listed, "bos", "Begin with", help=TERMS["begin"], options=options, width=140)
    return bars.option(Switch, "bos", "BOS token", help=TERMS["bos"])


def _submit() -> None:
    """Submit the bar's input; a model with a small vocabulary, chosen without another prompt, brings its own."""
    if not selection.forgotten():
        _bring_prompt()
        if st.session_state[selection.bar_key("bos")] != "chat":
            conversation.leave_template()
    selection.submit(PROMPT_BAR)


def _bring_prompt() -> None:
    now, state, prompt = selection.current(), st.session_state, selection.bar_key("prompt")
    model = state[selection.bar_key("model")]
    is_new = model != now.model and state[prompt] == now.prompt and not selection.comparing(PROMPT_BAR)
    if is_new and models.heads_by_hand(model):
        state[prompt] = prompts.first_prompt(model)


_BAR = bars.Bar(
    PROMPT_BAR,
    "Add a second prompt or model: every page then shows A, B and the difference.",
    _prompt,
    _model,
    _begin,
    _submit,
)


def look_at(comparison: Comparison) -> str:
    """Hint for the prompt, if it is the example that the user opened and this is its page.

    Of one that nobody opened the page's finding says enough. Else, on the first page, what the model is good for, if it
    comes with Headlight.
    """
    prompt_b = None if comparison.b is None or comparison.b.edits else comparison.b.prompt
    example_key = comparison.a.prompt, prompt_b, selection.page()
    examples = [each for each in prompts.examples() if (each.prompt, each.prompt_b, each.view) == example_key]
    about_model = trust.in_a_line(comparison.a.source) if selection.page() == FIRST_PAGE and not examples else ""
    return next(filter(None, (_look_at(each, comparison.a) for each in examples if hint.is_opened(each))), about_model)


def _look_at(example: prompts.Example, run: Run) -> str:
    """Hint of an example, where it holds for this run: in its own model or in another language model."""
    if example.model == run.source.name and run.bos is True:
        return hint.of_example(example, run.source.name)
    by_hand = any(map(models.heads_by_hand, (example.model, run.source.name)))
    return "" if by_hand or run.cfg.attention_dir != "causal" else hint.of_example(example, run.source.name)


def on_default(chosen: Selection) -> Selection:
    """The same selection on the server's default model."""
    return replace(chosen, model=settings().model, model_b="", bos=is_begun(chosen.bos))


def offer() -> None:
    """The first example of the model, or of all."""
    of_model = (example for example in prompts.examples() if example.model == selection.current().model)
    first = prompts.examples()[0]
    example = next(of_model, first)
    slug = example.view if example == first else ""
    bars.offer("Where do the heads of a model look?", example, open_example, slug)


def open_example(example: prompts.Example) -> None:
    """Open an example as it is described: on its page, in its model, with default settings but the colours' scale."""
    chosen = Selection(
        model=example.model,
        prompt=example.prompt,
        prompt_b=example.prompt_b,
        heads=example.heads,
        scale=selection.current().scale,
    )
    hint.remember(example, selection.current().model)
    selection.ask(chosen, page=example.view)
