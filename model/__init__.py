"""Headlight's library: a transformer whose every activation can be read, edited and explained.

What is named here is imported when it is asked for: what needs no model, such as `--help`, waits for no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headlight.model.base.errors import HeadlightError
    from headlight.model.base.source import Source
    from headlight.model.checkpoints.families.headlight import save_transformer
    from headlight.model.checkpoints.families.seq2seq import save_seq2seq
    from headlight.model.checkpoints.gpt2_export import save_gpt2
    from headlight.model.checkpoints.loading import embedded_models, embedded_seq2seq_models, load, load_seq2seq
    from headlight.model.nn.cache import ActivationCache
    from headlight.model.nn.config import TransformerConfig
    from headlight.model.nn.seq2seq import Seq2SeqTransformer
    from headlight.model.nn.seq2seq_config import Seq2SeqConfig
    from headlight.model.nn.transformer import Transformer
    from headlight.model.runs.comparison import Comparison, compare
    from headlight.model.runs.run import Run, run_prompt
    from headlight.model.text.tokenizer import Tokenizer

_HOMES = {
    "ActivationCache": "cache",
    "Comparison": "comparison",
    "compare": "comparison",
    "TransformerConfig": "config",
    "HeadlightError": "errors",
    "save_gpt2": "families.gpt2_export",
    "save_transformer": "families.headlight",
    "save_seq2seq": "families.seq2seq",
    "embedded_models": "loading",
    "embedded_seq2seq_models": "loading",
    "load": "loading",
    "load_seq2seq": "loading",
    "Run": "run",
    "run_prompt": "run",
    "Seq2SeqTransformer": "seq2seq",
    "Seq2SeqConfig": "seq2seq_config",
    "Source": "source",
    "Tokenizer": "text.tokenizer",
    "Transformer": "transformer",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


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
