"""The corpus as one array of token ids, made once and kept on the disk."""

from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import UInt16
from tokenizers import Tokenizer

from headlight.model.base.files import replacing
from headlight.recipes.bpe import END_OF_TEXT
from headlight.recipes.corpus import documents

DOCUMENTS_AT_ONCE = 10_000


def prose_tokens(tokenizer: Tokenizer, n_tokens: int, seed: int, path: Path) -> UInt16[np.ndarray, " token"]:
    """The corpus of that seed, an end-of-text token after each document; read from `path` if that is there."""
    if path.exists():
        return np.load(path, mmap_mode="r")
    stream, parts, length = documents(seed), [], 0
    while length < n_tokens:
        texts = [text + END_OF_TEXT for text in islice(stream, DOCUMENTS_AT_ONCE)]
        ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        parts.append(np.fromiter((token for row in ids for token in row), dtype=np.uint16))
        length += len(parts[-1])
    with replacing(path) as beside, beside.open("wb") as file:
        np.save(file, np.concatenate(parts)[:n_tokens])
    return np.load(path, mmap_mode="r")
