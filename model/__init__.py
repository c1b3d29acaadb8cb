"""Headlight's library: a transformer whose every activation can be read, edited and explained."""

from headlight.model.cache import ActivationCache
from headlight.model.comparison import Comparison, compare
from headlight.model.config import TransformerConfig
from headlight.model.errors import HeadlightError
from headlight.model.families.gpt2_export import save_gpt2
from headlight.model.families.headlight import save_transformer
from headlight.model.families.seq2seq import save_seq2seq
from headlight.model.loading import embedded_models, embedded_seq2seq_models, load, load_seq2seq
from headlight.model.run import Run, run_prompt
from headlight.model.seq2seq import Seq2SeqTransformer
from headlight.model.seq2seq_config import Seq2SeqConfig
from headlight.model.source import Source
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.transformer import Transformer

__all__ = [
    "ActivationCache",
    "Comparison",
    "HeadlightError",
    "Run",
    "Seq2SeqConfig",
    "Seq2SeqTransformer",
    "Source",
    "Tokenizer",
    "Transformer",
    "TransformerConfig",
    "compare",
    "embedded_models",
    "embedded_seq2seq_models",
    "load",
    "load_seq2seq",
    "run_prompt",
    "save_gpt2",
    "save_seq2seq",
    "save_transformer",
]
