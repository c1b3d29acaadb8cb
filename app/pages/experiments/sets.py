"""Which set is looked at: one on offer, an upload, one written here, or a file, folder or hub name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from headlight.app import selection
from headlight.app.components import Listed, Option, Suggested
from headlight.app.frame import notices
from headlight.app.pages.experiments.choices import Choices
from headlight.app.parts import columns_form, options, uploading
from headlight.app.runs import models, prompt_sets
from headlight.app.runs.prompt_sets import SESSION, KnownSet
from headlight.app.selection.links import MAX_URL_PROMPT, codecs
from headlight.app.server import boundary
from headlight.model.base.errors import InputError
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.prompt_sets.shipped import shipped_set
from headlight.model.runs.comparison import Comparison

NONE = "none"
MAX_SETS = 20  # of a session; the oldest is forgotten


@dataclass
class SessionSets:
    """The sets that were uploaded or written, and what became of the last upload; `count` makes each uploader new.

    `unmatched` is a file whose columns have to be matched first.
    """

    sets: dict[str, KnownSet] = field(default_factory=dict)
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
    name = _name(comparison)
    return tuple(_known(each, own) for each in (name, own.prompt_set_b) if each) if name else ()


def _name(comparison: Comparison) -> str:
    """The name of the set that is chosen, or of the first that fits the model; nothing where none does."""
    run, name = comparison.a, selection.current().choices_of(Choices).prompt_set
    return name or prompt_sets.first_for(run.source.name, run.bos)


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


def option(comparison: Comparison) -> Option:
    """The option that names the set."""
    return _named("prompt_set", "Set", _name(comparison))


def option_b() -> Option:
    """The option that names a second set, which stands behind the button of the row unless there is one."""
    name = selection.current().choices_of(Choices).prompt_set_b
    return _named("prompt_set_b", "Set B", name, NONE, folded=not name)


def _named(field: str, label: str, value: str, nothing: str = "", folded: bool = False) -> Option:
    """A set on offer, one of this session, or any other's place where that is allowed."""
    titles = prompt_sets.offered()
    names = {name: name for name in titles} | {name.removeprefix(SESSION): name for name in _session().sets}

    def change(text: str) -> None:
        known = names.get(text, text)
        new = {field: "" if text == nothing else known, "exp_cell": None}
        if field == "prompt_set":
            new |= {"set_rows": _in_link(known), "set_columns": ""}
        if known in titles:
            new["exp_metric"] = shipped_set(known).metric
        selection.choose(Choices, **new)

    chosen_name = value.removeprefix(SESSION) or nothing
    listed = list(filter(None, (nothing, *names)))
    look: dict[str, Any] = {"width": 190, "folded": folded}
    if models.any_model_allowed():
        hint = "Choose, or type a file, folder or hub name"
        look |= {"offered": listed, "labels": titles, "placeholder": hint}
        return options.tie(Suggested, field, label, chosen_name, change, **look)
    return options.tie(
        Listed, field, label, chosen_name, change, options={name: name for name in (chosen_name, *listed)}, **look
    )


def title_of(known: KnownSet) -> tuple[str, str]:
    """What a set is called, and what its task is where it comes with Headlight."""
    name = known.prompt_set.name
    if name in prompt_sets.offered() and prompt_sets.named(name, "") == known:
        task = shipped_set(name)
        return task.title, task.about
    return name, ""


def _in_link(name: str) -> str:
    """A set of this session as a link holds it; nothing if it is too long, or is found by its name."""
    known = _session().sets.get(name)
    if known is None:
        return ""
    text = prompt_sets.to_link(known.prompt_set)
    return text if len(codecs(Choices)["set_rows"].write(text)) <= MAX_URL_PROMPT else ""


def uploader() -> None:
    """The button that takes a file."""
    uploading.uploader(
        "Upload a set",
        "Pairs of prompts with answers, in the columns of EAP-IG, auto-circuit, MIB or TransformerLens, or in others, "
        "which you then match",
        prompt_sets.SUFFIXES,
        "set-upload",
        _take_file,
    )


def _take_file(name: str, data: bytes) -> None:
    sets = _session()
    sets.refused, sets.unmatched = "", None
    with boundary.guard(lambda reason: _refuse_file(name, reason)):
        columns = prompt_sets.unknown_columns(name, data)
        if columns:
            sets.unmatched = columns_form.Unmatched(name, data, columns)
        else:
            take(prompt_sets.uploaded(name, data, ""))


def take(prompt_set: PromptSet, columns: str = "") -> None:
    """Make a set one of this session's, and look at it."""
    sets, name = _session(), f"{SESSION}{prompt_set.name}"
    sets.sets.pop(name, None)
    sets.sets[name] = prompt_sets.known(prompt_set)
    for oldest in list(sets.sets)[:-MAX_SETS]:
        del sets.sets[oldest]
    sets.refused, sets.unmatched = "", None
    selection.choose(Choices, prompt_set=name, set_rows=_in_link(name), set_columns=columns, exp_cell=None)


def refuse(reason: str) -> None:
    """Say why nothing was taken."""
    _session().refused = reason


def _refuse_file(name: str, reason: str) -> None:
    refuse(f"Could not read {name}. {reason.removeprefix(f'{name}: ')}")


def say_what_went_wrong() -> None:
    """Why the last upload was not taken, or the form where its columns have to be matched."""
    sets = _session()
    if sets.refused:
        notices.refused(sets.refused, "set_upload")
    if sets.unmatched is not None:
        columns_form.draw(sets.unmatched, _matched)


def _matched(file: columns_form.Unmatched, columns: Mapping[str, str]) -> None:
    """Read the file with its columns as they were matched."""
    written = prompt_sets.columns_text(columns)
    with boundary.guard(lambda reason: _refuse_file(file.name, reason)):
        take(prompt_sets.uploaded(file.name, file.data, written), written)
