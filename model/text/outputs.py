"""Names of a model's outputs: the tokens of its tokenizer, or the labels of a classifier."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from headlight.model.base.errors import InputError, nearest
from headlight.model.text.labels import label
from headlight.model.text.vocabulary import TokenIds, flat_ids

MAX_NAMED = 20  # labels that a message names


@runtime_checkable
class Outputs(Protocol):
    """Names of outputs, and the output that a name means; a tokenizer is one."""

    def labels(self, tokens: TokenIds) -> list[str]:
        """A visible name for each output."""

    def to_string(self, tokens: TokenIds) -> str:
        """The text that stands for an output where one is typed."""

    def to_single_token(self, text: str, parse_special: bool | None = None) -> int:
        """The output that a text names."""


class LabelNames:
    """The labels of a classifier, by their names in its config; the same name twice has its number behind it."""

    def __init__(self, names: Sequence[str]) -> None:
        visible = [" ".join(map(_visible, name.split(" "))) or "(no name)" for name in names]
        self._names = [f"{name} ({number})" if visible.count(name) > 1 else name for number, name in enumerate(visible)]

    def labels(self, tokens: TokenIds) -> list[str]:
        """The names of these labels."""
        return [self._names[token] for token in flat_ids(tokens)]

    def to_string(self, tokens: TokenIds) -> str:
        """The name of one label."""
        return " ".join(self.labels(tokens))

    def to_single_token(self, text: str, parse_special: bool | None = None) -> int:
        """The label of a name.

        Raises:
            InputError: there is none of that name.
        """
        if text not in self._names:
            more = f" and {len(self._names) - MAX_NAMED} more" if len(self._names) > MAX_NAMED else ""
            raise InputError(
                f"The model has no label {text!r}.{nearest(text, self._names)} Its labels are "
                f"{', '.join(self._names[:MAX_NAMED])}{more}."
            )
        return self._names.index(text)


def _visible(word: str) -> str:
    return label(word.encode("utf-8", "replace"))
