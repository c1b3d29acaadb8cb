"""The sets of prompts that come with the project: templates, and the models that they make sense for."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from headlight.model.base.errors import InputError, nearest
from headlight.model.prompt_sets.metric import Metric
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.prompt_sets.templates import PromptTemplate, from_templates

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "sets"
N_ROWS = 40


@dataclass(frozen=True)
class ShippedSet:
    """A task as templates.

    Attributes:
        name: its file's name.
        title: what it is called on the page.
        about: what the model has to do, in a sentence.
        models: the models that it makes sense for.
        metric: what is measured.
        templates: its templates, of which a set has as many rows each.
    """

    name: str
    title: str
    about: str
    models: tuple[str, ...]
    metric: Metric
    templates: tuple[PromptTemplate, ...]

    def prompt_set(self, n: int = N_ROWS, seed: int = 0) -> PromptSet:
        """Draw n different rows.

        Raises:
            InputError: the templates give fewer.
        """
        return from_templates(self.name, self.templates, n, seed)


@cache
def shipped_sets() -> tuple[ShippedSet, ...]:
    """All sets that come with the project."""
    return tuple(_read(path) for path in sorted(SHIPPED.glob("*.json")))


def shipped_set(name: str) -> ShippedSet:
    """The set of a name.

    Raises:
        InputError: there is none of that name.
    """
    sets = {each.name: each for each in shipped_sets()}
    if name not in sets:
        raise InputError(
            f"No set called {name!r} comes with Headlight.{nearest(name, sets)} Give one of {', '.join(sets)}."
        )
    return sets[name]


def _read(path: Path) -> ShippedSet:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    templates = tuple(_template(part, content["values"]) for part in content["templates"])
    described = {name: content[name] for name in ("title", "about", "metric")}
    return ShippedSet(name=path.stem, models=tuple(content["models"]), templates=templates, **described)


def _template(part: dict[str, Any], values: dict[str, str | list[str]]) -> PromptTemplate:
    """A template; values are written as one text where none has a space, and "@other" stands for another slot's."""
    answers, wrong_answers = tuple(part["answers"]), tuple(part["wrong_answers"])
    rest = {name: part[name] for name in ("text", "corrupted", "names", "labels", "title") if name in part}
    filled = {slot: _values(values, slot) for slot in values}
    return PromptTemplate(values=filled, answers=answers, wrong_answers=wrong_answers, **rest)


def _values(values: dict[str, str | list[str]], slot: str) -> tuple[str, ...]:
    written = values[slot]
    if isinstance(written, str) and written.startswith("@"):
        return _values(values, written[1:])
    return tuple(written.split()) if isinstance(written, str) else tuple(written)
