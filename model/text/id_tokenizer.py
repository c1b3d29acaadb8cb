"""Typing token ids to a model that came without a tokenizer, and the names that a file gives them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.files import open_file, parse_json
from headlight.model.text.chat import Begin, prepends
from headlight.model.text.encoded_text import EncodedText
from headlight.model.text.growth import MAX_FILE, check_size
from headlight.model.text.tokenizer import Tokenizer

NAMES = (
    "tokens.txt",
    "tokens.json",
    "vocab.txt",
)  # a name a line, or a list of names, or an object that gives each its id
TYPED = re.compile(r"\s*ids:([\d\s,]*)")


class IdTokenizer(Tokenizer):
    """Tokens of which a prompt holds the ids, as "ids: 5 17 3", or the names, parted by spaces.

    Without names an id is its own. Names of a character each need no spaces between them.
    """

    def __init__(self, d_vocab: int, names: dict[str, int] | None = None) -> None:
        from tokenizers import Tokenizer as Backend
        from tokenizers import decoders, models, pre_tokenizers

        vocabulary = {str(number): number for number in range(d_vocab)} if names is None else names
        backend = Backend(models.WordLevel(vocabulary))
        if names and all(len(name) == 1 for name in names):
            backend.pre_tokenizer, backend.decoder = pre_tokenizers.FixedLength(1), decoders.Fuse()
        else:
            backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        super().__init__(backend)
        self._d_vocab, self._is_named = d_vocab, names is not None

    def encode_batch(
        self, texts: Sequence[str], prepend_bos: Begin = False, parse_special: bool | None = None
    ) -> list[EncodedText]:
        """As a tokenizer's, and of texts such as "ids: 5 17 3" these ids."""
        if prepends(prepend_bos) or prepend_bos == "chat":
            return super().encode_batch(texts, prepend_bos, parse_special)
        return [
            EncodedText(self._typed_ids(typed[1]), len(text))
            if isinstance(text, str) and (typed := TYPED.fullmatch(text))
            else super(IdTokenizer, self).encode_batch([text], prepend_bos, parse_special)[0]
            for text in texts
        ]

    def _typed_ids(self, text: str) -> list[int]:
        ids = [int(number) for number in re.findall(r"\d{1,18}", text)]
        if beyond := [number for number in ids if number >= self._d_vocab]:
            raise InputError(f"This model has no token {beyond[0]}: its ids are 0 to {self._d_vocab - 1}.")
        return ids

    def _only_these(self, strange: list[str]) -> str:
        if self._is_named:
            return f'{super()._only_these(strange)}, or ids: "ids: 0 1 2"'
        return (
            f"This model came without a tokenizer, so that its prompts are token ids, 0 to {self._d_vocab - 1}: type "
            f'"ids: 0 1 2", or put its tokenizer, or {NAMES[0]} with a token on each line, beside its weights.'
        )


def read_names(folder: Path, d_vocab: int) -> dict[str, int] | None:
    """The names that a file beside a checkpoint gives its tokens; None where there is no such file.

    Raises:
        CheckpointError: it cannot be read, names a token twice, or names more than the model has.
    """
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        return None
    check_size(path)
    try:
        with open_file(path) as file:
            data = file.read(MAX_FILE)
        content: Any = parse_json(data) if path.suffix == ".json" else data.decode("utf-8").splitlines()
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.name} cannot be read ({error}). Write it anew in UTF-8.") from error
    names = content if isinstance(content, dict | list) else [content]
    pairs = list(names.items()) if isinstance(names, dict) else [(name, at) for at, name in enumerate(names)]
    fits = all(isinstance(name, str) and name and type(at) is int and 0 <= at < d_vocab for name, at in pairs)
    if not fits or len({at for _, at in pairs}) < len(pairs) or len(dict(pairs)) < len(pairs):
        raise CheckpointError(
            f"{path.name} has to give each token one name, and no two the same, for ids 0 to {d_vocab - 1}: a name a "
            f"line, or in {NAMES[1]} a list of names or an object that gives each its id."
        )
    return dict(pairs)
