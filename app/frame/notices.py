"""Lines above a page about what failed. Their text is plain: it may quote the user."""

from collections.abc import Sequence

import streamlit as st

from headlight.app import selection
from headlight.app.frame import model_settings, prompt_list
from headlight.app.parts.markdown import plain
from headlight.app.runs import prompts
from headlight.app.selection import Selection
from headlight.app.server import capacity
from headlight.model.text.labels import label

TEXTS = {
    "prompt": "prompt A",
    "prompt_b": "prompt B",
    "source": "the source",
    "translation": "the target",
    "source_b": "source B",
    "translation_b": "target B",
}
LONG_NAMES = TEXTS | {"edits": "the edits", "mean_over": "the prompts that a mean is over"}
# Fields of a selection that may be the reason why it cannot be run.
IN_SHORT = {
    "prompt": "prompt",
    "prompt_b": "prompt B",
    "source": "source",
    "source_b": "source B",
    "translation": "target",
    "translation_b": "target B",
    "model": "model",
    "model_b": "model B",
    "translator": "model",
    "translator_b": "model B",
    "bos": "BOS setting",
    "edits": "edits",
    "beams": "beams",
}
LONGEST = 200  # characters of a text that is quoted


def refused(reason: str, what: str = "page") -> None:
    """Explain why part of a page is missing; each part has its own `what`."""
    with st.container(key=f"headlight-refused-{what}", border=True):
        st.text(reason)


def draw(unread: tuple[str, ...], refusal: str, inputs: tuple[str, ...] | None, instead: Selection | None) -> None:
    """Say that the server is full, which parts of the URL were not understood, and why the last input was not run.

    `inputs` are those on the page; where there is nothing, `instead` is what can be run, if it is another selection.
    """
    if full := capacity.full_inside():
        st.info(plain(full))
    if missing := missing_texts(unread):
        st.info(plain(f"This link does not contain {_listed(missing)}. Paste the text that was sent with it."))
    if lost := [name for name in unread if name not in TEXTS]:
        st.info(plain(f"Parts of this link were ignored: {', '.join(lost)}."))
    if refusal:
        if not (missing and refusal.endswith(prompts.EMPTY)):  # that would say it twice
            refused(refusal, "prompt")
            model_settings.draw(selection.refused())
        if inputs is not None:
            _say_what_is_still_shown(inputs)
        elif instead not in (None, selection.refused()):
            key = selection.widget_key("default_model")
            st.button("Open this text with the default model", key=key, on_click=selection.ask_instead, args=(instead,))
    if inputs is not None and (too_long := selection.too_long_for_url(selection.current())):
        which = _listed([LONG_NAMES[name] for name in too_long])
        st.caption(plain(f"This page's link does not contain {which}, too long for a URL: send the text with it."))


def missing_texts(unread: tuple[str, ...]) -> list[str]:
    """The texts that the link is of and does not contain; they have to be pasted."""
    return [TEXTS[name] for name in unread if name in TEXTS]


def of_lost_list() -> None:
    """Say that uploaded prompts are gone, as after a restart of the server, and what to do."""
    with st.container():  # a place of its own, empty or not, so that what is below it is not made anew
        if count := prompt_list.lost():
            prompts_are = "prompt that was uploaded is" if count == 1 else "prompts that were uploaded are"
            with st.container(key="headlight-lost-list", border=True):
                st.text(
                    f"The {count:,} {prompts_are} no longer in the list: the server was restarted, or this page was "
                    "opened anew. Upload the file again on the page Prompts."
                )
                st.button(
                    "Go on without", on_click=prompt_list.go_on_without, key=selection.widget_key("go_on_without")
                )


def _say_what_is_still_shown(inputs: tuple[str, ...]) -> None:
    """Say that the results are of the last accepted input, and list its texts."""
    now, rejected = selection.active(), selection.refused()
    changed = _changed(rejected, now) if rejected and now else []
    without_b = [name for name in changed if name in ("prompt_b", "source_b") and getattr(now, name) is None]
    previous = [name for name in changed if not (without_b and name.endswith("_b"))]
    before = f"for the previous {_listed([IN_SHORT[name] for name in previous])}" if previous else "from before"
    texts = inputs if any(name in TEXTS for name in previous) else ()
    b = ", without B" if without_b else ""
    st.caption(plain(f"Below is still the result {before}{b}{':' if texts else '.'}"))
    for text in texts:
        st.text(in_one_line(text))


def _changed(rejected: Selection, now: Selection) -> list[str]:
    """The refused fields that differ from the page. A text may be empty; any other empty field was left to the page."""
    values = {name: getattr(rejected, name) for name in IN_SHORT}
    another = [name for name, value in values.items() if value != getattr(now, name)]
    return [name for name in another if values[name] or (name in TEXTS and values[name] is not None)]


def in_one_line(text: str) -> str:
    """The beginning of a text, with its spaces and line breaks to be seen."""
    short = label(text[: LONGEST + 1].encode())
    return short if len(short) <= LONGEST else f"{short[:LONGEST]}…"


def _listed(names: Sequence[str]) -> str:
    each = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(each[:-1]), *each[-1:]]))
