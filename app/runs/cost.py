"""Estimated and permitted cost of a run."""

from collections.abc import Callable
from dataclasses import replace

from headlight.app.runs.limits import GIB, Cost
from headlight.app.server.settings import settings
from headlight.model import Seq2SeqTransformer, Transformer, TransformerConfig
from headlight.model.base import memory
from headlight.model.checkpoints.room import ASSUMED
from headlight.model.compute.quantised import memory_of
from headlight.model.nn.layers.mlp import ROWS
from headlight.model.runs.run import LONG

FLOPS = 4e10  # operations a second that one core of today reaches, so that the estimate errs on the slow side


def cost(cfg: TransformerConfig, n_tokens: int) -> Cost:
    """Estimated cost of a run and of one head that is opened whole, from their shapes alone.

    A first run takes some 30 MB more, which torch's kernels and the allocator have from then on.
    """
    heads, d_mlp = cfg.n_heads * cfg.d_head, (cfg.d_mlp or 0) * (cfg.experts_per_token or 1)
    shared = cfg.d_head * (cfg.n_key_value_heads or cfg.n_heads)
    writes = cfg.d_model * (1 if cfg.attn_only else 2)
    kept = n_tokens * (cfg.n_layers * (heads + 2 * shared + writes) + cfg.d_model)
    streams = n_tokens * (6 * cfg.d_model + 3 * heads)  # those of one layer, queries before and after they are turned
    neurons = min(n_tokens, ROWS) * (4 if cfg.gated_mlp else 2) * d_mlp
    weights = cfg.n_layers * cfg.d_model * (2 * heads + 2 * shared + (3 if cfg.gated_mlp else 2) * d_mlp)
    operations = 2 * weights * n_tokens + 4 * cfg.n_layers * heads * n_tokens**2
    return Cost(4 * (kept + streams + neurons + _matrices(cfg, n_tokens) * n_tokens**2), operations / FLOPS)


def _matrices(cfg: TransformerConfig, n_tokens: int) -> int:
    """Matrices of scores and patterns in memory at once: of a long prompt those of one head that is looked at."""
    biased = cfg.has_relative_bias or cfg.positional_embedding_type == "alibi" or cfg.disentangled_attention
    by_rows = not (biased or cfg.attn_scores_soft_cap or cfg.use_attention_sinks) and settings().device == "cpu"
    return 2 if by_rows and n_tokens >= LONG else 4 * cfg.n_heads


def logits_seconds(cfg: TransformerConfig, n_tokens: int) -> float:
    """Estimated seconds of another pass and of two runs' logits at every token."""
    return cost(cfg, n_tokens).seconds + 4 * n_tokens * cfg.d_model * (cfg.d_vocab_out or cfg.d_vocab) / FLOPS


def cost_of(model: Transformer) -> Callable[[int], Cost]:
    """Estimated cost of a model's runs by number of tokens: the disk's time or the processor's."""
    reading = reading_seconds(model)

    def estimate(n_tokens: int) -> Cost:
        once = cost(model.cfg, n_tokens)
        return replace(once, seconds=max(once.seconds, reading))

    return estimate


def reading_seconds(model: Transformer) -> float:
    """About how long each pass waits for the disk; not at all where the weights stay in memory."""
    free = memory.free() if model.reads_ahead else None
    return 0.0 if free is None or weights_bytes(model) <= free else weights_bytes(model) / ASSUMED


def budget() -> Cost:
    """Maximum cost of a run here: as configured, but no more than the free memory."""
    most, free = settings().run_gib * GIB, memory.free()
    return Cost(most if free is None else min(most, free), settings().run_seconds)


def weights_bytes(model: Transformer | Seq2SeqTransformer) -> int:
    """Bytes of the parameters, mapped or not; memory that two share, as GPT-2's two embeddings do, counts once."""
    parts = (part for parameter in model.parameters() for part in memory_of(parameter))
    return sum({part.data_ptr(): part.nbytes for part in parts}.values())
