"""Spelling of a vocabulary's tokens: the bytes that a token's name stands for."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tokenizers

Spelling = Callable[[str], bytes | None]  # None for a name that is spelled otherwise than the others

SPACE = "▁"  # U+2581, SentencePiece's
BYTE = re.compile("<0x([0-9A-F]{2})>")  # a byte in a vocabulary of SentencePiece's


def _byte_of() -> dict[str, int]:
    """Map each character of a byte-level vocabulary to its byte.

    The printable characters of Latin-1 stand for themselves, those from U+0100 on for the other bytes in order.

    Source: Radford et al. 2019, the released GPT-2 code.
    """
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTE_OF = _byte_of()


def spelling(backend: "tokenizers.Tokenizer") -> Spelling:
    """Spelling of a tokenizer's vocabulary, by its model and its decoder.

    Words, and WordPiece's parts of words, stand for themselves, "##" included: it says that no space comes before.
    """
    if type(backend.model).__name__ in ("WordLevel", "WordPiece"):
        return str.encode
    kinds = _decoders(backend)
    if "ByteLevel" in kinds:
        return _byte_level
    if kinds & {"Metaspace", "Replace"}:
        return _sentence_piece if "ByteFallback" in kinds else lambda name: name.replace(SPACE, " ").encode()
    return lambda name: None


def _byte_level(name: str) -> bytes | None:
    return bytes(BYTE_OF[each] for each in name) if all(each in BYTE_OF for each in name) else None


def _sentence_piece(name: str) -> bytes:
    byte = BYTE.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else name.replace(SPACE, " ").encode()


def _decoders(backend: "tokenizers.Tokenizer") -> set[str]:
    """The kinds of decoders that a tokenizer has; of those that replace something, that of SentencePiece's space."""
    if backend.decoder is None:
        return set()
    settings = json.loads(backend.decoder.__getstate__())
    parts = settings["decoders"] if settings["type"] == "Sequence" else [settings]
    return {part["type"] for part in parts if part["type"] != "Replace" or part["pattern"] == {"String": SPACE}}
