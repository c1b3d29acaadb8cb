"""Which tokens of a rendered conversation belong to which turn.

A template is a program: it may move a system message into the first question, add one of its own, or leave parts out.
So a turn's end is looked for in the text: behind its content, and as far as the template goes on as it does without the
turns behind it.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from typing import TYPE_CHECKING

from headlight.model.base.errors import InputError
from headlight.model.text.conversation import Conversation

if TYPE_CHECKING:
    from headlight.model.text.tokenizer import Tokenizer

BY_TEMPLATE = (
    "template"  # the role of what stands before the first turn, such as a system message of the template's own
)
ANSWERS = "assistant"


@dataclass(frozen=True)
class Turn:
    """The tokens [start, stop) of a turn, and its role; the last may be the answer that only begins."""

    role: str
    start: int
    stop: int


def turns_of(tokenizer: "Tokenizer", prompt: str, n_written: int = 0) -> tuple[Turn, ...]:
    """The turns of a prompt that was run with the chat template, in order and without gaps.

    Args:
        tokenizer: of the model.
        prompt: a text that a user says, or the JSON of a `Conversation`.
        n_written: tokens that the model wrote behind it, which belong to the last turn.

    Returns:
        No turns where the tokenizer does not say where its tokens lie in the text.

    Raises:
        InputError: the template refuses the conversation.
    """
    conversation = Conversation.from_prompt(prompt)
    text = tokenizer.render(conversation)
    (encoded,) = tokenizer.encode_batch([text], False, True)
    if encoded.encoding is None:
        return ()
    starts = [start for start, _ in encoded.encoding.offsets]
    first, ends = _template_end(tokenizer, conversation, text), _turn_ends(tokenizer, conversation, text)
    roles = [str(message["role"]) for message in conversation.messages]
    if conversation.add_generation_prompt:
        roles.append(ANSWERS)
        ends.append(len(text))
    ends[-1] = len(text)
    begins = [first, *(max(first, end) for end in ends[:-1])]
    places = [bisect_left(starts, begin) for begin in begins]
    spans = zip([BY_TEMPLATE, *roles], [0, *places], [*places, len(starts)], strict=True)
    turns = [Turn(role, start, stop) for role, start, stop in spans if start < stop]
    return (*turns[:-1], replace(turns[-1], stop=turns[-1].stop + n_written))


def _turn_ends(tokenizer: "Tokenizer", conversation: Conversation, text: str) -> list[int]:
    """The character behind each turn's last."""
    ends, at = list[int](), 0
    for count, message in enumerate(conversation.messages, start=1):
        content, alone = message["content"].strip(), _rendered(tokenizer, conversation, count)
        shared, behind = _shared(alone, text), alone.rfind(content) + len(content)
        if shared >= behind and content in alone:
            at = max(at, shared)
        elif (begin := text.find(content, at)) >= 0:  # the template treats an earlier turn otherwise than the last
            at = begin + len(content)
            at += _shared(alone[behind:], text[at:])
        else:  # it has changed the content, as by leaving out a thought
            at = max(at, shared)
        ends.append(at)
    return ends


def _shared(one: str, other: str) -> int:
    """The number of characters that two texts begin with alike."""
    return sum(takewhile(bool, map(eq, one, other)))


def _rendered(tokenizer: "Tokenizer", conversation: Conversation, count: int) -> str:
    """The first turns alone; empty where the template refuses them."""
    alone = Conversation(conversation.messages[:count], False, False, conversation.enable_thinking)
    try:
        return tokenizer.render(alone)
    except InputError:
        return ""


def _template_end(tokenizer: "Tokenizer", conversation: Conversation, text: str) -> int:
    """The character behind a turn that the template put before the first one; 0 without any."""
    ends, content = tokenizer.end_of_turn, conversation.messages[0]["content"].strip()
    if ends is None:
        return 0
    alone = _rendered(tokenizer, conversation, 1)
    begin = alone.rfind(content)
    before = text[: begin if begin >= 0 and text.startswith(alone[:begin]) else max(text.find(content), 0)]
    (mark,) = tokenizer.to_str_tokens([ends])
    head, end, tail = before.rpartition(mark)
    return len(head) + len(end) + len(tail) - len(tail.lstrip()) if end and head.strip() else 0
