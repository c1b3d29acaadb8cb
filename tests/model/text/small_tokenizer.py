"""A small byte-level BPE, and the folder that a tokenizer is read from."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers, trainers

TEXT = ["The cat sat on the mat.", "def f(x):\n    return x + 1", "naïve café — 日本語 🤔", "the the the then them"]
END = "<|endoftext|>"


def small_backend() -> Backend:
    """A byte-level BPE of 300 ids, trained on four lines."""
    backend = Backend(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=[END], show_progress=False, min_frequency=2
    )
    backend.train_from_iterator(TEXT * 3, trainer)
    return backend


def write(folder: Path, backend: Backend, **settings: Any) -> Path:
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
