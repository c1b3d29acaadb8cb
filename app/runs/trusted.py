"""Sources that a link may open without asking: those offered by the server, or typed or confirmed since its start.

Names that others have put into a link would else be opened, or fetched from the hub, by a click on it. Where only
offered names may be opened, there is nothing to ask.
"""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

from headlight.app.runs import dictionaries, models, prompt_sets, scans
from headlight.app.selection.chosen import Selection
from headlight.app.selection.links import changed
from headlight.model.runs.edits import EditFeature

GB = 10**9


@dataclass(frozen=True)
class Named:
    """Source named in a selection: its field and its kind."""

    field: str
    kind: str
    name: str

    @property
    def origin(self) -> str:
        """Origin, and size as far as it is known before opening."""
        size = _bytes(self.name)
        if size is not None:
            return f"from this machine, {size / GB:,.3f} GB"
        if self.name.startswith(("/", "\\", "~", ".")):
            return "from this machine, if it is there"
        return "from the Hugging Face Hub, which is asked how large it is once you agree"


OFFERED: dict[str, Callable[[], Collection[str]]] = {
    "model": lambda: (*models.offered_models(), *models.offered_seq2seq_models()),
    "dictionary": lambda: ("neurons", *dictionaries.offered()),
    "scan": scans.offered,
    "lens": tuple,
    "prompt set": prompt_sets.offered,
    "results folder": tuple,
}
KINDS = {
    "model": "model",
    "model_b": "model",
    "translator": "model",
    "translator_b": "model",
    "dictionary": "dictionary",
    "graph_units": "dictionary",
    "scan": "scan",
    "scan_b": "scan",
    "lens_from": "lens",
    "prompt_set": "prompt set",
    "prompt_set_b": "prompt set",
    "exp_results": "results folder",
}

_trusted: set[tuple[str, str]] = set()  # kinds and names


def trust(chosen: Selection) -> None:
    """Trust the sources of a selection: its user has typed them, or agreed to them."""
    _trusted.update((each.kind, each.name) for each in _named(chosen))


def to_ask(chosen: Selection) -> tuple[Named, ...]:
    """Sources in a link's selection that need the user's consent."""
    if not models.any_model_allowed():
        return ()
    return tuple(each for each in _named(chosen) if (each.kind, each.name) not in _trusted and not _is_offered(each))


def unasked(chosen: Selection) -> Selection:
    """A link's selection without the sources that need consent."""
    left_out = {each.field for each in to_ask(chosen)}
    left_out |= {"edits_off"} if "edits" in left_out else set()
    choices = frozenset(_without(each, left_out) for each in chosen.choices)
    return replace(_without(chosen, left_out), choices=choices)


def _without(part: Any, left_out: set[str]) -> Any:
    return replace(part, **{each.name: each.default for each in fields(part) if each.name in left_out})


def _named(chosen: Selection) -> list[Named]:
    values = changed(chosen)
    for model, text in (("model_b", chosen.prompt_b), ("translator_b", chosen.source_b)):
        if text is None:  # then there is no B, and its model is left out
            values.pop(model, None)
    names = [Named(field, kind, values[field]) for field, kind in KINDS.items() if field in values]
    edits = [edit for edit in chosen.edits if isinstance(edit, EditFeature)]
    return names + [Named("edits", "dictionary", edit.dictionary) for edit in edits]


def _is_offered(named: Named) -> bool:
    if named.kind == "prompt set" and named.name.startswith(prompt_sets.SESSION):
        return True  # its rows, if any, are in the link
    name = models.base_name(named.name) if named.kind == "model" else named.name
    return name in OFFERED[named.kind]()


def _bytes(name: str) -> int | None:
    """Size of a file or of a folder's files; None where there is none, or where it is on another machine."""
    if name.startswith(("//", "\\\\")):
        return None
    path = os.path.expanduser(models.base_name(name))
    with suppress(OSError, ValueError):
        if not os.path.isdir(path):
            return os.stat(path).st_size
        with os.scandir(path) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file())
    return None
