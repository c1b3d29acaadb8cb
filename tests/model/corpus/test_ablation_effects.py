"""What ablating a head changes, against a run with a hook of one's own; its direct effect, against a changed stream."""

import numpy as np
import pytest
import torch

from headlight.model.corpus.ablation_effects import ablation_sums
from headlight.model.corpus.effects import AT
from tests.tiny import tiny

TOKENS = (5, 9, 7, 5, 9, 30, 5, 12)


@pytest.mark.parametrize("kind", ["gpt2-like", "gemma2-like", "neox-like"])
def test_changes_are_those_of_a_run_with_a_hook(kind: str) -> None:
    model, row = tiny(kind).requires_grad_(False), torch.tensor([TOKENS])
    cfg = model.cfg
    means = np.random.default_rng(0).normal(size=(cfg.n_layers, cfg.n_heads, cfg.d_head))
    sums = ablation_sums(model, TOKENS, means)
    own, cache = model.run_with_cache(row)

    def losses(logits: torch.Tensor) -> torch.Tensor:
        return -logits[0, :-1].log_softmax(-1).gather(-1, row[0, 1:, None])[:, 0]

    for layer, head in np.ndindex(cfg.n_layers, cfg.n_heads):
        mean = torch.from_numpy(means[layer, head]).float()

        def ablate(z, hook, head=head, mean=mean):  # type: ignore[no-untyped-def]
            z[:, :, head] = mean

        change = losses(model.run_with_hooks(row, [(f"blocks.{layer}.attn.hook_z", ablate)])) - losses(own)
        active = cache["pattern", layer][0, head, :-1, 1:].sum(-1) > 0.5
        wanted = {
            "tokens": len(TOKENS) - 1,
            "loss": float(losses(own).sum()),
            "change": float(change.sum()),
            "active": int(active.sum()),
            "change_active": float(change[active].sum()),
            "change_inactive": float(change[~active].sum()),
        }
        for name, value in wanted.items():
            # Losses of about 10 nats, summed over 7 tokens, in float32.
            assert sums[layer, head, AT[name]] == pytest.approx(value, abs=1e-3), name


def test_the_direct_effect_is_that_of_the_write_at_the_own_scale() -> None:
    model, row = tiny("gpt2-like").requires_grad_(False), torch.tensor([TOKENS])
    cfg = model.cfg
    means = np.random.default_rng(0).normal(size=(cfg.n_layers, cfg.n_heads, cfg.d_head))
    sums, (_, cache) = ablation_sums(model, TOKENS, means), model.run_with_cache(row)
    scale, final = cache["ln_final.hook_scale"][0], model.ln_final
    for layer, head in np.ndindex(cfg.n_layers, cfg.n_heads):
        write = (cache["z", layer][0, :, head] - torch.from_numpy(means[layer, head]).float()) @ model.block(
            layer
        ).attn.W_O[head]
        logits = ((write - write.mean(-1, keepdim=True)) / scale * final.w) @ model.unembed.W_U
        right = logits[:-1].gather(-1, row[0, 1:, None])[:, 0] - logits[:-1].mean(-1)
        # Sums of products in another order, in float32.
        assert sums[layer, head, AT["direct"]] == pytest.approx(float(right.sum()), abs=1e-3)
