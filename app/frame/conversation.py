"""The prompt of a chat model as the turns of a conversation, in the bar in place of the text."""

from collections.abc import Callable

import streamlit as st

from headlight.app import selection
from headlight.app.components import Turns, turns
from headlight.app.components.turns import Ending
from headlight.app.runs import models
from headlight.app.selection import PROMPT_BAR
from headlight.model.base.errors import InputError
from headlight.model.text.conversation import Conversation, is_conversation_prompt


def draw(side: str, field: str) -> Callable[[], None] | None:
    """The turns of a side's prompt, with what has the bar hear of them; None where the prompt is no conversation."""
    prompt = bar_prompt(field)
    if st.session_state[selection.bar_key("bos")] != "chat" or prompt is None:
        return None
    beside = bar_prompt("") if field else None

    def change(typed: Turns) -> None:
        with_turns = conversation_of(typed)
        if with_turns is not None:
            st.session_state[selection.bar_key(f"prompt{field}")] = with_turns.to_prompt()

    return turns(
        _turns(prompt, _may_think(field)),
        title=f"Conversation{side}",
        key=selection.widget_key(f"turns{field}"),
        epoch=selection.epoch(selection.asks(), field, selection.comparing(PROMPT_BAR)),
        change=change,
        other=beside.messages if beside else None,
    )


def bar_prompt(field: str) -> Conversation | None:
    """The conversation in the bar; None where it is JSON of turns that are none, which then stands there as text.

    In a session whose state was cleared the box's text is known only once the box is drawn.
    """
    try:
        return Conversation.from_prompt(st.session_state.get(selection.bar_key(f"prompt{field}"), ""))
    except InputError:
        return None


def leave_template() -> None:
    """Put the turns' texts in a conversation's place, where the bar begins prompts with something else."""
    for name in PROMPT_BAR.typed:
        key = selection.bar_key(name)
        text = st.session_state.get(key)
        if text and is_conversation_prompt(text) and (conversation := bar_prompt(name.removeprefix("prompt"))):
            st.session_state[key] = "\n\n".join(message["content"] for message in conversation.messages)


def conversation_of(typed: Turns) -> Conversation | None:
    """The conversation that was typed; None where the browser reports what is none."""
    how = typed.ending == "answer", typed.ending == "continue", typed.thinks
    try:
        return Conversation(tuple(typed.messages), *how)
    except InputError:
        return None


def _turns(conversation: Conversation, may_think: bool) -> Turns:
    ending: Ending = "continue" if conversation.continue_final_message else "nothing"
    ending = "answer" if conversation.add_generation_prompt else ending
    return Turns(conversation.messages, ending, conversation.enable_thinking, may_think)


def _may_think(field: str) -> bool:
    now = selection.pending() or selection.current()
    return models.may_think((now.model_b if field else "") or now.model)
