"""A conversation as the text that a model was trained on, by the template that lies beside its weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headlight.model.errors import InputError

Begin = bool | Literal["chat"]
"""What a text begins with: nothing, the beginning-of-sequence token, or a user's turn by the chat template.

That puts all around the text, up to where the model's answer begins."""
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
        from transformers.utils.chat_template_utils import render_jinja_template  # a second, which few need

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


def template_of(folder: Path, settings: Mapping[str, Any]) -> str | None:
    """A folder's chat template: a file of its own, or in tokenizer_config.json, alone or the default of several."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    told = settings.get("chat_template")
    if isinstance(told, list):
        told = {each.get("name"): each.get("template") for each in told if isinstance(each, dict)}.get("default")
    return told if isinstance(told, str) else None
