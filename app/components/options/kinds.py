"""Kinds of options: the type of each, and the reported values that it accepts."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

_HERE = ("value", "change")  # what is not sent with an option's look


@dataclass(frozen=True)
class Option(ABC):
    """An option: its name, unique in its row, its label, its value, and the change that a new value makes.

    One that is `folded` stands behind the row's button.
    """

    kind: ClassVar[str]
    name: str
    label: str
    value: Any
    change: Callable[[Any], None]
    help: str = ""
    folded: bool = field(default=False, kw_only=True)

    @property
    def raw(self) -> Any:
        """The value as the browser has it."""
        return self.value

    @abstractmethod
    def read(self, raw: Any) -> Any:
        """The value that the browser reports.

        Raises:
            ValueError: the option has no such value.
        """

    def look(self) -> dict[str, Any]:
        """Everything that the browser needs except the value."""
        names = (each.name for each in fields(self) if each.name not in _HERE)
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Choice(Option):
    """One of a few values, side by side, each by the text that stands for it."""

    kind = "choice"
    options: Mapping[Any, str] = field(default_factory=dict)

    @property
    def raw(self) -> str | list[str] | None:
        """The text of the value."""
        return self.options.get(self.value)

    def read(self, raw: Any) -> Any:
        """The first value of that text."""
        for value, text in self.options.items():
            if text == raw:
                return value
        raise ValueError(f"{raw!r} is not on offer.")

    def look(self) -> dict[str, Any]:
        """The texts, for the browser has no use for the values."""
        return {**super().look(), "options": list(self.options.values())}


@dataclass(frozen=True)
class Listed(Choice):
    """One of many values, in a list of that width (CSS pixels).

    `groups` are the name of each group of them, and the place that it begins at.
    """

    kind = "list"
    width: int = 200
    groups: Sequence[tuple[str, int]] = ()


@dataclass(frozen=True)
class Several(Listed):
    """Any of many values, in the order of the choice, with a placeholder for none."""

    kind = "several"
    placeholder: str = ""

    @property
    def raw(self) -> list[str]:
        """The texts of the values."""
        return [self.options[value] for value in self.value]

    def read(self, raw: Any) -> tuple[Any, ...]:
        """The values of these texts."""
        if not isinstance(raw, list):
            raise ValueError(f"{raw!r} is no list.")
        return tuple(map(super().read, raw))


@dataclass(frozen=True)
class Switch(Option):
    """On or off."""

    kind = "switch"

    def read(self, raw: Any) -> bool:
        """Whether it is on."""
        if not isinstance(raw, bool):
            raise ValueError(f"{raw!r} is neither on nor off.")
        return raw


@dataclass(frozen=True)
class Text(Option):
    """Line of text, with a placeholder."""

    kind = "text"
    placeholder: str = ""
    width: int = 170

    def read(self, raw: Any) -> str:
        """Any text."""
        if not isinstance(raw, str):
            raise ValueError(f"{raw!r} is no text.")
        return raw


@dataclass(frozen=True)
class Suggested(Text):
    """A line of text for which some are offered, some of them with a label, and any other can be typed."""

    kind = "suggested"
    offered: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    def read(self, raw: Any) -> str:
        """Any text but none, without the spaces around it."""
        if text := super().read(raw).strip():
            return text
        raise ValueError(f"{raw!r} is empty.")


@dataclass(frozen=True)
class Number(Option):
    """A number from `least` to `most`, whole if the step is; None where it is empty, if something stands there then."""

    kind = "number"
    least: float = 0
    most: float = 1
    step: float = 1
    placeholder: str = ""
    width: int = 130

    def read(self, raw: Any) -> float | None:
        """A number within the limits, or None."""
        if raw is None and self.placeholder:
            return None
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not self.least <= raw <= self.most:
            raise ValueError(f"{raw!r} is no number from {self.least} to {self.most}.")
        if not isinstance(self.step, int):
            return float(raw)
        if raw != int(raw):
            raise ValueError(f"{raw!r} is no whole number.")
        return int(raw)


@dataclass(frozen=True)
class Slider(Number):
    """A number that is slid."""

    kind = "slider"


@dataclass(frozen=True)
class Button(Option):
    """Something to do at once: it has no value, and `change` gets None."""

    kind = "button"
    disabled: bool = False

    def read(self, raw: Any) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Link(Button):
    """A button that looks like words in a line; `opened` where it opens and closes something, else None."""

    kind = "link"
    opened: bool | None = None
