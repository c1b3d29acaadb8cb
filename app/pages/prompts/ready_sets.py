"""What a list of one prompt offers in place of a deviation: sets of prompts to run beside it."""

import streamlit as st

from headlight.app import selection
from headlight.app.frame import prompt_list
from headlight.app.frame.prompt_list import Prompt
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.server.settings import settings
from headlight.model.prompt_sets.shipped import ShippedSet, shipped_sets

N_PROMPTS = 20
N_SETS = 3
QUESTION = "Does it hold over many prompts?"
WHY = "A mean and a deviation need more than one prompt. Upload your own, or add a set that comes with Headlight."


def draw() -> None:
    """A question, and a button for each of the first sets that make sense for the model."""
    heading(QUESTION, caption=WHY, level=1, key="ready_sets")
    for place, each in enumerate(offered(selection.current().model)):
        st.button(
            plain(f"Add {N_PROMPTS} prompts: {each.title}"),
            help=plain(each.about),
            type="primary" if place == 0 else "secondary",
            key=selection.widget_key(f"ready {each.name}"),
            on_click=_add,
            args=(each,),
        )


def offered(model: str) -> list[ShippedSet]:
    """The first sets, those that were written for the model before the others."""
    return sorted(shipped_sets(), key=lambda each: model not in each.models)[:N_SETS]


def _add(which: ShippedSet) -> None:
    """Put the set's clean prompts at the end of the list."""
    rows = which.prompt_set(N_PROMPTS).rows
    texts = [row.clean for row in rows if isinstance(row.clean, str)]
    prompt_list.add([Prompt(text, which.title) for text in texts], settings().upload_prompts)
