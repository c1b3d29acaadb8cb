"""Files as strangers send them: a good one damaged in every way that can be drawn, and what is no file of bytes."""

import json
import os
import random
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile


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
    """Of JSON with an object, or a list of them, so many copies in which a value is of another kind or size."""
    try:
        content = json.loads(whole)
    except ValueError:
        return
    draw = random.Random(seed)
    parts = content if isinstance(content, list) else [content]
    objects = [part for part in parts if isinstance(part, dict) and part]
    for _ in range(number if objects else 0):
        changed = draw.choice(objects)
        name = draw.choice(sorted(changed))
        before, changed[name] = changed[name], draw.choice(WRONG)
        yield json.dumps(content).encode()
        changed[name] = before


def places(folder: Path, suffix: str) -> Iterator[Path]:
    """What lies where a file should: a pipe, a folder, links to themselves or to nothing, and 8 GB of zeros."""
    os.mkfifo(folder / f"pipe{suffix}")
    (folder / f"folder{suffix}").mkdir()
    (folder / f"circle{suffix}").symlink_to(folder / f"circle{suffix}")
    (folder / f"gone{suffix}").symlink_to(folder / "nowhere")
    with (folder / f"sparse{suffix}").open("wb") as file:
        file.truncate(2**33)
    yield from sorted(folder.glob(f"*{suffix}"))


def archives(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """Copies of what torch.save wrote that only look like it: each entry of the zip is as it should be but for one."""
    with ZipFile(BytesIO(whole)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    data = next(name for name in entries if "/data/" in name)
    described = next(name for name in entries if name.endswith("data.pkl"))
    yield "a bomb for a storage", _zipped(entries | {data: bytes(2**28)}, ZIP_DEFLATED)
    yield "a bomb for the pickle", _zipped(entries | {described: bytes(2**28)}, ZIP_DEFLATED)
    yield "a name outside", _zipped({name.replace("/data/", "/../data/"): content for name, content in entries.items()})
    yield "no storages", _zipped({name: content for name, content in entries.items() if "/data/" not in name})
    yield "an empty storage", _zipped(entries | {data: b""})
    for what, parts in PICKLED.items():
        content = entries[described]
        for old, new in parts:
            assert old in content
            content = content.replace(old, new, 1)
        yield what, _zipped(entries | {described: content})


SHAPE, STRIDE, MANY = b"K\x03K\x04\x86", b"K\x04K\x01\x86", b"\x8a\x05\x00\x00\x00\x00\x04"  # 3 by 4, and 2**34
PICKLED = {  # what is written into a pickle in the place of what
    "2**34 rows": [(SHAPE, MANY + b"K\x04\x86")],
    "2**34 times one row": [(SHAPE, MANY + b"K\x04\x86"), (STRIDE, b"K\x00K\x01\x86")],
    "rows far apart": [(STRIDE, MANY + b"K\x01\x86")],
    "negative strides": [(STRIDE, b"J\xff\xff\xff\xffK\x01\x86")],
    "no shape": [(SHAPE, b"N")],
    "a shape of shapes": [(SHAPE, b"K\x03\x85K\x04\x86")],
}


def headers() -> Iterator[tuple[str, bytes]]:
    """GGUF files of one tensor that declare what they do not hold."""
    for what, change in DECLARED.items():
        value = {
            "n_tensors": 1,
            "n_values": 1,
            "length": 20,
            "n_list": 1,
            "n_axes": 1,
            "rows": 8,
            "kind": 0,
            "at": 0,
        } | change
        text = b"general.architecture"
        yield (
            what,
            b"GGUF"
            + pack("<IQQ", 3, value["n_tensors"], value["n_values"])
            + pack("<Q", value["length"])
            + text
            + pack("<IIQ", 9, value.get("inner", 0), value["n_list"])
            + b"\x01"
            + pack("<Q", 1)
            + b"W"
            + pack("<IQIQ", value["n_axes"], value["rows"], value["kind"], value["at"])
            + bytes(64),
        )


DECLARED: dict[str, dict[str, int]] = {
    "2**60 tensors": {"n_tensors": 2**60},
    "2**60 values": {"n_values": 2**60},
    "a name of 2**63 bytes": {"length": 2**63},
    "a list of 2**34": {"n_list": 2**34},
    "a list of 2**34 texts": {"n_list": 2**34, "inner": 8},
    "a list of lists": {"inner": 9},
    "2**32 - 1 axes": {"n_axes": 2**32 - 1},
    "2**34 rows": {"rows": 2**34},
    "no rows": {"rows": 0},
    "a type that there is not": {"kind": 12345},
    "a tensor beyond the end": {"at": 2**40},
    "a tensor before the beginning": {"at": 2**64 - 64},
}


def _zipped(entries: dict[str, bytes], how: int = ZIP_STORED) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w", how) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return made.getvalue()
