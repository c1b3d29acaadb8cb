"""A conversation as the text of a prompt, so that it goes wherever a prompt goes: into links, lists, files and scripts.

A plain text is what a user says. Several turns are JSON: the list of messages that chat files have, or an object with
`messages` and the options of transformers' `apply_chat_template`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headlight.model.base.errors import InputError

Message = Mapping[str, Any]  # "role" and "content", and what else a template may ask for

MAX_TURNS = 256
MESSAGES, CONTINUES, GENERATES = "messages", "continue_final_message", "add_generation_prompt"
THINKS = "enable_thinking"
EXAMPLE = '[{"role": "user", "content": "Hello"}]'


@dataclass(frozen=True)
class Conversation:
    """Turns, and how the template ends them; the names are those of transformers' `apply_chat_template`.

    Attributes:
        messages: the turns, each a mapping with `role` and `content`.
        add_generation_prompt: whether the text goes on to where the model's answer begins.
        continue_final_message: whether the last turn is left open, for the model to continue it.
        enable_thinking: whether the model may think before it answers, in templates that ask; None for their default.
    """

    messages: tuple[Message, ...]
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    enable_thinking: bool | None = None

    def __post_init__(self) -> None:
        """Check the turns.

        Raises:
            InputError: there is none, one has no role or text, or the two endings contradict each other.
        """
        if not 0 < len(self.messages) <= MAX_TURNS:
            raise InputError(f"A conversation has 1 to {MAX_TURNS} turns; this one has {len(self.messages):,}.")
        for number, message in enumerate(self.messages, start=1):
            for name in ("role", "content"):
                if not isinstance(message.get(name), str):
                    raise InputError(f"Turn {number} has no text under “{name}”. A conversation is such as {EXAMPLE}.")
        if self.add_generation_prompt and self.continue_final_message:
            raise InputError(
                "Either a new answer begins (add_generation_prompt) or the last turn goes on (continue_final_message)."
            )

    @classmethod
    def from_prompt(cls, prompt: str) -> "Conversation":
        """The conversation that a prompt is: its turns where it is their JSON, else what a user says.

        Raises:
            InputError: it is JSON of turns that are no conversation; the message says which turn.
        """
        value = _json_of_turns(prompt)
        if value is None:
            return cls(({"role": "user", "content": prompt},))
        settings = {MESSAGES: value} if isinstance(value, list) else value
        turns, continues = tuple(settings[MESSAGES]), _flag(settings, CONTINUES, False)
        thinks = None if settings.get(THINKS) is None else _flag(settings, THINKS, False)
        return cls(turns, _flag(settings, GENERATES, not continues), continues, thinks)

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of `apply_chat_template` beside the messages."""
        thinks = {} if self.enable_thinking is None else {THINKS: self.enable_thinking}
        return {GENERATES: self.add_generation_prompt, CONTINUES: self.continue_final_message, **thinks}

    def to_prompt(self) -> str:
        """The shortest prompt that `from_prompt` reads as this conversation."""
        messages = [dict(message) for message in self.messages]
        if self == Conversation(self.messages):
            alone = messages[0]["content"] if len(messages) == 1 else ""
            plain = messages == [{"role": "user", "content": alone}] and _json_of_turns(alone) is None
            return alone if plain else _compact(messages)
        endings = {CONTINUES: True} if self.continue_final_message else {}
        if not (self.add_generation_prompt or self.continue_final_message):
            endings = {GENERATES: False}
        thinks = {} if self.enable_thinking is None else {THINKS: self.enable_thinking}
        return _compact({MESSAGES: messages, **endings, **thinks})


def is_conversation_prompt(prompt: str) -> bool:
    """Whether a prompt is the JSON of turns, rather than the text of one."""
    return _json_of_turns(prompt) is not None


def _json_of_turns(prompt: str) -> list[Any] | dict[str, Any] | None:
    """The JSON of a conversation; None for any other text."""
    if not prompt.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(prompt)
    except (ValueError, RecursionError):
        return None
    turns = value.get(MESSAGES) if isinstance(value, dict) else value
    is_turns = isinstance(turns, list) and turns and all(isinstance(turn, dict) and "role" in turn for turn in turns)
    return value if is_turns else None


def _flag(settings: Mapping[str, Any], name: str, default: bool) -> bool:
    value = settings.get(name, default)
    if not isinstance(value, bool):
        raise InputError(f"“{name}” of the conversation is {json.dumps(value)[:40]}; it is true or false.")
    return value


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
