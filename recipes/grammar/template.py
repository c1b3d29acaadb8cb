"""Sentence templates, the questions they ask, and what is held out of training."""

import hashlib
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Split = Literal["train", "held_out_templates", "held_out_fillers"]
Slots = dict[str, str]

_QUESTION = re.compile(r" <([^/<>]+)/([^/<>]+)>")


@dataclass(frozen=True)
class Example:
    """A text and the question in it: after `prompt`, the right next word is `answer` and not `distractor`.

    `text` starts with `prompt + answer`; both words carry their leading space. All three are empty where `text` asks
    nothing.
    """

    text: str
    prompt: str = ""
    answer: str = ""
    distractor: str = ""


@dataclass(frozen=True)
class Template:
    """A text with `{slots}` and at most one question, written ` <answer/distractor>`."""

    source: str

    @cached_property
    def parts(self) -> list[str]:
        """Prompt, answer, distractor and rest, or the whole source alone where it asks nothing."""
        return _QUESTION.split(self.source)

    def example(self, slots: Slots) -> Example:
        if len(self.parts) == 1:
            return Example(self.source.format_map(slots))
        prompt, answer, distractor, rest = (part.format_map(slots) for part in self.parts)
        return Example(f"{prompt} {answer}{rest}", prompt, " " + answer, " " + distractor)


@dataclass(frozen=True)
class Family:
    """Templates over one set of slots.

    `fill` draws the slots. `told_by(slots, template source)` are the words by which they are held out: `percent` of all
    such words are those that training must never see.
    """

    name: str
    templates: tuple[Template, ...]
    held_out_templates: tuple[Template, ...]
    fill: Callable[[random.Random], Slots]
    told_by: Callable[[Slots, str], Iterable[str]]
    percent: int = 10

    def examples(self, rng: random.Random, split: Split = "train") -> Iterator[Example]:
        """Endless examples: `train`, its fillers in held-out templates, or held-out fillers in its templates."""
        templates = self.held_out_templates if split == "held_out_templates" else self.templates
        wanted = split == "held_out_fillers"
        while True:
            template, slots = rng.choice(templates), self.fill(rng)
            told_by = self.told_by(slots, template.source)
            if in_held_out_share(self.percent, self.name, *told_by) == wanted:
                yield template.example(slots)


def templates(lines: str) -> tuple[Template, ...]:
    """One template a line; blank lines only group them."""
    return tuple(Template(line) for line in lines.splitlines() if line)


def in_held_out_share(percent: int, *parts: str) -> bool:
    """A coin that shows True for `percent` of all `parts`, and always the same for the same ones, on every machine."""
    digest = hashlib.sha256("\n".join(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") % 100 < percent
