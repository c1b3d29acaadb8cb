"""What a run keeps of a model with as many layers and heads as one of eight billion parameters: no patterns."""

import torch

from headlight.model import Transformer, load
from headlight.model.nn.config import TransformerConfig
from headlight.model.runs.run import Run, make_run
from headlight.model.runs.summaries import THUMBNAIL

N_POS = 256
CFG = TransformerConfig(
    n_layers=32,
    d_model=128,
    n_ctx=N_POS,
    n_heads=32,
    n_key_value_heads=8,
    d_head=4,
    d_mlp=16,
    d_vocab=64,
    normalization_type="RMS",
    positional_embedding_type="rotary",
    gated_mlp=True,
    act_fn="silu",
)


def kept_bytes(run: Run) -> int:
    """The memory behind all tensors that a run holds, each piece once."""
    tensors = [*run.cache.values(), run.thumbnails, run.hidden, run.next_logits, run.tokens]
    tensors += [measure.values for measure in run.scores.values()]
    return sum({each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors}.values())


def test_a_run_keeps_queries_keys_values_and_what_is_written_and_of_patterns_a_thumbnail() -> None:
    model = Transformer(CFG).eval().requires_grad_(False)
    model.tokenizer = load("mini").tokenizer
    with torch.inference_mode():
        run = make_run(model, "", False, torch.arange(N_POS) % CFG.d_vocab)
    of_heads = (CFG.n_heads + 2 * CFG.n_key_value_heads) * CFG.d_head  # type: ignore[operator]  # filled in
    floats = N_POS * (CFG.n_layers * (of_heads + 2 * CFG.d_model) + CFG.d_model)
    thumbnails = CFG.n_layers * CFG.n_heads * THUMBNAIL**2
    # A hundredth for scores, logits and masks, which are small beside these; the patterns are eight times as large.
    assert kept_bytes(run) <= 1.01 * 4 * (floats + thumbnails)
    assert 4 * (floats + thumbnails) < 4 * CFG.n_layers * CFG.n_heads * N_POS**2 / 8
