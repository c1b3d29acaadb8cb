"""Headlight's library: a transformer whose every activation can be read, edited and explained."""

from model.cache import ActivationCache
from model.config import TransformerConfig
from model.errors import HeadlightError
from model.families.gpt2_export import save_gpt2
from model.loading import embedded_models, load
from model.source import Source
from model.tokenizer import Tokenizer
from model.transformer import Transformer

__all__ = [
    "ActivationCache",
    "HeadlightError",
    "Source",
    "Tokenizer",
    "Transformer",
    "TransformerConfig",
    "embedded_models",
    "load",
    "save_gpt2",
]
