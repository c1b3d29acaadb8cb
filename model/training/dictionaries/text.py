"""Text that dictionaries are trained and measured on, as rows of tokens."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from headlight.model.base.errors import TrainingError
from headlight.model.corpus.documents import open_corpus
from headlight.model.nn.transformer import Transformer
from headlight.model.training.dictionaries.recipe import Rows

MAX_TOKENS = 4_000_000


def rows_of_files(model: Transformer, path: str) -> Rows:
    """The documents of a text file, a folder or a table.

    Raises:
        HeadlightError: they cannot be read, or hold less than a row.
    """
    return rows_of(model, (each.text for each in open_corpus(path).documents() if each.text), MAX_TOKENS)


def rows_of(model: Transformer, texts: Iterator[str], most: int) -> Rows:
    """Documents one after another, each begun with the model's first token.

    Raises:
        TrainingError: the model has no tokenizer, or the text is shorter than a row.
    """
    if model.tokenizer is None:
        raise TrainingError("The model came without a tokenizer; put its own beside its weights.")
    documents, length = list[np.ndarray[tuple[int], np.dtype[np.int64]]](), 0
    for text in texts:
        if length >= most:
            break
        documents.append(model.tokenizer.to_tokens(text, prepend_bos=True)[0].numpy())
        length += len(documents[-1])
    if length <= model.cfg.n_ctx:
        raise TrainingError(f"The text has {length} tokens; a row alone has {model.cfg.n_ctx}. Give more of it.")
    starts = np.cumsum([0, *map(len, documents[:-1])])
    return Rows(np.fromiter(chain.from_iterable(documents), dtype=np.int64, count=length), starts)
