"""What may be asked of a model: limits on typed prompts, and the example prompts."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model.errors import InputError

MAX_CHARACTERS = 50_000  # refused before tokenizing; 1024 of GPT-2's tokens are about 4500 characters of English

EXAMPLES = Path(__file__).parent.parent / "assets" / "prompts" / "examples.json"


@dataclass(frozen=True)
class Example:
    """A prompt worth a look, or two: on which page, and one sentence on what to look at.

    Without `heads` ((layer, head) pairs) the page picks those whose patterns on this prompt are the clearest, which is
    right for any model.
    """

    title: str
    prompt: str
    view: str
    look_at: str
    prompt_b: str | None = None
    heads: tuple[tuple[int, int], ...] | None = None


@cache
def examples() -> tuple[Example, ...]:
    """The example prompts; the first is what a newcomer sees."""
    return tuple(_example(**entry) for entry in json.loads(EXAMPLES.read_text(encoding="utf-8")))


def _example(heads: list[list[int]] | None = None, **texts: str) -> Example:
    pairs = None if heads is None else tuple((layer, head) for layer, head in heads)
    return Example(heads=pairs, **texts)


def check_text(prompt: str) -> None:
    """What can be refused before tokenizing.

    Raises:
        InputError: nothing typed, nothing but spaces, or far too much.
    """
    if not prompt:
        raise InputError("The prompt is empty. Type a sentence, or pick one of the examples.")
    if prompt.isspace():
        raise InputError(
            f"The prompt is {len(prompt)} spaces or line breaks and nothing else. Type a sentence, or pick an example."
        )
    if len(prompt) > MAX_CHARACTERS:
        raise InputError(
            f"The prompt has {len(prompt):,} characters; at most {MAX_CHARACTERS:,} are taken. Shorten it."
        )


def check_length(n_tokens: int, n_ctx: int, bos: bool) -> None:
    """A prompt is never cut silently.

    Raises:
        InputError: more tokens than the model's context holds; the message gives both counts.
    """
    if n_tokens > n_ctx:
        counted = ", the beginning-of-sequence token included" if bos else ""
        raise InputError(
            f"The prompt has {n_tokens:,} tokens{counted}; this model's context holds {n_ctx:,}. "
            f"That is {n_tokens - n_ctx:,} too many: shorten it."
        )
