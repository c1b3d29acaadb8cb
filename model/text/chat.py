"""A conversation as the text that a model was trained on, by the template that lies beside its weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.errors import InputError
from headlight.model.importing import IMPORTING

Begin = bool | Literal["chat", "literal", "bos_literal"]
"""What a text begins with: nothing, the beginning-of-sequence token, or a user's turn by the chat template.

That puts all around the text, up to where the model's answer begins. "literal" is nothing and "bos_literal" that token,
and the spelling of a special token in the text is no token of its own then, but text like any other."""
LITERAL: tuple[Begin, ...] = ("literal", "bos_literal")
Message = Mapping[str, Any]  # "role" and "content", and what else a template may ask for


@dataclass(frozen=True)
class ChatTemplate:
    """A template in Jinja's language, and the special tokens that it may name, by their roles."""

    text: str
    special: Mapping[str, str]

    def apply(self, messages: Sequence[Message], add_generation_prompt: bool = True) -> str:
        """The text of a conversation, by default up to where the model's answer begins.

        Raises:
            InputError: jinja2 is not installed, or the template refuses the conversation; the message says why.
        """
        with IMPORTING:  # a second, which few need
            from transformers.utils.chat_template_utils import render_jinja_template

        try:
            conversation, names = [dict(message) for message in messages], dict[str, Any](self.special)
            rendered: Any = render_jinja_template(
                [conversation], chat_template=self.text, add_generation_prompt=add_generation_prompt, **names
            )
        except ImportError as error:
            raise InputError("Chat templates need jinja2: pip install jinja2.") from error
        except Exception as error:  # whatever the template raises
            raise InputError(f"The chat template does not take this conversation ({error}).") from error
        return str(rendered[0][0])


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
