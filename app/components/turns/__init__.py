"""The turns of a conversation as a person types them, in a form: added, edited, moved and removed in the browser."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from headlight.app.components.shared.mount import mount, register, reported

_render = register(__file__)

Ending = Literal["answer", "continue", "nothing"]
ROLES = ("system", "user", "assistant")
ENDINGS: Mapping[Ending, str] = {
    "answer": "the model answers",
    "continue": "the last turn goes on",
    "nothing": "nothing more",
}


@dataclass(frozen=True)
class Turns:
    """Messages with `role` and `content`, what comes behind the last, and whether the model may think first.

    `may_think` says whether the template asks that; None for `thinks` leaves it to the template.
    """

    messages: Sequence[Mapping[str, Any]]
    ending: Ending = "answer"
    thinks: bool | None = None
    may_think: bool = False


def turns(
    drawn: Turns,
    *,
    title: str,
    key: str,
    epoch: int,
    change: Callable[[Turns], None],
    other: Sequence[Mapping[str, Any]] | None = None,
) -> Callable[[], None]:
    """Show the turns; what is typed and not submitted gives way when another epoch begins.

    Args:
        drawn: the turns as they were run.
        title: of the list, for screen readers.
        key: of the component.
        epoch: a new one brings `drawn` into the browser.
        change: receives the turns as they are when the form is submitted.
        other: turns to compare with; those that differ are marked.

    Returns:
        What has `change` called at once: the form's own callback may come before the component's.
    """
    before = component_chat(drawn)

    def hear() -> None:
        if (typed := _read(reported(key), drawn.may_think)) is not None:
            change(typed)

    props = {
        "title": title,
        "chat": before,
        "roles": list(ROLES),
        "endings": dict(ENDINGS),
        "mayThink": drawn.may_think,
        "other": None if other is None else [dict(message) for message in other],
    }
    mount(_render, key=key, props=props, epoch=epoch, changed=hear, in_form=True)
    return hear


def component_chat(drawn: Turns) -> dict[str, Any]:
    """The turns as the browser has and reports them."""
    messages = [dict(message) for message in drawn.messages]
    return {"messages": messages, "ending": drawn.ending, "thinks": drawn.thinks}


def _read(raw: Any, may_think: bool) -> Turns | None:
    """The turns that the browser reports; None where it reports none."""
    match raw:
        case {"messages": [_, *_] as messages, "ending": str(ending), "thinks": None | bool() as thinks}:
            if ending in get_args(Ending) and all(isinstance(message, dict) for message in messages):
                return Turns(messages, cast(Ending, ending), thinks, may_think)
    return None
