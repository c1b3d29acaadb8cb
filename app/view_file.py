"""The command `headlight view`: the page *Attention* of patterns in a file, in the browser."""

import json
import sys
import tempfile
import webbrowser
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from headlight.model.base.errors import HeadlightError, InputError

MAX_BYTES = 4 << 30  # of a file's arrays
PATTERNS, TOKENS = "patterns", "tokens"
HOW = f"It has to hold “{PATTERNS}” [layer, head, query, key] and may hold “{TOKENS}”, a text each."


def main(arguments: Sequence[str]) -> int:
    """Open the patterns of a file, and return the exit status."""
    parser = ArgumentParser("headlight view", description=f"Open attention patterns in the browser. {HOW}")
    parser.add_argument("file", type=Path, help="an .npz or .safetensors file")
    parser.add_argument("--out", type=Path, help="write the page there, and open no browser")
    flags = parser.parse_args(arguments)
    from headlight.app import show  # here: --help answers without importing torch

    try:
        patterns, tokens = read_patterns(flags.file)
        picture = show.attention(patterns, tokens, title=f"Attention in {flags.file.name}")
        page = picture.save(flags.out or Path(tempfile.mkdtemp(prefix="headlight-")) / f"{flags.file.stem}.html")
    except (HeadlightError, OSError) as error:
        print(f"{flags.file.name} cannot be shown. {error}", file=sys.stderr)
        return 1
    print(page)
    if flags.out is None:
        webbrowser.open(page.as_uri())
    return 0


def read_patterns(path: Path) -> tuple[Float[np.ndarray, "layer head query key"], list[str]]:
    """The patterns of a file, and its tokens; where it has none, their places.

    Raises:
        InputError: the file is none of these, is damaged, or holds no patterns.
    """
    readers = {".npz": _read_npz, ".safetensors": _read_safetensors}
    if path.suffix not in readers:
        raise InputError(f"It is neither .npz nor .safetensors. {HOW}")
    if not path.is_file():
        raise InputError("There is no such file. Check its path.")
    try:
        patterns, tokens = readers[path.suffix](path)
    except HeadlightError:
        raise
    except Exception as error:  # whatever a damaged file makes zipfile, numpy or the library raise
        raise InputError(f"It is damaged or holds something else ({type(error).__name__}). {HOW}") from error
    return patterns, tokens or [str(place) for place in range(patterns.shape[-1])]


def _read_npz(path: Path) -> tuple[np.ndarray, list[str]]:
    with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        sizes = [entry.file_size for entry in file.zip.infolist()]
        if sum(sizes) > MAX_BYTES:
            raise InputError(f"Its arrays have {sum(sizes):,} bytes; {MAX_BYTES:,} are allowed. Store fewer heads.")
        if PATTERNS not in file:
            raise InputError(f"It holds {', '.join(map(repr, file.files)) or 'nothing'}. {HOW}")
        return file[PATTERNS], [str(token) for token in file[TOKENS]] if TOKENS in file else []


def _read_safetensors(path: Path) -> tuple[np.ndarray, list[str]]:
    from safetensors import safe_open

    with safe_open(path, "numpy") as file:
        if PATTERNS not in file.keys():  # noqa: SIM118 - the handle is no mapping
            raise InputError(f"It holds {', '.join(map(repr, file.keys())) or 'nothing'}. {HOW}")
        tokens = json.loads((file.metadata() or {}).get(TOKENS, "[]"))
        return file.get_tensor(PATTERNS), [str(token) for token in tokens]
