"""The session's prompts, uploaded and typed, and the last runs to go back to. Texts and selections, never a tensor."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from headlight.app.selection import Selection
from headlight.model.base.errors import InputError

TYPED = "typed"
UPLOADED = "uploaded"  # the address's parameter that outlives the session: how many prompts of the list were uploaded
COUNT = re.compile("[1-9][0-9]{0,6}")
LIST_PAGE, LIST_TITLE = "prompts", "Prompts"  # the page that shows this list, and so none to go back to
MAX_RUNS = 20
MAX_LABELS = 64  # different names in the list, of which each is a column with a cell for every prompt
MAX_TYPED = 100  # beyond it the oldest typed prompts leave the list


@dataclass(frozen=True)
class Prompt:
    """A prompt, its source, and the source's remarks on it: (name, text) of each other column or key."""

    text: str
    source: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PastRun:
    """A selection that was run, as it was when it was last seen, and the page that it was seen on, by slug and title.

    Without a slug it was seen on the list's own page alone.
    """

    selection: Selection
    page: str = ""
    title: str = LIST_TITLE

    @property
    def inputs(self) -> tuple[object, ...]:
        """Inputs of the run: two past runs of the same inputs are one."""
        chosen = self.selection
        return chosen.model, chosen.prompt, chosen.bos, chosen.model_b, chosen.prompt_b, chosen.edits_on


@dataclass
class _Lists:
    prompts: tuple[Prompt, ...] = ()
    past: tuple[PastRun, ...] = ()
    lost: int = 0


def _lists() -> _Lists:
    if "prompt_list" not in st.session_state:
        count = st.query_params.get(UPLOADED, "")
        st.session_state["prompt_list"] = _Lists(lost=int(count) if COUNT.fullmatch(count) else 0)
    return st.session_state["prompt_list"]


def lost() -> int:
    """Number of uploaded prompts that the address refers to and this later session does not have."""
    return _lists().lost


def go_on_without() -> None:
    """Miss those no longer."""
    _lists().lost = 0


def in_address() -> dict[str, str]:
    """Entry of the list in the address, by which a new session knows which prompts it lacks."""
    count = lost() or sum(prompt.source != TYPED for prompt in prompts())
    return {UPLOADED: str(count)} if count else {}


def prompts() -> tuple[Prompt, ...]:
    """Prompts of the list, the oldest at the top."""
    return _lists().prompts


def past_runs() -> tuple[PastRun, ...]:
    """The last runs, the newest first."""
    return _lists().past


def add(new: Sequence[Prompt], most: int) -> int:
    """Put those at the end of the list that are not in it yet, and tell how many they are.

    Raises:
        InputError: the list would grow beyond so many, or have too many labels; it stays as it was.
    """
    lists = _lists()
    present = set(lists.prompts)
    fresh = tuple(prompt for prompt in dict.fromkeys(new) if prompt not in present)
    if len(lists.prompts) + len(fresh) > most:
        raise InputError(
            f"{len(fresh):,} more prompts do not fit: the list has {len(lists.prompts):,} and takes {most:,}. "
            "Clear the list, or upload fewer."
        )
    names = {name for prompt in (*lists.prompts, *fresh) for name, _ in prompt.labels}
    if len(names) > MAX_LABELS:
        raise InputError(
            f"The prompts would have {len(names):,} different labels, each a column of the list, which takes "
            f"{MAX_LABELS}. Give prompts the same columns or keys, leave some out, or clear the list."
        )
    lists.prompts += fresh
    lists.lost = 0
    return len(fresh)


def remove(places: Sequence[int]) -> None:
    """Take the prompts at these places off the list."""
    lists = _lists()
    lists.prompts = tuple(prompt for place, prompt in enumerate(lists.prompts) if place not in places)


def note(selection: Selection, page: str, title: str = LIST_TITLE) -> None:
    """Remember the current run: a new one joins the last runs, and its prompts, if they are new, the list."""
    lists = _lists()
    seen = PastRun(selection, page, title)
    before = next((run for run in lists.past if run.inputs == seen.inputs), None)
    if page == LIST_PAGE:
        seen = replace(before or PastRun(selection), selection=selection)
    lists.past = (seen, *(run for run in lists.past if run is not before))[:MAX_RUNS]
    if before is None:
        _join(selection.prompt)
        _join(selection.prompt_b)


def _join(text: str | None) -> None:
    lists = _lists()
    if text is None or any(prompt.text == text for prompt in lists.prompts):
        return
    typed = [prompt for prompt in lists.prompts if prompt.source == TYPED]
    oldest = typed[:1] if len(typed) >= MAX_TYPED else []
    lists.prompts = (*(prompt for prompt in lists.prompts if prompt not in oldest), Prompt(text, TYPED))
