"""Examples of two classes: which token of each prompt is read, and which prompts may not be parted by a split."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import InputError, nearest
from headlight.model.prompt_sets.encoding import END, TokenRow, TokenSet
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.prompt_sets.templates import TEMPLATE

MEAN = "mean"  # over the tokens after the first, on which attention rests and which is much longer than the others
MIN_EACH = 2  # examples of a class
MAX_EXAMPLES = 10_000
Answers = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Example:
    """A prompt of one of two classes.

    Attributes:
        number: its row's number in the set.
        tokens: its token ids.
        place: the token that is read; None for the mean over all but the first.
        is_positive: whether it is of the first class.
        group: examples of one group are held out together.
        toward: the outputs that are right for the first class.
        away: the outputs that are right for the second.
    """

    number: int
    tokens: Int[Tensor, " pos"]
    place: int | None
    is_positive: bool
    group: str
    toward: Answers = ()
    away: Answers = ()


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples of two classes.

    Attributes:
        name: the set's name.
        classes: what the two classes are called; the direction points from the second to the first.
        position: where they are read.
        rows: the examples.
        pairs: places of an example of the first class and of one of the second that belong together.
        are_grouped: whether a column of the set says what is held out together, and not each row by itself.
    """

    name: str
    classes: tuple[str, str]
    position: str
    rows: tuple[Example, ...]
    pairs: tuple[tuple[int, int], ...]
    are_grouped: bool

    def __post_init__(self) -> None:
        counts = [sum(row.is_positive == first for row in self.rows) for first in (True, False)]
        for name, count in zip(self.classes, counts, strict=True):
            if count < MIN_EACH:
                raise InputError(
                    f"The set {self.name} has {count} usable prompts of the class {name!r}; a direction needs at least "
                    f"{MIN_EACH} of each of two classes. Add some, or choose another column or class."
                )
        if len(self.rows) > MAX_EXAMPLES:
            raise InputError(
                f"The set {self.name} gives {len(self.rows):,} examples; at most {MAX_EXAMPLES:,} are taken. Cut it."
            )

    @property
    def has_answers(self) -> bool:
        """Whether every example has outputs of both classes, so that their logit difference can be measured."""
        return all(row.toward and row.away for row in self.rows)

    def measured_by(self, toward: Answers, away: Answers) -> "Examples":
        """The same examples with these outputs for the two classes."""
        rows = tuple(
            Example(row.number, row.tokens, row.place, row.is_positive, row.group, toward, away) for row in self.rows
        )
        return Examples(self.name, self.classes, self.position, rows, self.pairs, self.are_grouped)


def labelled_examples(
    prompt_set: PromptSet,
    tokens: TokenSet,
    column: str,
    classes: tuple[str, str] | None = None,
    group: str | None = None,
    position: str = END,
) -> Examples:
    """Return examples of two labels of a column.

    Args:
        prompt_set: the set.
        tokens: the same in a model's tokens.
        column: the column of labels.
        classes: the two labels, the one that the direction is to point to first; by default the column's only two.
        group: the column of what is held out together; by default "template" where each class has several, else each
            row is held out by itself.
        position: "end", "mean", or the name of a position.

    Raises:
        InputError: the column or the position is missing in a row, or there are not two classes with enough rows.
    """
    values = {row.number: prompt_set.rows[row.number - 1].labels.get(column, "") for row in tokens.rows}
    present = sorted({value for value in values.values() if value})
    if not present:
        raise InputError(
            f"The set {prompt_set.name} has no labels in a column {column!r}.{nearest(column, prompt_set.label_names)} "
            f"Its columns are: {', '.join(prompt_set.label_names) or 'none'}."
        )
    first, second = classes or _only_two(column, present)
    for value in (first, second):
        if value not in present:
            raise InputError(f"The column {column!r} has no label {value!r}. It has {_listed(present)}.")
    if first == second:
        raise InputError(f"Both classes are {first!r}. Choose two different labels of the column {column!r}.")
    used = [row for row in tokens.rows if values[row.number] in (first, second)]
    group_of, are_grouped = _groups(prompt_set, used, group, lambda row: values[row.number])
    rows = [
        Example(
            row.number,
            row.clean,
            _place(row, position, 0),
            values[row.number] == first,
            group_of(row),
            *((row.answers, row.wrong_answers) if values[row.number] == first else (row.wrong_answers, row.answers)),
        )
        for row in used
    ]
    return Examples(prompt_set.name, (first, second), position, tuple(rows), _pairs(rows), are_grouped)


def contrasted_examples(
    prompt_set: PromptSet, tokens: TokenSet, group: str | None = None, position: str = END
) -> Examples:
    """Return examples of clean prompts against corrupted ones; the two of a row are a pair, and of one group.

    Raises:
        InputError: a row has no corrupted prompt, or no such position.
    """
    if without := [row.number for row in tokens.rows if row.corrupted is None]:
        raise InputError(
            f"Row {without[0]} of the set {prompt_set.name} has no corrupted prompt to compare with. Give one, leave "
            "the row out, or choose a column of labels."
        )
    group_of, are_grouped = _groups(prompt_set, tokens.rows, group, lambda row: "")
    rows = []
    for row in tokens.rows:
        assert row.corrupted is not None
        for place, prompt in enumerate((row.clean, row.corrupted)):
            read = _place(row, position, place)
            answers = row.answers, row.wrong_answers
            rows.append(Example(row.number, prompt, read, place == 0, group_of(row), *answers))
    pairs = tuple((place, place + 1) for place in range(0, len(rows), 2))
    return Examples(prompt_set.name, ("clean", "corrupted"), position, tuple(rows), pairs, are_grouped)


def _only_two(column: str, present: Sequence[str]) -> tuple[str, str]:
    if len(present) == 1:
        raise InputError(
            f"The column {column!r} has one class only, {present[0]!r}. A direction needs prompts of two classes."
        )
    if len(present) > 2:
        raise InputError(f"The column {column!r} has {len(present)} labels: {_listed(present)}. Choose two of them.")
    return present[0], present[1]


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(label[:40] for label in labels[:10]) + (", …" if len(labels) > 10 else "")


def _place(row: TokenRow, position: str, prompt: int) -> int | None:
    """The token that is read in the clean (0) or the corrupted (1) prompt of a row."""
    if position == MEAN:
        return None
    place = row.positions.get(position, (None, None))[prompt]
    if place is None:
        known = ", ".join(name for name in row.positions if name != END)
        raise InputError(
            f"Row {row.number} has no position {position!r}{f' (it has {known})' if known else ''}. Name it in every "
            f"row, leave the row out, or read at {END!r} or {MEAN!r}."
        )
    return place


def _groups(
    prompt_set: PromptSet, rows: Sequence[TokenRow], column: str | None, class_of: Callable[[TokenRow], str]
) -> tuple[Callable[[TokenRow], str], bool]:
    """Which group a row is of, and whether a column says so."""

    def of_column(name: str) -> Callable[[TokenRow], str]:
        return lambda row: prompt_set.rows[row.number - 1].labels.get(name, "")

    if column is None:
        groups = {(class_of(row), of_column(TEMPLATE)(row)) for row in rows}
        several = all(sum(each == own for each, _ in groups) > 1 for own in {own for own, _ in groups})
        is_whole = all(group for _, group in groups)
        return (of_column(TEMPLATE), True) if several and is_whole else (lambda row: f"row {row.number}", False)
    if without := [row.number for row in rows if not of_column(column)(row)]:
        raise InputError(
            f"Row {without[0]} has nothing in the column {column!r}, so that it belongs to no group.\
{nearest(column, prompt_set.label_names)} Fill it in, or choose another column of groups."
        )
    return of_column(column), True


def _pairs(rows: Sequence[Example]) -> tuple[tuple[int, int], ...]:
    """Examples of the two classes that stand at the same place in their group, or, without groups, in the set."""
    sides: dict[bool, dict[str, list[int]]] = {True: {}, False: {}}
    own_group = len({row.group for row in rows}) == len(rows)
    for place, row in enumerate(rows):
        sides[row.is_positive].setdefault("" if own_group else row.group, []).append(place)
    pairs = [
        pair for group, places in sides[True].items() for pair in zip(places, sides[False].get(group, ()), strict=False)
    ]
    if not pairs:  # each group is of one class
        pairs = list(
            zip(
                *([place for places in sides[first].values() for place in places] for first in (True, False)),
                strict=False,
            )
        )
    return tuple(pairs)
