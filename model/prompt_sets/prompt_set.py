"""A set of prompts as it is written, before any model's tokenizer has read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headlight.model.base.errors import InputError

Prompt = str | tuple[int, ...]
"""A text, or token ids, which are taken as they are: nothing is put before them."""
Answer = str | int
"""A text of one token, with its space, or a token id."""
Place = int | tuple[int, int]
"""A token's index in the prompt, without what is put before a text and from the end if negative, or a span of
characters, [start, stop), which stands for its last token."""

MAX_ROWS = 100_000


@dataclass(frozen=True)
class PromptPair:
    """A row of a set: a prompt, the prompt that it is compared with, and what should and should not come next.

    Attributes:
        clean: the prompt.
        corrupted: the prompt in which the answer is another, or unknown.
        answers: tokens that are right at the end of the clean prompt.
        wrong_answers: tokens that are wrong there.
        positions: places by name, in the clean and in the corrupted prompt.
        labels: further columns, such as a class or a topic.
    """

    clean: Prompt
    corrupted: Prompt | None = None
    answers: tuple[Answer, ...] = ()
    wrong_answers: tuple[Answer, ...] = ()
    positions: Mapping[str, tuple[Place, Place | None]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PromptSet:
    """A named table of prompts; messages and tables number its rows from 1."""

    name: str
    rows: tuple[PromptPair, ...]

    def __post_init__(self) -> None:
        if not self.rows:
            raise InputError(f"The set {self.name} has no rows. Give at least one prompt.")
        if len(self.rows) > MAX_ROWS:
            raise InputError(
                f"The set {self.name} has {len(self.rows):,} rows; at most {MAX_ROWS:,} are taken. Give a part of it: "
                "an interval over a thousand rows is narrow already."
            )

    @property
    def label_names(self) -> tuple[str, ...]:
        """The names of the further columns, in order of appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.labels))
