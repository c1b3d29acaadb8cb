"""Headlight's library: a transformer whose every activation can be read, edited and explained."""

from model.cache import ActivationCache
from model.config import TransformerConfig
from model.errors import HeadlightError
from model.families.gpt2_export import save_gpt2
from model.families.headlight import save_transformer
from model.families.seq2seq import save_seq2seq
from model.loading import embedded_models, embedded_seq2seq_models, load, load_seq2seq
from model.seq2seq import Seq2SeqTransformer
from model.seq2seq_config import Seq2SeqConfig
from model.source import Source
from model.tokenizer import Tokenizer
from model.transformer import Transformer

__all__ = [
    "ActivationCache",
    "HeadlightError",
    "Seq2SeqConfig",
    "Seq2SeqTransformer",
    "Source",
    "Tokenizer",
    "Transformer",
    "TransformerConfig",
    "embedded_models",
    "embedded_seq2seq_models",
    "load",
    "load_seq2seq",
    "save_gpt2",
    "save_seq2seq",
    "save_transformer",
]
