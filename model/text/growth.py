"""By how much a tokenizer can lengthen a text before it looks for tokens in it.

A tokenizer.json is anybody's: steps that each replace a letter by four make 4**40 of it, and the `tokenizers` library
ends the whole process where memory does not suffice.
"""

import base64
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.files import open_file, parse_json

if TYPE_CHECKING:
    import tokenizers

MAX_GROWTH = 1024  # SentencePiece's normal form of one character, with a sign for each space and more, is below 200
MAX_FILE = 2**26  # bytes of one of a tokenizer's files: the largest vocabularies' have half of that
MAX_BYTES = 2**25  # of what a text can become; the library takes another 16 bytes for each
MAX_STEPS = 4e10  # characters that are looked at for tokens in a text, in about four seconds


def read_checked(path: Path) -> dict[str, Any]:
    """Read a tokenizer.json; refused where it lengthens texts without bound, as the library does when it opens it.

    Of a file that is no JSON object nothing is said; the library tells what is wrong with it.

    Raises:
        CheckpointError: it does, or is too large.
    """
    with open_file(path) as file:
        data = file.read(MAX_FILE + 1)
    check_size(path)
    try:
        content = parse_json(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    check_steps(*(content.get(name) for name in ("normalizer", "pre_tokenizer")))
    check_steps(content.get("decoder"))
    return content


def check_size(path: Path) -> None:
    """Refuse a file of a tokenizer that is larger than any, before it is read whole.

    Raises:
        CheckpointError: it is.
    """
    if path.is_file() and path.stat().st_size > MAX_FILE:
        raise CheckpointError(f"{path.name} has more than {MAX_FILE >> 20} MiB, which no tokenizer's file has.")


def check_steps(*parts: Any) -> float:
    """By how much these parts of a tokenizer can lengthen a text, refused where that is beyond measure.

    Raises:
        CheckpointError: it is.
    """
    if (growth := growth_of(*parts)) > MAX_GROWTH:
        raise CheckpointError(
            f"The tokenizer can make {growth:.2g} bytes of one byte of a text, by replacing what it has replaced; "
            f"at most {MAX_GROWTH:,} are taken. Copy or download tokenizer.json again, or use another model."
        )
    return growth


def max_bytes(backend: "tokenizers.Tokenizer") -> int:
    """The most bytes of text that a tokenizer accepts, by the time and length of its output.

    Raises:
        CheckpointError: it lengthens texts, or what it makes of tokens, beyond measure.
    """
    check_steps(state_of(backend.decoder))
    growth = check_steps(state_of(backend.normalizer), state_of(backend.pre_tokenizer))
    in_time = max(MAX_STEPS / _steps_per_byte(backend), MAX_STEPS ** (1 / 3))  # no token is longer than the text
    return int(min(MAX_BYTES, in_time) / growth)


def _steps_per_byte(backend: "tokenizers.Tokenizer") -> int:
    """The characters that are looked at for one of a text: of all tokens that may begin there, one of each length."""
    model = backend.model
    match type(model).__name__:
        case "WordPiece":
            n = int(model.max_input_chars_per_word)
            return max(1, n * (n + 1) // 2)
        case "Unigram":
            return max(1, sum(set(map(len, backend.get_vocab()))))
    return 1


def check_length(text: str, most: int) -> None:
    """Refuse a text with more bytes than the maximum.

    Raises:
        InputError: it has more.
    """
    if len(text) > most or len(text.encode()) > most:
        raise InputError(f"The text has more than {most:,} bytes, the most that this tokenizer accepts. Shorten it.")


def growth_of(*parts: Any) -> float:
    """The bytes that one byte of a text can become by a normalizer, pre-tokenizer or decoder, as JSON has them."""
    return math.prod(_factor(step) for part in parts for step in steps_of(part))


def state_of(part: Any) -> Any:
    """A part of a tokenizer of the library's as its JSON; None where it has none."""
    return None if part is None else json.loads(part.__getstate__())


def steps_of(part: Any) -> Iterator[dict[str, Any]]:
    """The steps of a part in their order, those of a sequence in a sequence too."""
    left = [part]
    while left:
        step = left.pop()
        if isinstance(step, list):
            left += reversed(step)
        elif isinstance(step, dict):
            nested = [step[name] for name in ("normalizers", "pretokenizers", "decoders") if name in step]
            left += nested
            if not nested:
                yield step


def _factor(step: dict[str, Any]) -> float:
    """Of unicode's forms, capitals and accents it is 1: done twice they do no more than once."""
    match step.get("type"):
        case "Replace":
            pattern, longer = step.get("pattern"), len(str(step.get("content", "")).encode("utf-8", "replace"))
            text = pattern.get("String") if isinstance(pattern, dict) else None
            return max(1.0, longer / len(text.encode("utf-8", "replace"))) if text else 1.0 + longer
        case "Prepend":
            return 1.0 + len(str(step.get("prepend", "")).encode("utf-8", "replace"))
        case "ByteLevel":
            return 2.0
        case "Metaspace":
            return 4.0
        case "Precompiled":
            return _longest(step.get("precompiled_charsmap"))
    return 1.0


def _longest(charsmap: Any) -> float:
    """The longest text in SentencePiece's map: behind the length of a trie and the trie, each ended by a zero."""
    try:
        data = base64.b64decode(charsmap)
    except (ValueError, TypeError):
        return 1.0
    return float(max(map(len, data[4 + int.from_bytes(data[:4], "little") :].split(b"\0")), default=1) or 1)
