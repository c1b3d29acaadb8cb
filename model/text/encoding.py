"""Text files in UTF-8, with or without a byte order mark, and messages about others."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from headlight.model.base.errors import InputError
from headlight.model.base.files import POINTER, open_file

HEAD = 4096  # bytes that tell what a file is
BAD = re.compile("[\udc80-\udcff]")  # a byte that is no UTF-8, as surrogateescape gives it
SAVE_AS = "Save it as UTF-8: “CSV UTF-8” in a spreadsheet, “Save as…” with the encoding UTF-8 in a text editor."
UNPACK = "Unpack it, and give the file that is in it."
# Signatures of files that are no text, and advice for each.
MAGIC = {
    b"\x1f\x8b": ("is compressed by gzip", UNPACK),
    b"BZh": ("is compressed by bzip2", UNPACK),
    b"\xfd7zXZ": ("is compressed by xz", UNPACK),
    b"\x28\xb5\x2f\xfd": ("is compressed by zstd", UNPACK),
    b"PK\x03\x04": ("is a zip archive or a spreadsheet", "Unpack it, or save the sheet as “CSV UTF-8”."),
    b"%PDF": ("is a PDF", "Save its text as a text file."),
    POINTER: ("is a Git LFS pointer", "Run `git lfs pull` in its repository, or download the file from its web page."),
    b"PAR1": ("is a Parquet table", "Name it so that it ends in .parquet."),
}


@contextmanager
def open_text(source: Path | bytes, newline: str | None = None) -> Iterator[TextIO]:
    """Open a file, or its bytes, as UTF-8; a byte that is none gives a single surrogate, which `check_text` finds.

    Raises:
        InputError: it begins as a file in another encoding, or of another kind, named as far as the bytes tell.
    """
    with open_file(source, InputError) if isinstance(source, Path) else io.BytesIO(source) as file:
        _check_head(file.read(HEAD))
        file.seek(0)
        with io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline) as stream:
            yield stream


def _check_head(head: bytes) -> None:
    for magic, (what, way_out) in MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"The file {what}, not a text. {way_out}")
    if other := _other_encoding(head):
        raise InputError(f"The file looks like {other}, not UTF-8. {SAVE_AS}")
    text = head.decode("utf-8", "surrogateescape")
    bad = BAD.search(text, 0, len(text) - 3)  # a character may be cut at the end
    if bad and b"\x00" in head:
        line = text.count("\n", 0, bad.start()) + 1
        raise InputError(f"The file is no text: line {line} holds bytes of something else. {SAVE_AS}")


def check_text(text: str, line: int, where: str = "") -> None:
    """Refuse what `open_text` gives of a line, or of several from that on, if it is not UTF-8.

    Raises:
        InputError: it names the encoding as far as the bytes tell.
    """
    if bad := BAD.search(text):
        data = text[bad.start() :].encode("utf-8", "surrogateescape")
        where = where or f"Line {line + text.count(chr(10), 0, bad.start())}"
        raise InputError(
            f"{where} is not UTF-8: the file looks like {_one_byte_encoding(data)} (byte 0x{data[0]:02X} there). "
            f"{SAVE_AS}"
        )


def _other_encoding(data: bytes) -> str:
    """An encoding with a byte order mark of its own, or with every other byte mostly zero; else empty."""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "UTF-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    zeros = sorted(data[start::2].count(0) for start in (0, 1))
    return "UTF-16 without a byte order mark" if len(data) >= 8 and zeros[0] == 0 and 4 * zeros[1] > len(data) else ""


def _one_byte_encoding(data: bytes) -> str:
    """Latin-1, unless bytes occur that mean something in Windows-1252 alone."""
    windows_alone = any(0x80 <= byte < 0xA0 for byte in data)
    return "Windows-1252 (“ANSI”)" if windows_alone else "Latin-1 (ISO-8859-1)"
