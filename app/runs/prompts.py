"""Limits on typed prompts, and the example prompts."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headlight.model.base.errors import InputError
from headlight.model.text.chat import Begin, is_begun

EMPTY = "is empty. Enter a sentence, or choose an example."
MAX_CHARACTERS = 50_000  # refused before tokenizing; 1024 of GPT-2's tokens are about 4500 characters of English

PROMPTS = Path(__file__).parents[2] / "assets" / "prompts"
EXAMPLES, SOURCES = PROMPTS / "examples.json", PROMPTS / "sources.json"


@dataclass(frozen=True)
class Example:
    """One or two example prompts: the page for them, and one sentence on what to look at.

    It opens its `model`, of which what it says is true. Without `heads` ((layer, head) pairs) the page picks those
    whose patterns on this prompt are the clearest, which is right for any model.
    """

    title: str
    model: str
    prompt: str
    view: str
    look_at: str
    prompt_b: str | None = None
    heads: tuple[tuple[int, int], ...] | None = None

    @property
    def name(self) -> str:
        """The title and the model that comes with it."""
        return f"{self.title} · {self.model}"


@cache
def examples() -> tuple[Example, ...]:
    """The example prompts; the first is the default."""
    return tuple(_example(**entry) for entry in json.loads(EXAMPLES.read_text(encoding="utf-8")))


def first_prompt(model: str) -> str:
    """The prompt that a model opens with: its own first example, or else the first of all."""
    return next((example.prompt for example in examples() if example.model == model), examples()[0].prompt)


@dataclass(frozen=True)
class SourceExample:
    """Example source for an encoder-decoder that comes with the project, and one sentence on what to look at."""

    title: str
    model: str
    source: str
    look_at: str

    @property
    def name(self) -> str:
        """The title and the model that comes with it."""
        return f"{self.title} · {self.model}"


@cache
def source_examples() -> tuple[SourceExample, ...]:
    """The example sources; the first is the default."""
    return tuple(SourceExample(**entry) for entry in json.loads(SOURCES.read_text(encoding="utf-8")))


def first_source(model: str) -> SourceExample:
    """The first example of a model, or of any; of a model without examples one that is empty."""
    own = (example for example in source_examples() if model in ("", example.model))
    return next(own, SourceExample("", model, "", ""))


def _example(heads: list[list[int]] | None = None, **texts: str) -> Example:
    pairs = None if heads is None else tuple((layer, head) for layer, head in heads)
    return Example(heads=pairs, **texts)


def check_text(text: str, called: str = "prompt") -> None:
    """Refuse texts that can be refused before tokenizing.

    Raises:
        InputError: nothing typed, nothing but spaces, or far too much.
    """
    if not text:
        raise InputError(f"The {called} {EMPTY}")
    if text.isspace():
        raise InputError(
            f"The {called} is {len(text)} spaces or line breaks and nothing else. Type a sentence, or pick an example."
        )
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"The {called} has {len(text):,} characters; at most {MAX_CHARACTERS:,} are taken. Shorten it."
        )


def check_length(n_tokens: int, n_ctx: int, bos: Begin) -> None:
    """A prompt is never cut silently.

    Raises:
        InputError: more tokens than the model's context holds; the message gives both counts.
    """
    if n_tokens > n_ctx:
        around = "what the chat template puts around it" if bos == "chat" else "the beginning-of-sequence token"
        counted = f", {around} included" if is_begun(bos) else ""
        raise InputError(
            f"The prompt has {n_tokens:,} tokens{counted}; this model's context holds {n_ctx:,}. "
            f"That is {n_tokens - n_ctx:,} too many: shorten it."
        )
