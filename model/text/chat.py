"""A conversation as the text that a model was trained on, by the template that lies beside its weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headlight.model.base.errors import InputError
from headlight.model.text.child_process import ChildProcess, as_line
from headlight.model.text.conversation import THINKS, Conversation

Begin = bool | Literal["chat", "literal", "bos_literal"]
"""How a text begins: as it is, with the beginning-of-sequence token, or as a `Conversation` in the chat template.

A plain text is a user's turn, up to where the model's answer begins. "literal" is nothing and "bos_literal" that token,
and the spelling of a special token in the text is no token of its own then, but text like any other."""
LITERAL: tuple[Begin, ...] = ("literal", "bos_literal")

TEMPLATES = ChildProcess("templates")
TOO_MUCH = "it takes too much time or memory, as one that never ends would. Begin without it"


@dataclass(frozen=True)
class ChatTemplate:
    """A template in Jinja's language, and the special tokens that it may name, by their roles."""

    text: str
    special: Mapping[str, str]

    @property
    def may_think(self) -> bool:
        """Whether the template asks if the model is to think before it answers."""
        return THINKS in self.text

    def apply(self, conversation: Conversation) -> str:
        """The text of a conversation.

        Raises:
            InputError: jinja2 is not installed, or the template refuses the conversation or takes too much time or
                memory; the message says why.
        """
        request = {
            "template": self.text,
            "messages": [dict(message) for message in conversation.messages],
            "settings": {**self.special, **conversation.settings},
        }
        try:
            line = as_line(request)
        except (TypeError, ValueError) as error:
            raise InputError(f"The conversation holds what is no JSON ({error}). Give texts and numbers.") from error
        answer = TEMPLATES.answer(line) or {"error": TOO_MUCH}
        if "lacks" in answer:
            raise InputError(f"Chat templates need {answer['lacks']}: pip install {answer['lacks']}.")
        if "error" in answer:
            raise InputError(f"The chat template does not take this conversation ({answer['error']}).")
        return answer["text"]


def no_template(names: Sequence[str]) -> InputError:
    """The refusal of a conversation where there is no chat template, or several by `names` without a default."""
    if names:
        return InputError(
            f"This model's tokenizer has chat templates called {', '.join(names)}, and none is the default. Copy the "
            "one that is meant into chat_template.jinja, in the model's folder."
        )
    return InputError(
        "This model's tokenizer has no chat template: it was not trained on conversations. Begin with its "
        "beginning-of-sequence token, or with nothing."
    )


def is_begun(begin: Begin) -> bool:
    """Whether anything stands before a text's own tokens."""
    return begin not in (False, "literal")


def prepends(begin: Begin) -> bool:
    """Whether a text begins with the beginning-of-sequence token."""
    return begin is True or begin == "bos_literal"


def is_literal(begin: Begin) -> bool:
    """Whether the spelling of a special token in a text is text like any other."""
    return begin in LITERAL


def as_literal(begin: Begin, literal: bool) -> Begin:
    """The same beginning with spellings of special tokens read as text, or as those tokens; chat has only these."""
    if begin == "chat":
        return begin
    return ("bos_literal" if prepends(begin) else "literal") if literal else prepends(begin)
