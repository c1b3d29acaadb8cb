"""Which set is looked at: one on offer, an upload, one written here, or a file, folder or hub name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from headlight.app import selection
from headlight.app.components import Listed, Option, Suggested
from headlight.app.frame import notices
from headlight.app.pages.experiments import columns_form
from headlight.app.pages.experiments.choices import Choices
from headlight.app.parts import options
from headlight.app.parts.markdown import plain
from headlight.app.runs import models, prompt_sets
from headlight.app.runs.prompt_sets import SESSION, KnownSet
from headlight.app.selection.links import MAX_URL_PROMPT, codecs
from headlight.app.server import boundary
from headlight.model.base.errors import InputError
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.comparison import Comparison

NONE = "none"
MAX_SETS = 20  # of a session; the oldest is forgotten


@dataclass
class SessionSets:
    """The sets that were uploaded or written, and what became of the last upload; `count` makes each uploader new.

    `unmatched` is a file whose columns have to be matched first.
    """

    sets: dict[str, KnownSet] = field(default_factory=dict)
    count: int = 0
    taken: str = ""
    refused: str = ""
    unmatched: columns_form.Unmatched | None = None


def _session() -> SessionSets:
    return st.session_state.setdefault("prompt_sets", SessionSets())


def chosen(comparison: Comparison) -> tuple[KnownSet, ...]:
    """The set that is chosen, and the one beside it if there is one.

    Raises:
        HeadlightError: one is not on offer here, or cannot be read.
    """
    own = selection.current().choices_of(Choices)
    names = [own.prompt_set or prompt_sets.first_for(comparison.a.source.name), own.prompt_set_b]
    return tuple(_known(name, own) for name in names if name)


def _known(name: str, own: Choices) -> KnownSet:
    """A set by its name.

    Raises:
        HeadlightError: it is not on offer here, or cannot be read.
    """
    if not name.startswith(SESSION):
        return prompt_sets.named(name, own.set_columns)
    sets = _session().sets
    if name not in sets and own.set_rows and name == own.prompt_set:
        sets[name] = prompt_sets.from_link(name.removeprefix(SESSION), own.set_rows)
    if name not in sets:
        raise InputError(
            f"The set {name.removeprefix(SESSION)} was uploaded or written in another session and is too long for a "
            "link. Upload the file again, or choose another set."
        )
    return sets[name]


def choose() -> None:
    """The options that name the set, and one beside it."""
    own = selection.current().choices_of(Choices)
    options.row(_named("prompt_set", "Set", own.prompt_set), _named("prompt_set_b", "B", own.prompt_set_b), name="sets")


def _named(name: str, label: str, value: str) -> Option:
    """A set on offer, one of this session, or any other's place where that is allowed."""
    offered = {each: each.removeprefix(SESSION) for each in (*_session().sets, *prompt_sets.offered())}
    shown = value.removeprefix(SESSION)
    placeholder = NONE if name == "prompt_set_b" else prompt_sets.first_for(selection.current().model)

    def change(text: str) -> None:
        known = next((each for each, called in offered.items() if called == text), text)
        new = {name: "" if text == NONE else known, "exp_cell": None}
        if name == "prompt_set":
            new |= {"set_rows": _in_link(known), "set_columns": ""}
        selection.choose(Choices, **new)

    if models.any_model_allowed():
        more = (NONE,) if name == "prompt_set_b" else ()
        listed = (*more, *offered.values())
        hint = "Choose, or type a file, folder or hub name"
        return options.tie(
            Suggested, name, label, shown or placeholder, change, offered=listed, placeholder=hint, width=200
        )
    names = {text: text for text in ([NONE] if name == "prompt_set_b" else [])} | {v: v for v in offered.values()}
    return options.tie(Listed, name, label, shown or placeholder, change, options=names, width=200)


def _in_link(name: str) -> str:
    """A set of this session as a link holds it; nothing if it is too long, or is found by its name."""
    known = _session().sets.get(name)
    if known is None:
        return ""
    text = prompt_sets.to_link(known.prompt_set)
    return text if len(codecs(Choices)["set_rows"].write(text)) <= MAX_URL_PROMPT else ""


def uploader() -> None:
    """The button that takes a file."""
    sets = _session()
    key = selection.widget_key(f"set_upload.{sets.count}")
    with st.popover("Upload a set", key="headlight-set-upload"):
        st.file_uploader(
            "Pairs of prompts with answers, in the columns of EAP-IG, auto-circuit, MIB or TransformerLens, or in "
            "others, which you then match",
            type=[suffix.removeprefix(".") for suffix in prompt_sets.SUFFIXES],
            key=key,
            on_change=lambda: _take_file(key),
        )


def _take_file(key: str) -> None:
    file, sets = st.session_state[key], _session()
    if file is None:
        return
    sets.count, sets.taken, sets.refused, sets.unmatched = sets.count + 1, "", "", None
    data = file.getvalue()
    with boundary.guard(lambda reason: refuse(f"Could not read {file.name}. {reason}")):
        columns = prompt_sets.unknown_columns(file.name, data)
        if columns:
            sets.unmatched = columns_form.Unmatched(file.name, data, columns)
        else:
            take(prompt_sets.uploaded(file.name, data, ""))


def take(prompt_set: PromptSet, columns: str = "") -> None:
    """Make a set one of this session's, and look at it."""
    sets, name = _session(), f"{SESSION}{prompt_set.name}"
    sets.sets.pop(name, None)
    sets.sets[name] = prompt_sets.known(prompt_set)
    for oldest in list(sets.sets)[:-MAX_SETS]:
        del sets.sets[oldest]
    n_rows = len(prompt_set.rows)
    sets.taken, sets.refused, sets.unmatched = (
        f"{prompt_set.name}: {n_rows:,} row{'' if n_rows == 1 else 's'}",
        "",
        None,
    )
    selection.choose(Choices, prompt_set=name, set_rows=_in_link(name), set_columns=columns, exp_cell=None)


def refuse(reason: str) -> None:
    """Say why nothing was taken."""
    _session().refused = reason


def say_what_was_taken() -> None:
    """What became of the last upload, and the form where its columns have to be matched."""
    sets = _session()
    if sets.refused:
        notices.refused(sets.refused, "set_upload")
    if sets.unmatched is not None:
        columns_form.draw(sets.unmatched, _matched)
    elif sets.taken:
        st.caption(plain(f"Taken from {sets.taken}" if not sets.refused else sets.taken))


def _matched(file: columns_form.Unmatched, columns: Mapping[str, str]) -> None:
    """Read the file with its columns as they were matched."""
    written = prompt_sets.columns_text(columns)
    with boundary.guard(lambda reason: refuse(f"Could not read {file.name}. {reason}")):
        take(prompt_sets.uploaded(file.name, file.data, written), written)
