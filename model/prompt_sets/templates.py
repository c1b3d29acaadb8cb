"""Sets of prompts written as templates: texts with slots, whose values are drawn and whose places name positions."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from string import Formatter

from headlight.model.base.errors import InputError, nearest
from headlight.model.prompt_sets.prompt_set import MAX_ROWS, Place, PromptPair, PromptSet
from headlight.model.text.tokenizer import Tokenizer

ALTERNATIVES = "|"  # between several answers
MAX_LISTED = 20_000  # combinations that are all listed; of more, rows are drawn until enough differ
MAX_DRAWS = 100  # for each row that is wanted
TEMPLATE = "template"  # the label that says which template a row is of

Row = dict[str, str]  # the value of each slot, and of each form of it


@dataclass(frozen=True)
class PromptTemplate:
    """A prompt with slots: "When {A} and {B} went to the {place}, {B} gave a {thing} to".

    No two slots of a row have the same value. A slot `{noun.plural}` is another form of `{noun}`: its values stand in
    the same order. Each slot names the position of its last token: "A", "B", "place", "B 2", "thing".

    Attributes:
        text: the clean prompt.
        corrupted: the corrupted prompt, of the same slots and more; empty for none. `swapped` writes one.
        answers: right answers, each with its space, such as " {A}"; "|" parts several.
        wrong_answers: wrong ones.
        values: the values of each slot.
        names: other names of positions, such as {"B": "S1", "B 2": "S2"}.
        labels: what is the same in every row, such as {"number": "plural"}.
        title: what its rows are called in the label "template"; by default its text.
    """

    text: str
    corrupted: str = ""
    answers: tuple[str, ...] = ()
    wrong_answers: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    title: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise InputError("The template is empty. Write a prompt with slots in braces, such as {name}.")
        for slot in self.slots:
            if not self.values.get(slot):
                raise InputError(f"The slot {{{slot}}} has no values.{nearest(slot, self.values)} Give it some.")
            if any(not value for value in self.values[slot]):
                raise InputError(f"A value of the slot {{{slot}}} is empty. Remove it.")
            if len(self.values[slot]) != len(self.values.get(_base(slot), ())):
                raise InputError(
                    f"The slot {{{slot}}} has {len(self.values[slot])} values and {{{_base(slot)}}} "
                    f"{len(self.values.get(_base(slot), ()))}: give every value its form, in the same order."
                )

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots of the prompts and answers, in order of appearance."""
        texts = (self.text, self.corrupted, *self.answers, *self.wrong_answers)
        return tuple(dict.fromkeys(slot for text in texts for _, slot in _pieces(text) if slot))

    def sample(self, n: int, seed: int = 0) -> list[PromptPair]:
        """Draw rows, no two with the same prompts and answers.

        Raises:
            InputError: there are not so many different ones.
        """
        rows: dict[object, PromptPair] = {}
        for chosen in self._choices(n, random.Random(seed)):
            pair = self._pair(chosen)
            rows.setdefault((pair.clean, pair.corrupted, pair.answers), pair)
            if len(rows) == n:
                return list(rows.values())
        raise InputError(
            f"The template gives {len(rows):,} different rows, and {n:,} are wanted. Ask for fewer, or give its slots "
            "more values."
        )

    def with_equal_tokens(self, tokenizer: Tokenizer) -> "PromptTemplate":
        """The template with those values alone that have the commonest number of tokens, and answers of one token.

        Raises:
            InputError: a slot has no value left.
        """
        allowed: dict[str, set[int]] = {}
        for text in (self.text, self.corrupted):
            for before, slot in _pieces(text):
                if slot:
                    counts = [_n_tokens(tokenizer, before[-1:], value) for value in self.values[slot]]
                    usual = Counter(sorted(counts)).most_common(1)[0][0]
                    fitting = {at for at, count in enumerate(counts) if count == usual}
                    allowed[_base(slot)] = allowed.get(_base(slot), fitting) & fitting
        for text in (*self.answers, *self.wrong_answers):
            for before, slot in _pieces(text):
                if slot:
                    fitting = {at for at, value in enumerate(self.values[slot]) if _is_single(tokenizer, before, value)}
                    allowed[_base(slot)] = allowed.get(_base(slot), fitting) & fitting
        if empty := next((slot for slot, places in allowed.items() if not places), None):
            raise InputError(
                f"No value of the slot {{{empty}}} fits: they differ in their numbers of tokens, or are answers of "
                "several tokens. Give other values."
            )
        kept = {
            slot: tuple(value for at, value in enumerate(values) if at in allowed.get(_base(slot), {at}))
            for slot, values in self.values.items()
        }
        return replace(self, values=kept)

    def _choices(self, n: int, rng: random.Random) -> Iterator[Row]:
        """Values for the slots, in random order; every combination where they can be listed."""
        bases = list(dict.fromkeys(_base(slot) for slot in self.slots))
        pools = [range(len(self.values[base])) for base in bases]
        if math.prod(map(len, pools)) <= MAX_LISTED:
            listed = list(itertools.product(*pools))
            rng.shuffle(listed)
            drawn: Iterator[Sequence[int]] = iter(listed)
        else:
            drawn = ([rng.choice(pool) for pool in pools] for _ in range(MAX_DRAWS * max(n, 100)))
        for places in drawn:
            place = dict(zip(bases, places, strict=True))
            if len({self.values[base][at] for base, at in place.items()}) == len(bases):
                yield {slot: self.values[slot][place[_base(slot)]] for slot in self.slots}

    def _pair(self, row: Row) -> PromptPair:
        clean, spans = _filled(self.text, row)
        corrupted, others = _filled(self.corrupted, row) if self.corrupted else (None, [])
        positions = {
            self.names.get(name, name): (span, other)
            for (name, span), other in zip(_numbered(spans), _counterparts(spans, others), strict=True)
        }
        labels = {slot: row[slot] for slot in row if "." not in slot}
        title = {TEMPLATE: self.title or self.text}
        answers, wrong = (_answers(forms, row) for forms in (self.answers, self.wrong_answers))
        return PromptPair(clean, corrupted, answers, wrong, positions, {**labels, **self.labels, **title})


def swapped(text: str, a: str, b: str) -> str:
    """A template's text with two slots exchanged wherever they stand, for its corrupted prompt.

    Raises:
        InputError: one of them is not in it.
    """
    other = {a: b, b: a}
    return _rewritten(text, (a, b), lambda slot, _: other.get(slot, slot))


def replaced(text: str, slot: str, by: str, occurrence: int | None = None) -> str:
    """A template's text with another slot in one's place: wherever it stands, or its first, second, … occurrence.

    Raises:
        InputError: it is not in it.
    """
    return _rewritten(text, (slot,), lambda name, count: by if name == slot and occurrence in (None, count) else name)


def from_templates(name: str, templates: Sequence[PromptTemplate], n: int, seed: int = 0) -> PromptSet:
    """A set of n rows, as many of each template as of the others, in turn.

    Raises:
        InputError: a template gives fewer different rows, or none is given.
    """
    if not templates or not len(templates) <= n <= MAX_ROWS:
        raise InputError(f"Ask for {len(templates) or 1} to {MAX_ROWS:,} rows, of at least one template.")
    shares = [n // len(templates) + (at < n % len(templates)) for at in range(len(templates))]
    rows = [
        template.sample(share, seed + at) for at, (template, share) in enumerate(zip(templates, shares, strict=True))
    ]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*rows))
    return PromptSet(name, tuple(row for row in in_turn if row is not None))


def _rewritten(text: str, slots: Sequence[str], name: Callable[[str, int], str]) -> str:
    pieces = _pieces(text)
    present = {slot for _, slot in pieces}
    for wanted in slots:
        if wanted not in present:
            raise InputError(f"There is no slot {{{wanted}}} in the template.")
    counts = Counter[str]()
    written = ""
    for before, slot in pieces:
        written += before.replace("{", "{{").replace("}", "}}")
        if slot:
            counts[slot] += 1
            written += f"{{{name(slot, counts[slot])}}}"
    return written


@lru_cache(2**10)
def _pieces(text: str) -> tuple[tuple[str, str | None], ...]:
    """The text before each slot, and the slot; None behind the last."""
    try:
        pieces = tuple(Formatter().parse(text))
        for _, slot, spec, conversion in pieces:
            if slot is not None and (not slot.strip() or spec or conversion):
                raise ValueError(f"{{{slot}}} is no name")
    except ValueError as error:
        raise InputError(
            f"The template {text!r} cannot be read ({error}). A slot is a name in braces, {{name}}; write a brace of "
            "the text itself twice."
        ) from error
    return tuple((before, slot) for before, slot, _, _ in pieces)


def _base(slot: str) -> str:
    return slot.partition(".")[0]


def _filled(text: str, row: Row) -> tuple[str, list[tuple[str, tuple[int, int]]]]:
    """The text with its slots filled, and each slot's characters."""
    filled, spans = "", list[tuple[str, tuple[int, int]]]()
    for before, slot in _pieces(text):
        filled += before
        if slot:
            spans.append((slot, (len(filled), len(filled) + len(row[slot]))))
            filled += row[slot]
    return filled, spans


def _numbered(spans: Sequence[tuple[str, tuple[int, int]]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The slots by the names of their positions: the second place of {B} is "B 2"."""
    counts = Counter[str]()
    for slot, span in spans:
        counts[slot] += 1
        yield slot if counts[slot] == 1 else f"{slot} {counts[slot]}", span


def _counterparts(
    spans: Sequence[tuple[str, tuple[int, int]]], others: Sequence[tuple[str, tuple[int, int]]]
) -> list[Place | None]:
    """Where each slot's counterpart lies in the corrupted prompt: by their order if there are as many, else by name."""
    if len(spans) == len(others):
        return [span for _, span in others]
    by_name = dict(_numbered(others))
    return [by_name.get(name) for name, _ in _numbered(spans)]


def _answers(forms: Sequence[str], row: Row) -> tuple[str, ...]:
    return tuple(answer for form in forms for answer in _alternatives(_filled(form, row)[0]))


def _alternatives(text: str) -> list[str]:
    """Several answers in one text; a space before the first counts for all."""
    space = text[: len(text) - len(text.lstrip(" "))]
    return [space + answer.removeprefix(space) for answer in text.split(ALTERNATIVES)]


def _n_tokens(tokenizer: Tokenizer, before: str, value: str) -> int:
    start = f"a{before}"
    return tokenizer.to_tokens(start + value).shape[1] - tokenizer.to_tokens("a").shape[1]


def _is_single(tokenizer: Tokenizer, before: str, value: str) -> bool:
    return all(
        tokenizer.to_tokens(answer).shape[1] == 1 or _n_tokens(tokenizer, "", answer) == 1
        for answer in _alternatives(before + value)
    )
