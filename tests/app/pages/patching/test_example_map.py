"""The map that an empty page shows is that of the example, by hooks written by hand."""

import numpy as np
import torch
from torch import Tensor

from headlight.app.pages.patching import example_map
from headlight.app.runs.prompts import examples
from headlight.model import load


def test_the_example_map_is_what_patching_by_hand_gives() -> None:
    """It is written down to three decimals; float32 sums differ by less."""
    example = next(each for each in examples() if each.prompt_b is not None)
    model = load(example.model)
    a, b = (model.to_tokens(text) for text in (example.prompt, example.prompt_b))
    with torch.no_grad():
        logits_a, logits_b = (model(tokens)[0, -1] for tokens in (a, b))
        target, distractor = int(logits_a.argmax()), int(logits_b.argmax())
        _, cache = model.run_with_cache(b, names_filter=lambda name: name.endswith("hook_z"))

        def difference(logits: Tensor) -> float:
            return float(logits[target] - logits[distractor])

        nothing, everything = difference(logits_a), difference(logits_b)
        shares = np.zeros((model.cfg.n_layers, model.cfg.n_heads))
        for layer, head in np.ndindex(shares.shape):
            name = f"blocks.{layer}.attn.hook_z"

            def patch(z: Tensor, hook: object, head: int = head, name: str = name) -> Tensor:
                z[:, :, head] = cache[name][:, :, head]
                return z

            patched = difference(model.run_with_hooks(a, fwd_hooks=[(name, patch)])[0, -1])
            shares[layer, head] = (patched - nothing) / (everything - nothing)
    np.testing.assert_allclose(example_map.SHARES, shares, atol=6e-4)
