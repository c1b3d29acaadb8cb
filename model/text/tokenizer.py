"""Text to token ids, as a model's tokenizer makes them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headlight.model.base.errors import CheckpointError, InputError, naming
from headlight.model.base.files import write_text
from headlight.model.text.chat import Begin, ChatTemplate, is_literal, no_template, prepends
from headlight.model.text.conversation import Conversation, Message
from headlight.model.text.encoded_text import EncodedText
from headlight.model.text.growth import read_checked
from headlight.model.text.patterns import check_patterns
from headlight.model.text.tokenizer_files import (
    Encode,
    TokenizerFiles,
    names_in,
    read_own,
    read_with_transformers,
)
from headlight.model.text.vocabulary import FAILS, TokenIds, Vocabulary, flat_ids, refusing

if TYPE_CHECKING:
    import tokenizers

END_OF_TEXT = "<|endoftext|>"  # GPT-2's one special token, which also begins a sequence
ANY = "a"  # a text of which only what is put around it counts
MASKS = ("[MASK]", "<mask>")  # what BERT and RoBERTa call it, whose older folders do not say so


class Tokenizer(Vocabulary):
    """A model's tokenizer: text to token ids and back, and a visible label for every id.

    Special tokens in a text, such as <|endoftext|>, are parsed as in transformers; `parse_special=False` reads them as
    literal text. The beginning-of-sequence token is added only with `prepend_bos`, and with it the special tokens that
    the tokenizer itself puts around a text.
    """

    def __init__(
        self,
        backend: "tokenizers.Tokenizer",
        special: Sequence[str] = (),
        roles: Mapping[str, str] | None = None,
        chat_template: str | None = None,
        parses_special: bool = True,
        encode: Encode | None = None,
    ) -> None:
        """Wrap a tokenizer of the `tokenizers` library, or one in Python (`encode`) whose tokens that names.

        Those of the `special` tokens that it knows become special; `roles` name some by what they are for (bos_token,
        eos_token, mask_token). `parses_special` is what `parse_special` is where it is left out.
        """
        roles = roles or {}
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = False  # the library's name for leaving them literal
        backend.add_special_tokens([token for token in special if backend.token_to_id(token) is not None])
        super().__init__(backend)
        self._parses_special, self._roles, self._in_python = parses_special, roles, encode
        self._chat_template = None if chat_template is None else ChatTemplate(chat_template, roles)
        self._other_templates: tuple[str, ...] = ()
        self.adds_special = backend.num_special_tokens_to_add(False) > 0
        self.bos_token_id, self.eos_token_id = map(self._id_of, ("bos_token", "eos_token"))
        masks = (backend.token_to_id(token) for token in (roles.get("mask_token"), *MASKS) if token)
        self.mask_token_id = next((token for token in masks if token is not None), None)
        if self.eos_token_id is None and roles.get("bos_token") == END_OF_TEXT:
            self.eos_token_id = self.bos_token_id
        if self.bos_token_id is None and self.adds_special:
            self._patterns.check_texts([ANY])
            self.bos_token_id = _first_special(backend)

    @classmethod
    def from_folder(cls, folder: str | Path, is_target: bool = False, kind: str | None = None) -> "Tokenizer":
        """The tokenizer of a Hugging Face folder, as transformers' AutoTokenizer reads it; no code of it is run.

        Args:
            folder: the folder.
            is_target: whether it is for targets, for which an encoder-decoder may have another than for sources.
            kind: the model's type, where its config.json names none.

        Raises:
            CheckpointError: there is none, or it cannot be read; the message says what to do.
        """
        folder = Path(folder)
        with naming(names_in(folder)):
            return cls.of_files(read_with_transformers(folder, is_target, kind))

    @classmethod
    def from_own_folder(cls, folder: Path) -> "Tokenizer":
        """The tokenizer of a folder that comes with the project, which is read without transformers.

        Raises:
            CheckpointError: there is none, or it cannot be read.
        """
        return cls.of_files(read_own(folder))

    @classmethod
    def of_files(cls, files: TokenizerFiles) -> "Tokenizer":
        """The tokenizer defined by a model's files.

        Raises:
            CheckpointError: it cannot be used.
        """
        with refusing(CheckpointError, "The tokenizer cannot be used ({}). Copy or download its files again."):
            made = cls(files.backend, (), files.roles, files.chat_template, files.parses_special, files.encode)
            made._other_templates = files.other_templates
            return made

    @classmethod
    def from_file(cls, path: Path) -> "Tokenizer":
        """The tokenizer of one file that `save`, or the `tokenizers` library, wrote; its special tokens are its own.

        Raises:
            CheckpointError: the file is missing or cannot be read.
        """
        from tokenizers import Tokenizer as Backend

        with refusing(CheckpointError, f"The tokenizer {path.name} cannot be read ({{}}). Copy or download it again."):
            check_patterns(read_checked(path), path.name)
            return cls(Backend.from_file(str(path)))

    @property
    def text(self) -> str:
        """The content of tokenizer.json, which `from_file` and the `tokenizers` library read.

        Raises:
            CheckpointError: transformers has it in Python alone.
        """
        if self._in_python is not None:
            raise CheckpointError(
                "This tokenizer's ids are made by transformers in Python, so that no one file holds it. Copy the files "
                "of the model's own folder that are no weights, and set model.tokenizer to None before saving."
            )
        return self._backend.to_str(pretty=True) + "\n"

    def save(self, path: Path) -> None:
        """Write the tokenizer as one file.

        Raises:
            CheckpointError: transformers has it in Python alone.
        """
        write_text(path, self.text)

    @property
    def settings(self) -> dict[str, object]:
        """The content of tokenizer_config.json for the file that `save` writes."""
        kind = {"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": not self._parses_special}
        template = {"chat_template": self._chat_template.text} if self._chat_template else {}
        return kind | dict(self._roles) | template

    def special_spellings(self, text: str) -> dict[str, int]:
        """The special tokens that a text has the spelling of, and how often each is in it."""
        counts = Counter(self._added[token] for token in self._encode(text, False, True) if token in self._added)
        return {token.content: n for token, n in counts.items() if token.special and token.content in text}

    def to_tokens(
        self, text: str, prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> Int[Tensor, "1 pos"]:
        """The ids of a text, as a batch of one row; with `prepend_bos="chat"` of the `Conversation` that it is.

        Raises:
            InputError: it is no text of valid Unicode, or there is no beginning-of-sequence token to prepend, or no
                chat template.
        """
        return torch.tensor([self._encode(text, prepend_bos, parse_special)], dtype=torch.long)

    def encode_batch(
        self, texts: Sequence[str], prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> list[EncodedText]:
        """Several texts in tokens, with the characters that each token stands for.

        The tokenizer's patterns are tried on all texts at once, in a hundredth of the time that one after the other
        takes.

        Raises:
            InputError: as `to_tokens`, for any of the texts.
        """
        if prepend_bos == "chat":
            return [self._encode_chat(text) for text in texts]
        parse = False if is_literal(prepend_bos) else self._parses_special if parse_special is None else parse_special
        around = prepends(prepend_bos) and self.adds_special
        begins_with = [self._bos()] if prepends(prepend_bos) and not around else []
        for text in texts:
            _check_unicode(text)
        self._check(texts, literal=not parse)
        return [self._encode_checked(text, begins_with, around, parse) for text in texts]

    def to_batch(
        self, texts: Sequence[str], prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> tuple[Int[Tensor, "batch pos"], Int[Tensor, "batch pos"]]:
        """The ids of several texts, padded on the right with id 0, and the mask that is 1 for real tokens.

        Raises:
            InputError: as `to_tokens`.
        """
        rows = [encoded.ids for encoded in self.encode_batch(texts, prepend_bos, parse_special)]
        n_pos = max(map(len, rows), default=0)
        tokens = [row + [0] * (n_pos - len(row)) for row in rows]
        mask = [[1] * len(row) + [0] * (n_pos - len(row)) for row in rows]
        shape = (len(rows), n_pos)
        return torch.tensor(tokens, dtype=torch.long).view(shape), torch.tensor(mask, dtype=torch.long).view(shape)

    def to_single_token(self, text: str, parse_special: bool | None = None) -> int:
        """The id of a text that is one token.

        Raises:
            InputError: it is none or several; the message shows them.
        """
        ids = self._encode(text, False, parse_special)
        if len(ids) != 1:
            labels = " ".join(self.labels(ids))
            raise InputError(f"{text!r} is {len(ids)} tokens ({labels}), not one. A leading space often decides.")
        return ids[0]

    def token_types(
        self, tokens: Int[Tensor, "batch pos"], real: Bool[Tensor, "batch pos"] | None = None
    ) -> Int[Tensor, "batch pos"]:
        """1 for the tokens of a second text, else 0, as the tokenizer's encoding of a pair has them.

        The second text begins behind the first separator, if anything but separators and padding follows.
        """
        if self.separator is None:
            return torch.zeros_like(tokens)
        is_separator = tokens == self.separator
        behind = (is_separator.cumsum(-1) - is_separator.long()) > 0
        has_second = (behind & ~is_separator & (True if real is None else real)).any(-1, keepdim=True)
        return (behind & has_second).long()

    @cached_property
    def separator(self) -> int | None:
        """The special token that parts the two texts of a pair; None where the tokenizer gives both the same type."""
        pair = self._backend.encode("", "")
        second = next((place for place, kind in enumerate(pair.type_ids) if kind), 0)
        return pair.ids[second - 1] if second else None

    def to_str_tokens(
        self, text: str | TokenIds, prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> list[str]:
        """The text of each token of a text, or of each of the token ids.

        Raises:
            InputError: as `to_tokens`.
        """
        ids = self._encode(text, prepend_bos, parse_special) if isinstance(text, str) else flat_ids(text)
        return [self._bytes(token).decode(errors="replace") for token in ids]

    def apply_chat_template(
        self,
        messages: Sequence[Message],
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        enable_thinking: bool | None = None,
    ) -> str:
        """A conversation as the model was trained on it, by default up to where its answer begins.

        What comes has its special tokens in it: give it to `to_tokens` without `prepend_bos`.

        Raises:
            InputError: it is no conversation, the tokenizer has no chat template, or that refuses the conversation.
        """
        return self.render(
            Conversation(tuple(messages), add_generation_prompt, continue_final_message, enable_thinking)
        )

    def render(self, conversation: Conversation) -> str:
        """The text of a conversation, as `apply_chat_template`.

        Raises:
            InputError: the tokenizer has no chat template, or that refuses the conversation.
        """
        if self._chat_template is None:
            raise no_template(self._other_templates)
        return self._chat_template.apply(conversation)

    @property
    def ends(self) -> tuple[int, ...]:
        """The ids of tokens that end a text or an answer."""
        return tuple(token for token in (self.eos_token_id, self.end_of_turn) if token is not None)

    @cached_property
    def end_of_turn(self) -> int | None:
        """The special token that ends an answer in the chat template; None without either."""
        said = "answer"
        messages = [{"role": "user", "content": said}, {"role": "assistant", "content": said}]
        try:
            behind = self.apply_chat_template(messages, add_generation_prompt=False).rpartition(said)[2]
            ids = self._encode(behind, False, True)
        except InputError:  # no template, or one that takes no such conversation
            return None
        return next((token for token in ids if token in self._added and self._added[token].special), None)

    @property
    def has_chat_template(self) -> bool:
        """Whether the model was trained on conversations, and its template lies beside the tokenizer."""
        return self._chat_template is not None

    @property
    def may_think(self) -> bool:
        """Whether the chat template asks if the model is to think before it answers."""
        return self._chat_template is not None and self._chat_template.may_think

    def _id_of(self, role: str) -> int | None:
        return self._backend.token_to_id(self._roles[role]) if role in self._roles else None

    def _bos(self) -> int:
        if self.bos_token_id is None:
            raise InputError("This model's tokenizer has no beginning-of-sequence token; leave prepend_bos off.")
        return self.bos_token_id

    def _encode(self, text: str, begin: Begin, parse_special: bool | None) -> list[int]:
        return self.encode_batch([text], begin, parse_special)[0].ids

    def _encode_chat(self, text: str) -> EncodedText:
        whole = self.render(Conversation.from_prompt(text))
        (encoded,) = self.encode_batch([whole], False, True)
        return replace(encoded, length=len(text), first=whole.find(text))

    def _encode_checked(self, text: str, begins_with: list[int], around: bool, parse: bool) -> EncodedText:
        try:
            with refusing(InputError, FAILS):
                if self._in_python is not None:
                    return EncodedText([*begins_with, *self._in_python(text, around, parse)], len(text))
                encoding = (self._backend if parse else self._literal).encode(text, add_special_tokens=around)
        except InputError as error:
            if strange := self._strange_words(text):
                raise InputError(self._only_these(strange)) from error
            raise
        return EncodedText([*begins_with, *encoding.ids], len(text), encoding, len(begins_with))


def _check_unicode(text: str) -> None:
    """Refuse what is no text of whole characters.

    Raises:
        InputError: it is none.
    """
    if not isinstance(text, str):
        raise InputError(f"One text is needed, not {type(text).__name__}; `to_batch` takes several.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"The text's character {error.start + 1} is half of a surrogate pair, which no tokenizer takes. Remove or "
            "replace it."
        ) from error


def _first_special(backend: "tokenizers.Tokenizer") -> int | None:
    """The special token that a tokenizer puts before a text."""
    encoding = backend.encode(ANY)
    return encoding.ids[0] if encoding.special_tokens_mask[0] else None
