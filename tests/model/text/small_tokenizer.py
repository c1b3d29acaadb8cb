"""A small byte-level BPE, and the folder that a tokenizer is read from."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

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


def word_piece() -> Backend:
    """A WordPiece of lower-case text with BERT's special tokens around it, trained on the same lines."""
    backend = Backend(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=special, show_progress=False)
    backend.train_from_iterator(TEXT * 3, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return backend


def sentence_piece() -> Backend:
    """A BPE in SentencePiece's style, with bytes for what it lacks and Llama's token before a text."""
    special = ["<unk>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(vocab_size=330, special_tokens=special, show_progress=False)
    backend = Backend(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()  # for training alone, lest its few lines become tokens
    backend.train_from_iterator([text.replace("日本語 🤔", "") for text in TEXT * 3], trainer)
    config = json.loads(backend.to_str())
    n_words = len(config["model"]["vocab"])
    config["model"]["vocab"] |= {f"<0x{byte:02X}>": n_words + byte for byte in range(256)}
    backend = Backend.from_str(json.dumps(config | {"pre_tokenizer": None}))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return backend


def unigram() -> Backend:
    """A Unigram with SentencePiece's spaces and T5's token behind a text."""
    backend = Backend(models.Unigram())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(TEXT * 3, trainer)
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return backend


def write(folder: Path, backend: Backend, **settings: Any) -> Path:
    backend.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder
