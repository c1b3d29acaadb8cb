"""Reading of special tokens' spellings in the prompts, and the switch between the two readings."""

from dataclasses import replace

import streamlit as st

from headlight.app import selection
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.model.text.chat import as_literal, is_literal
from headlight.model.text.labels import label

MAX_NAMED = 4
MAX_LENGTH = 40  # characters of a special token that are named


def draw(comparison: Comparison) -> None:
    """One line where a prompt has the spelling of a special token; its text is plain, for it may quote a stranger's."""
    spelled = {token: n for run in comparison.runs for token, n in special_spellings(run).items()}
    if not spelled:
        return
    literal, chat = is_literal(comparison.a.bos), comparison.a.bos == "chat"
    read = "text" if literal else "the token itself, as in transformers"
    with st.container(horizontal=True, vertical_alignment="center", key="headlight-special"):
        st.text(f"{_named(spelled)} in the prompt: read as {read}.", width="content")
        if not chat:
            st.button(
                "Read as special tokens" if literal else "Read as text",
                type="tertiary",
                key=selection.widget_key("read_special"),
                on_click=_read,
                args=(not literal,),
            )


def special_spellings(run: Run) -> dict[str, int]:
    """The special tokens whose spelling a run's prompt has, and how often; a mask and a separator are typed as such."""
    tokenizer = run.tokenizer
    meant = {token for token in (tokenizer.mask_token_id, tokenizer.separator) if token is not None}
    names = set(tokenizer.to_str_tokens(sorted(meant))) if not is_literal(run.bos) else set[str]()
    spellings = run.keep("special spellings", lambda: tokenizer.special_spellings(run.prompt))
    return {token: n for token, n in spellings.items() if token not in names}


def _named(spelled: dict[str, int]) -> str:
    listed = [f"“{label(token[:MAX_LENGTH].encode())}”{f' ({n}×)' if n > 1 else ''}" for token, n in spelled.items()]
    more = " …" if len(listed) > MAX_NAMED else ""
    return ", ".join(listed[:MAX_NAMED]) + more


def _read(literal: bool) -> None:
    now = selection.current()
    selection.ask_instead(replace(now, bos=as_literal(now.bos, literal)))
