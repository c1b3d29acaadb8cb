"""Training dictionaries of the embedded models on their own corpus: `make train-dictionary` without `TEXT`."""

from pathlib import Path

import numpy as np
import tokenizers

from headlight.model.base.errors import TrainingError
from headlight.model.checkpoints.loading import EMBEDDED
from headlight.model.nn.transformer import Transformer
from headlight.model.training.dictionaries.__main__ import main
from headlight.model.training.dictionaries.recipe import Rows
from headlight.model.training.dictionaries.text import MAX_TOKENS, rows_of
from headlight.recipes import bpe
from headlight.recipes.prose import prose_tokens
from headlight.recipes.scans import held_out

CORPUS_SEED = 5  # other documents of the grammar than the model was trained on
HELD_OUT_TOKENS = 65_536


def training_rows(model: Transformer, run: Path) -> Rows:
    """An embedded model's corpus as one array, made once and kept with the run.

    Raises:
        TrainingError: the model is another one.
    """
    tokens = prose_tokens(_own_tokenizer(model), MAX_TOKENS, CORPUS_SEED, run / "prose.npy")
    return Rows(tokens, np.flatnonzero(tokens == bpe.END_OF_TEXT_ID))


def held_out_rows(model: Transformer) -> Rows:
    """Text of an embedded model's corpus that nothing was trained on.

    Raises:
        TrainingError: the model is another one.
    """
    _own_tokenizer(model)
    return rows_of(model, held_out(), HELD_OUT_TOKENS)


def _own_tokenizer(model: Transformer) -> tokenizers.Tokenizer:
    name = "" if model.source is None else model.source.name
    if name not in ("mini", "mini-llama"):
        raise TrainingError(
            f"The training text of {name or 'this model'} is not known. Name yours: --text with a text file, a "
            "folder, or a table of documents."
        )
    return tokenizers.Tokenizer.from_file(str(EMBEDDED / name / bpe.FILE))


if __name__ == "__main__":
    main(training_rows)
