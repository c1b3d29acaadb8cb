"""Every architecture that TransformerLens's HookedTransformer has, against it: each activation's name and values.

The models are those that are held against transformers.
"""

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headlight.model import TransformerConfig, load
from tests.model.checkpoints.test_architectures import CASES, N_POS, TOLERANCE, noisy
from tests.model.lens.lens_twin import lacks, lens_twin

FAMILIES = (
    "bloom",
    "gemma",
    "gemma2",
    "gemma3",
    "gpt_neo",
    "gpt_neox",
    "gpt_oss",
    "gptj",
    "llama",
    "mistral",
    "mixtral",
    "olmo",
    "olmo2",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "stablelm",
    "starcoder2",
)
# Within an expert TransformerLens calls the gate and the linear part otherwise than in an MLP that is alone.
OF_EXPERTS = {"hook_gate": "hook_pre", "hook_pre": "hook_pre_linear"}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in CASES if name.partition(":")[0] in FAMILIES])
@torch.no_grad()
def test_every_activation_is_that_of_transformer_lens(name: str, tmp_path: Path) -> None:
    noisy(CASES[name]).save_pretrained(tmp_path)
    model = load(tmp_path)
    if lack := lacks(model):
        pytest.skip(f"TransformerLens has not: {lack}")
    tokens = torch.randint(1, model.cfg.d_vocab, (2, N_POS), generator=torch.Generator().manual_seed(1))
    logits, cache = model.run_with_cache(tokens, names_filter=lambda name: True)
    expected, their_cache = lens_twin(model).run_with_cache(tokens)
    theirs = {
        our_name(model.cfg, each): value for each, value in their_cache.items() if not is_theirs_alone(model.cfg, each)
    }
    assert set(cache) == set(theirs)
    for each in theirs:
        if model.cfg.mlp_limit is None or not each.endswith("hook_expert_weights"):  # theirs are of those chosen alone
            assert_same(comparable(each, cache[each]), comparable(each, theirs[each]), each)
    assert_same(logits, expected, "a logit")


def our_name(cfg: TransformerConfig, theirs: str) -> str:
    before, _, last = theirs.rpartition(".")
    if ".experts." in theirs:
        return f"{before}.{OF_EXPERTS.get(last, last)}"
    # Norms behind attention and MLP are called so here whether there are others before these or not.
    return theirs if cfg.normalize_before else re.sub(r"\.(ln[12])\.", r".\1_post.", theirs)


def is_theirs_alone(cfg: TransformerConfig, name: str) -> bool:
    """Whether it is of the second norm of a parallel block, which here has one if they are the same."""
    return cfg.parallel_attn_mlp and cfg.parallel_norms == 1 and ".ln2." in name


def comparable(name: str, value: Tensor) -> Tensor:
    """A value in TransformerLens's shape, which has tokens and heads in one axis in some; an expert's tokens sorted."""
    if ".experts." in name:
        rows = value.reshape(-1, value.shape[-1])
        return rows[rows.sum(-1).argsort()]
    return value.reshape(-1, value.shape[-1]) if re.search(r"\.[qk]_norm\.|hook_expert", name) else value


def assert_same(ours: Tensor, theirs: Tensor, what: str) -> None:
    hidden = theirs.isinf()  # scores that no query sees
    assert ours.shape == theirs.shape, what
    assert torch.equal(ours.isinf(), hidden), what
    ours, theirs = ours.double().masked_fill(hidden, 0), theirs.double().masked_fill(hidden, 0)
    if theirs.numel():
        difference = float((ours - theirs).abs().max() / theirs.abs().max())
        assert difference <= TOLERANCE, f"{what} differs by {difference:.1e} of the largest"
