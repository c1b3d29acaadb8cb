"""A model as transformers has it and as we open it, and how far they are from each other."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from headlight.model import Transformer
from tests.model.checkpoints import architectures
from tests.model.checkpoints.architectures import Case

# Of the largest value: float32 sums in another order, over three layers.
TOLERANCE = 2e-5
N_POS = 14  # longer than every window, and than every context that is stretched


def noisy(case: Case) -> Any:
    """transformers' model of a case, with noise on every parameter."""
    torch.manual_seed(0)
    how = {"attn_implementation": "eager", "experts_implementation": "eager"}
    model = case.model.from_config(deepcopy(case.config), **how).eval()  # to save it in half precision writes there
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    architectures.repair(model)
    return model


def tokens_of(case: Case, batch: int = 2) -> Tensor:
    config = case.config.get_text_config()
    tokens = torch.randint(1, config.vocab_size, (batch, N_POS), generator=torch.Generator().manual_seed(1))
    if config.pad_token_id is not None:
        tokens[tokens == config.pad_token_id] -= 1  # of padding some models have positions that no other token has
    return tokens


def difference(ours: Tensor, theirs: Tensor) -> float:
    """The largest, over the largest value."""
    return float((ours - theirs).abs().max() / theirs.abs().max())


@torch.no_grad()
def differences(case: Case, model: Transformer, reference: Any) -> Iterator[tuple[str, float]]:
    """How far each stream, each pattern and the logits are from transformers', by what they are."""
    tokens = tokens_of(case)
    expected = reference(tokens, output_hidden_states=True, output_attentions=True)
    logits, cache = model.run_with_cache(tokens)
    assert len(expected.attentions) == model.cfg.n_layers
    for layer, (stream, pattern) in enumerate(zip(expected.hidden_states, expected.attentions, strict=False)):
        yield f"the stream before layer {layer}", difference(cache["resid_pre", layer], stream)
        yield f"the pattern of layer {layer}", difference(cache["pattern", layer], pattern)
    yield "a logit", difference(logits, expected.logits)
