"""The lens of a run against the distribution that the model itself gives."""

from pathlib import Path

import pytest
import torch

from headlight.model import load
from headlight.model.explain.lens import followed_probabilities, followed_ranks, logit_lens
from headlight.model.run import run_prompt
from tests.tiny import save_tiny


@pytest.mark.parametrize("kind", ["llama-like", "gemma2-like"])
def test_after_the_last_layer_it_says_what_the_model_says(kind: str, tmp_path: Path) -> None:
    save_tiny(kind, tmp_path)
    run = run_prompt(load(tmp_path), "The cat sat on the mat")
    with torch.no_grad():
        probabilities = run.model(run.tokens[None])[0].softmax(-1)
    best, token = probabilities.topk(10), int(probabilities[-1].argmax())
    read = logit_lens(run)
    # Float32 sums of 20 products in another order.
    torch.testing.assert_close(read.top_probs.values[-1], best.values, rtol=1e-4, atol=1e-6)
    followed = followed_probabilities(run, token).values[-1]
    torch.testing.assert_close(followed, probabilities[:, token], rtol=1e-4, atol=1e-6)
    assert followed_ranks(run, token).values[-1, -1] == 1
