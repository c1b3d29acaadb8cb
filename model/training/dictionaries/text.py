"""The text that dictionaries are trained and measured on: an embedded model's own corpus, or files of the user's."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import tokenizers

from headlight.model.base.errors import TrainingError
from headlight.model.checkpoints.loading import embedded_models
from headlight.model.corpus.documents import open_corpus
from headlight.model.nn.transformer import Transformer
from headlight.model.training.dictionaries.recipe import Rows
from headlight.recipes import bpe
from headlight.recipes.prose import prose_tokens
from headlight.recipes.scans import held_out

CORPUS_SEED = 5  # other documents of the grammar than the model was trained on
MOST_TOKENS = 4_000_000
HELD_OUT_TOKENS = 65_536


def training_rows(model: Transformer, text: str | None, run: Path) -> Rows:
    """The text of training as one array: of the embedded models their corpus, made once and kept with the run.

    Raises:
        TrainingError: there is no text that is known to be the model's, and none was given.
    """
    if text is not None:
        return rows_of(model, (each.text for each in open_corpus(text).documents() if each.text), MOST_TOKENS)
    tokens = prose_tokens(_own_tokenizer(model), MOST_TOKENS, CORPUS_SEED, run / "prose.npy")
    return Rows(tokens, np.flatnonzero(tokens == bpe.END_OF_TEXT_ID))


def held_out_rows(model: Transformer) -> Rows:
    """Text of an embedded model's corpus that nothing was trained on."""
    _own_tokenizer(model)
    return rows_of(model, held_out(), HELD_OUT_TOKENS)


def _own_tokenizer(model: Transformer) -> tokenizers.Tokenizer:
    name = "" if model.source is None else model.source.name
    path = embedded_models().get(name, Path(name)) / bpe.FILE
    if name not in ("mini", "mini-llama"):
        raise TrainingError(
            f"Nothing tells on what text dictionaries of {name or 'this model'} are to be trained. Give it: --text "
            "with a text file, a folder, or a table of documents."
        )
    return tokenizers.Tokenizer.from_file(str(path))


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
