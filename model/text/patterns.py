"""The regular expressions of a tokenizer, which are anybody's: a search by one may take longer than anybody lives.

The library ends one search after ten million steps, but begins one at each place of a text, and nothing ends it from
outside. So every text is first split by the patterns in a process that has only so much time.
"""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.text.child_process import ChildProcess, as_line
from headlight.model.text.growth import state_of, steps_of

if TYPE_CHECKING:
    import tokenizers

PATTERNS = ChildProcess("patterns")
# Of the models that come with the project, whose first page waits for no other process.
QUICK = frozenset({"^", " (?=[.,?])", r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}{1,2}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"})
FLAGS = ("content", "single_word", "lstrip", "rstrip", "normalized", "special")
PARTS = ("normalizer", "pre_tokenizer", "decoder")


class Patterns:
    """A tokenizer's normalizers, pre-tokenizers and decoders."""

    def __init__(self, backend: "tokenizers.Tokenizer") -> None:
        parts = {name: state_of(getattr(backend, name)) for name in PARTS}
        self._steps, self._decodes = "", has_patterns(parts["decoder"])
        if has_patterns(*parts.values()):
            added = enumerate(backend.get_added_tokens_decoder().values(), 1)
            tokens = [{"id": place, **{flag: getattr(token, flag) for flag in FLAGS}} for place, token in added]
            self._steps = json.dumps({**parts, "added_tokens": tokens})

    @property
    def any(self) -> bool:
        """Whether there are any that may be slow."""
        return bool(self._steps)

    def check_texts(self, texts: Sequence[str], literal: bool = False) -> None:
        """Refuse texts on which the patterns take too long; with `literal` special tokens in it are text too.

        Raises:
            InputError: they do.
        """
        self._check("this text" if len(texts) == 1 else "these texts", texts=list(texts), literal=literal)

    def check_tokens(self, names: Sequence[str]) -> None:
        """Refuse tokens of which the patterns take too long to make a text.

        Raises:
            InputError: they do.
        """
        if self._decodes:
            self._check("these tokens", names=names)

    def _check(self, what: str, **request: Any) -> None:
        if self._steps and not _is_quick(self._steps, **request):
            raise InputError(
                f"The patterns in the model's tokenizer.json take too much time or memory for {what}, as ones that "
                "never end would. Try a shorter text, copy or download the file again, or use another model."
            )


def check_patterns(content: dict[str, Any], file: str, beside: Any = None) -> None:
    """Refuse a tokenizer's file whose patterns take too long for its own tokens, which the library splits by them.

    Tokens may also be in the files `beside` it, any text of which may be one.

    Raises:
        CheckpointError: they do.
    """
    if not has_patterns(*(content.get(name) for name in PARTS)):
        return
    steps = json.dumps({name: content.get(name) for name in (*PARTS, "added_tokens")})
    if not _is_quick(steps, texts=list(_texts([content.get("added_tokens"), beside]))):
        raise CheckpointError(
            f"The patterns in {file} take too much time or memory for the tokenizer's own tokens, as ones that never "
            f"end would. Copy or download {file} and the files beside it again, or use another model."
        )


def has_patterns(*parts: Any) -> bool:
    """Whether a regular expression that may be slow is in these parts of a tokenizer, as JSON has them."""
    patterns = [step.get("pattern") for part in parts for step in steps_of(part)]
    return any(isinstance(pattern, dict) and pattern.get("Regex") not in (None, *QUICK) for pattern in patterns)


def _is_quick(steps: str, texts: Sequence[str] = (), names: Sequence[str] = (), literal: bool = False) -> bool:
    request = {"steps": steps, "texts": texts, "names": names, "literal": literal}
    return PATTERNS.answer(as_line(request)) is not None


def _texts(content: Any) -> Iterator[str]:
    """All texts in a JSON value, keys included."""
    left = [content]
    while left:
        match left.pop():
            case str(text):
                yield text
            case dict(parts):
                left += [*parts, *parts.values()]
            case list(parts):
                left += parts
