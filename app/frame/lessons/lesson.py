"""A lesson as it is written: a Markdown file of steps, each with a link to a page, a text, a question and its check.

A file may come from a stranger. It is data: there is no HTML, no picture and no address in it, and links lead to pages
of this server alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from headlight.app.frame.lessons.quantities import Quantity, read_quantity
from headlight.model.base.errors import InputError

MAX_CHARACTERS = 60_000
MAX_STEPS, MAX_LINES, MAX_WORDS = 40, 2_000, 20_000
MAX_TITLE, MAX_LINK = 120, 8_000  # characters
MINUTES = range(1, 181)
FIELDS = ("Link", "Part", "Question", "Check", "Answer")
REFUSED = {
    re.compile(r"</?[A-Za-z][\w-]*[\s/>]|<!--"): "HTML",
    re.compile(r"!\[|\]\s*\("): "a picture or a link",
    re.compile(r"\b(?:https?|ftp|data|javascript):|\bwww\.", re.IGNORECASE): "an address",
    re.compile(r"^\s+[-*+]\s|^[*+]\s|^\s*\d+[.)]\s"): "a nested or numbered list (points begin with - )",
    re.compile(r"^\s*(?:\||>|```|~~~)"): "a table, a quotation or a block of code",
}
SPANS = re.compile(
    r"\{(?P<text>[^{}=]+) = (?P<quantity>[^{}]+)\}|\*\*(?P<strong>[^*]+)\*\*|\*(?P<em>[^*\s][^*]*)\*|`(?P<code>[^`]+)`"
)
Span = tuple[str, str]
"""A kind (strong, em, code, fact, or nothing) and a text."""


@dataclass(frozen=True)
class Fact:
    """Something that a text says of the model: as it is shown, and the quantity that it is."""

    text: str
    quantity: Quantity


@dataclass(frozen=True)
class Check:
    """A quantity that is asked for; a number counts if it is within the tolerance, a head if its score is."""

    quantity: Quantity
    tolerance: float = 0.0


@dataclass(frozen=True)
class Step:
    """A step: its title, the query of its page's address, its paragraphs, and a question with check and answer.

    `part` begins the heading of the part of the page that the step speaks of; without it that is the page's top.
    """

    title: str
    query: tuple[tuple[str, str], ...] = ()
    text: tuple[tuple[Span, ...], ...] = ()
    question: tuple[Span, ...] = ()
    check: Check | None = None
    answer: tuple[tuple[Span, ...], ...] = ()
    facts: tuple[Fact, ...] = ()
    part: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson: what it is about, how long it takes, the model that it is true of, and its steps."""

    title: str
    minutes: int
    model: str
    steps: tuple[Step, ...]
    about: str = ""


def read_lesson(text: str) -> Lesson:
    """Read a lesson.

    Raises:
        InputError: it is no lesson; the message names the line.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"The lesson has {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken.")
    lines = list(enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), 1))
    for number, line in lines:
        _check_line(number, line)
    head, body = _front_matter(lines)
    minutes = _minutes(*head["minutes"])
    steps = tuple(_step(block) for block in _blocks(body))
    if not steps:
        raise InputError("The lesson has no step. A step begins with a heading: ## and its title.")
    if len(steps) > MAX_STEPS:
        raise InputError(f"The lesson has {len(steps)} steps; at most {MAX_STEPS} are taken.")
    title, model, about = (head.get(name, (0, ""))[1] for name in ("title", "model", "about"))
    return Lesson(title, minutes, model, steps, about)


def _check_line(number: int, line: str) -> None:
    for pattern, kind in REFUSED.items():
        if pattern.search(line):
            raise InputError(f"Line {number} has {kind}, which lessons do not take: {line.strip()[:80]}")
    if control := re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", line):
        raise InputError(f"Line {number} has a control character (U+{ord(control[0]):04X}).")


def _front_matter(lines: Sequence[tuple[int, str]]) -> tuple[dict[str, tuple[int, str]], list[tuple[int, str]]]:
    """Title, minutes, model and subject between two lines of ---, each with its line's number, and what follows."""
    ends = [place for place, (_, line) in enumerate(lines) if line.strip() == "---"]
    if len(ends) < 2 or any(line.strip() for _, line in lines[: ends[0]]):
        raise InputError("Line 1: a lesson begins with a line of ---, its title, minutes and model, and --- again.")
    head: dict[str, tuple[int, str]] = {}
    for number, line in lines[ends[0] + 1 : ends[1]]:
        name, colon, value = map(str.strip, line.partition(":"))
        if not line.strip():
            continue
        if not colon or name not in ("title", "minutes", "model", "about") or not value or len(value) > MAX_TITLE:
            raise InputError(
                f"Line {number}: write title:, minutes:, model: or about:, and at most {MAX_TITLE} characters."
            )
        head[name] = number, value
    if missing := [name for name in ("title", "minutes", "model") if name not in head]:
        raise InputError(f"Line {lines[ends[1]][0]}: the lesson's {' and '.join(missing)} are not given above.")
    return head, list(lines[ends[1] + 1 :])


def _minutes(number: int, value: str) -> int:
    if not value.isascii() or not value.isdigit() or int(value[:4]) not in MINUTES:
        raise InputError(f"Line {number}: minutes is a whole number from {MINUTES[0]} to {MINUTES[-1]}, not {value}.")
    return int(value)


def _blocks(lines: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """The lines of each step, its heading first."""
    block: list[tuple[int, str]] = []
    for number, line in lines:
        if line.startswith("## "):
            if block:
                yield block
            block = [(number, line)]
        elif block:
            block.append((number, line))
        elif line.strip():
            raise InputError(f"Line {number} stands before the first step. A step begins with ## and its title.")
    if block:
        yield block


def _step(block: Sequence[tuple[int, str]]) -> Step:
    (number, heading), *rest = block
    title = heading[3:].strip()
    if not title or len(title) > MAX_TITLE:
        raise InputError(f"Line {number}: a step's title has 1 to {MAX_TITLE} characters.")
    parts: dict[str, list[tuple[int, str]]] = {}
    for first, paragraph in _paragraphs(rest):
        name, colon, value = paragraph.partition(":")
        if colon and name in FIELDS:
            if name in parts:
                raise InputError(f"Line {first}: this step has {name}: already.")
            parts[name] = [(first, value.strip())]
        elif "Answer" in parts:
            parts["Answer"].append((first, paragraph))
        elif "Question" in parts or "Check" in parts:
            raise InputError(f"Line {first} stands between question and answer. Write the text before the question.")
        else:
            parts.setdefault("text", []).append((first, paragraph))
    return _of_parts(title, number, parts)


def _of_parts(title: str, number: int, parts: dict[str, list[tuple[int, str]]]) -> Step:
    facts: list[Fact] = []

    def spans(name: str) -> tuple[tuple[Span, ...], ...]:
        return tuple(tuple(_spans(first, text, facts)) for first, text in parts.get(name, []) if text)

    if ("Check" in parts or "Answer" in parts) and "Question" not in parts:
        raise InputError(f"Line {number}: this step has an answer or a check and no question.")
    ((part_line, part),) = parts.get("Part", [(number, "")])
    if len(part) > MAX_TITLE:
        raise InputError(f"Line {part_line}: a heading of a page has at most {MAX_TITLE} characters.")
    ((link_line, link),) = parts.get("Link", [(number, "")])
    ((check_line, check),) = parts.get("Check", [(number, "")])
    return Step(
        title=title,
        query=_query(link_line, link),
        text=spans("text"),
        question=next(iter(spans("Question")), ()),
        check=_check(check_line, check) if check else None,
        answer=spans("Answer"),
        facts=tuple(facts),
        part=part,
    )


def _paragraphs(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Paragraphs with the numbers of their first lines; a line of a list, and one with a field's name, begins one."""
    paragraph: list[str] = []
    first = 0
    for number, line in lines:
        begins = line.startswith("- ") or line.partition(":")[0] in FIELDS
        if paragraph and (begins or not line.strip()):
            yield first, " ".join(paragraph)
            paragraph = []
        if line.startswith("#"):
            raise InputError(f"Line {number}: a heading is ## and a step's title.")
        if line.strip():
            first = first if paragraph else number
            paragraph.append(line.strip())
    if paragraph:
        yield first, " ".join(paragraph)


def _spans(number: int, text: str, facts: list[Fact]) -> Iterator[Span]:
    at = 0
    for match in SPANS.finditer(text):
        if before := text[at : match.start()]:
            yield "", before
        at = match.end()
        if (fact := match["text"]) is None:
            yield next((kind, match[kind]) for kind in ("strong", "em", "code") if match[kind] is not None)
            continue
        facts.append(Fact(fact.strip(), _quantity(number, match["quantity"])))
        yield "fact", fact.strip()
    if rest := text[at:]:
        yield "", rest


def _query(number: int, link: str) -> tuple[tuple[str, str], ...]:
    if not link:
        return ()
    if not link.startswith("?") or len(link) > MAX_LINK:
        raise InputError(f"Line {number}: a link is ? and what stands behind it in a page's address.")
    try:
        query = parse_qsl(link[1:], keep_blank_values=True, strict_parsing=True, max_num_fields=100)
    except ValueError as error:
        raise InputError(f"Line {number}: this link cannot be read. Copy it from a page's address.") from error
    return tuple((name, value) for name, value in query if name not in ("lesson", "step"))


def _check(number: int, text: str) -> Check:
    words, sign, tolerance = map(str.strip, text.partition("±"))
    quantity = _quantity(number, words)
    if bool(sign) != (quantity.kind == "number"):
        raise InputError(f"Line {number}: a number is checked with ± and a tolerance, a head or a token without.")
    if not sign:
        return Check(quantity)
    try:
        within = float(tolerance.removesuffix("%")) / (100 if tolerance.endswith("%") else 1)
    except ValueError:
        within = -1.0
    if not 0 <= within < 1e6:
        raise InputError(f"Line {number}: ± takes a number such as 0.05 or 5%, not {tolerance or 'nothing'}.")
    return Check(quantity, within)


def _quantity(number: int, text: str) -> Quantity:
    try:
        return read_quantity(text)
    except InputError as error:
        raise InputError(f"Line {number}: {error}") from error
