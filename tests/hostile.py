"""Files as strangers send them: a good one damaged in every way that can be drawn, and what is no file of bytes."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def damaged(whole: bytes, number: int, seed: int = 0) -> Iterator[bytes]:
    """So many damaged copies: cut short, bits turned, zeros written, sizes declared, parts doubled or added."""
    draw = random.Random(seed)
    ways = (_cut, _turned, _zeroed, _declared, _doubled, _lengthened)
    yield b""
    for copy in range(number - 1):
        yield ways[copy % len(ways)](bytearray(whole), draw)


def _cut(data: bytearray, draw: random.Random) -> bytes:
    return bytes(data[: draw.randrange(len(data))])


def _turned(data: bytearray, draw: random.Random) -> bytes:
    for _ in range(draw.choice((1, 1, 4, 64))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(data)


def _zeroed(data: bytearray, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    length = min(draw.choice((1, 16, 256)), len(data) - at)
    data[at : at + length] = bytes(length)
    return bytes(data)


def _declared(data: bytearray, draw: random.Random) -> bytes:
    """A number of any width that is as large as it can be, negative where it has a sign."""
    at, width = draw.randrange(len(data)), draw.choice((1, 2, 4, 8))
    data[at : at + width] = draw.choice((b"\xff", b"\x7f", b"9")) * width
    return bytes(data)


def _doubled(data: bytearray, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    return bytes(data[: at + draw.randrange(1, 200)] + data[at:])


def _lengthened(data: bytearray, draw: random.Random) -> bytes:
    return bytes(data + bytes(draw.choice((1, 1000, 100_000))))


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**30,
    1e308,
    float("nan"),
    "",
    "../" * 9,
    "\ud800",
    [],
    [[]],
    {},
    {"": 1},
)


def mistaken(whole: bytes, number: int, seed: int = 0) -> Iterator[bytes]:
    """Of a JSON object, so many copies in which a value is of another kind or size; of other files none."""
    try:
        content = json.loads(whole)
    except ValueError:
        return
    draw = random.Random(seed)
    for _ in range(number if content else 0):
        name, value = draw.choice(sorted(content)), draw.choice(WRONG)
        yield json.dumps({**content, name: value}).encode()


def places(folder: Path, suffix: str) -> Iterator[Path]:
    """What lies where a file should: a pipe, a folder, links to themselves or to nothing, and 8 GB of zeros."""
    os.mkfifo(folder / f"pipe{suffix}")
    (folder / f"folder{suffix}").mkdir()
    (folder / f"circle{suffix}").symlink_to(folder / f"circle{suffix}")
    (folder / f"gone{suffix}").symlink_to(folder / "nowhere")
    with (folder / f"sparse{suffix}").open("wb") as file:
        file.truncate(2**33)
    yield from sorted(folder.glob(f"*{suffix}"))
