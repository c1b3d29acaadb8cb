"""A page's options: tied to the selection, and explained by the glossary."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

from headlight.app import selection
from headlight.app.components import (
    Button,
    Choice,
    Link,
    Listed,
    Number,
    Option,
    Several,
    Slider,
    Switch,
    Text,
    option_row,
)
from headlight.app.figures.text import token_name
from headlight.app.glossary import TERMS
from headlight.app.parts.sides import SIDES
from headlight.app.selection.choices import PageChoices
from headlight.model.measure.difference import Side
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

Kind = TypeVar("Kind", Choice, Listed, Number, Several, Slider, Switch, Text)


def row(*options: Option | None, name: str = "options", whole: bool = False, title: str = "") -> None:
    """The options side by side, None among them left out; the name tells two rows of a page apart.

    On a phone they stand behind a button with that title, or called Options, unless the `whole` row is to be seen.
    """
    heard = [replace(option, change=_unless_forgotten(option.change)) for option in options if option is not None]
    option_row(heard, key=selection.widget_key(f"{name}.{selection.page()}"), whole=whole, title=title)


def _unless_forgotten(change: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda value: None if selection.forgotten() else change(value)


def tie(kind: type[Kind], name: str, label: str, value: Any, change: Callable[[Any], None], **look: Any) -> Kind:
    """Option that shows a value and calls `change` with a new one, explained by the glossary's entry of its name."""
    return kind(name, label, value, change, **{"help": TERMS.get(name, ""), **look})


def bind(
    kind: type[Kind],
    field: str,
    label: str,
    default: Any = None,
    page: type[PageChoices] | None = None,
    change: Callable[..., None] = selection.update,
    **look: Any,
) -> Kind:
    """An option that holds a field of the selection or of a page's own options, or the default where that is None."""
    now = selection.current()
    value = getattr(now.choices_of(page) if page else now, field)
    return tie(
        kind, field, label, default if value is None else value, lambda new: change(page, **{field: new}), **look
    )


def button(name: str, label: str, do: Callable[[], None], help: str = "", disabled: bool = False) -> Button:
    """Something to do at once."""
    return Button(name, label, None, lambda _: do(), help, disabled)


def side(compares: bool, label: str, default: Side = "a", **look: Any) -> Choice | None:
    """A choice of A, B or B − A, where there is a B."""
    return bind(Choice, "side", label, default, options=SIDES, **look) if compares else None


def token(field: str, stands: str, labels: Sequence[str] = (), **look: Any) -> Text | Listed:
    """Target or distractor, to be typed; the placeholder is the default token. Labels are chosen from a list."""
    hints: dict[str, Any] = {"placeholder": f"“{stands}”", "help": TERMS[f"why_{field}"], "width": 130}
    if labels:
        listed = {name: name for name in labels}
        about = TERMS["why_label"] if field == "target" else TERMS["why_other_label"]
        choice = {"help": about, "width": 170} | {name: look[name] for name in ("folded",) if name in look}
        return tie(
            Listed,
            field,
            field.capitalize(),
            stands,
            lambda new: selection.update(**{field: new}),
            options=listed,
            **choice,
        )
    return bind(Text, field, field.capitalize(), **{**hints, **look})


def as_tables() -> Switch:
    """The switch from pictures to numbers."""
    return bind(Switch, "table", "As tables")


def heads(layers: Iterable[int], n_heads: int) -> dict[Head, str]:
    """Options of the heads of some layers, and their names."""
    return {head: head_name(head) for head in product(layers, range(n_heads))}


def first_head(name: str, comparison: Comparison, value: Head) -> Listed:
    """The first of the chosen heads, which a page of one head is about; the attention page keeps the others."""

    def change(head: Head) -> None:
        selection.choose(heads=with_first(head))

    offered = heads(range(comparison.n_layers), comparison.n_heads)
    return tie(Listed, name, "Head", value, change, help=TERMS["head"], options=offered, width=100)


def with_first(head: Head) -> tuple[Head, ...]:
    """The chosen heads with another one in the place of the first."""
    return head_first(head, (selection.current().heads or ())[1:])


def head_first(head: Head, others: Iterable[Head] | None) -> tuple[Head, ...]:
    """A head, and others behind it."""
    return (head, *(other for other in others or () if other != head))


def to_head(pages: Mapping[str, str], head: Head, place: int) -> list[Link]:
    """Links to pages, by slug and title, about a head at a token."""

    def link(slug: str, title: str) -> Link:
        return Link(slug, f"{title} {head_name(head)}", None, lambda _: show_head(slug, head, place))

    return [link(slug, title) for slug, title in pages.items()]


def show_head(slug: str, head: Head, place: int) -> None:
    """Show a head at a token on another page."""
    now = selection.current()
    selection.ask(replace(now, heads=head_first(head, now.heads), queries=(place,), keys=()), slug)


def place(
    name: str, label: str, labels: Iterable[str], value: int, change: Callable[[int], None], **look: Any
) -> Listed:
    """A token to be chosen of all."""
    return tie(Listed, name, label, value, change, options=numbered(labels), **{"width": 180, **look})


def numbered(labels: Iterable[str]) -> dict[int, str]:
    """Each place's label with its number, so that equal tokens differ."""
    return {place: f"{place}  {token_name(label, place)}" for place, label in enumerate(labels)}
