"""Documents as rows of tokens of one length, one document behind the other."""

from collections.abc import Iterable, Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import TrainingError
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.run import tokenizer_of

LENGTH = 128  # tokens; or the model's context where that is shorter


def token_rows(model: Transformer, documents: Iterable[str], count: int) -> Int[Tensor, "row pos"]:
    """The first rows of the documents, before each of which stands the beginning-of-sequence token, if there is one.

    Raises:
        TrainingError: the documents have too few tokens.
        InputError: the model came without a tokenizer.
    """
    length, rows, waiting = min(LENGTH, model.cfg.n_ctx), list[list[int]](), list[int]()
    for tokens in _tokens(model, documents):
        waiting += tokens
        while len(waiting) >= length and len(rows) < count:
            rows.append(waiting[:length])
            del waiting[:length]
        if len(rows) == count:
            return torch.tensor(rows)
    raise TrainingError(
        f"The corpus has {len(rows) * length + len(waiting):,} tokens; {count * length:,} are needed. Give more text, "
        "or ask for fewer rows."
    )


def _tokens(model: Transformer, documents: Iterable[str]) -> Iterator[list[int]]:
    tokenizer = tokenizer_of(model)
    for document in documents:
        yield tokenizer.to_tokens(document, prepend_bos=True)[0].tolist()
