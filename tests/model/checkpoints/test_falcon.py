"""Falcon's ALiBi: once, and rounded as transformers rounds it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import FalconConfig, FalconForCausalLM

from headlight.model import load
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.architectures.falcon import CONFIGS
from tests.model.checkpoints.twins import TOLERANCE, noisy

LONG = 700  # bfloat16 has 8 bits: beyond 256 the positions themselves are rounded


@pytest.fixture(params=[name for name, config in CONFIGS.items() if config.alibi])
def eager(request: pytest.FixtureRequest) -> Any:
    settings = CONFIGS[request.param].to_dict() | {"max_position_embeddings": LONG}
    return noisy(Case(FalconConfig(**settings)))


@torch.no_grad()
def test_logits_are_those_of_the_path_that_falcon_takes_by_default(eager: Any, tmp_path: Path) -> None:
    """That path counts ALiBi once; the eager one is repaired to do so for every other comparison."""
    eager.save_pretrained(tmp_path)
    default = FalconForCausalLM.from_pretrained(tmp_path, attn_implementation="sdpa").eval()
    tokens = torch.randint(23, (1, LONG), generator=torch.Generator().manual_seed(1))
    expected = default(tokens).logits
    for logits in (load(tmp_path)(tokens), eager(tokens).logits):
        assert float((logits - expected).abs().max() / expected.abs().max()) <= TOLERANCE


@torch.no_grad()
def test_without_the_rounding_long_prompts_would_differ(eager: Any, tmp_path: Path) -> None:
    eager.save_pretrained(tmp_path)
    tokens = torch.randint(23, (1, LONG), generator=torch.Generator().manual_seed(1))
    exact, rounded = load(tmp_path, alibi_in_bfloat16=False)(tokens), load(tmp_path)(tokens)
    assert float((exact - rounded).abs().max() / rounded.abs().max()) > 10 * TOLERANCE
