"""Llama folders that are written here: transformers opens them, and what no Llama has is refused."""

from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM

from headlight.model import Transformer, TransformerConfig, load
from headlight.model.base.errors import ConfigError
from headlight.model.checkpoints.families.llama import save_llama
from tests.model.oracles import ATOL, RTOL, random_model, random_tokens

LLAMA = {"positional_embedding_type": "rotary", "normalization_type": "RMS", "gated_mlp": True, "act_fn": "silu"}


def random_llama(biased: str = "", **settings: object) -> Transformer:
    """A model with biases in that part of its layers alone."""
    model = random_model(d_head=6, **LLAMA | settings)
    for name, parameter in model.named_parameters():
        if name.rpartition(".")[2].startswith(("b_", "_b_")) and not (biased and f".{biased}." in name):
            parameter.data.zero_()
    return model


@pytest.mark.parametrize("settings", [{}, {"n_key_value_heads": 1, "tie_word_embeddings": True}, {"rotary_base": 50.0}])
@pytest.mark.parametrize("biased", ["", "attn", "mlp"])
def test_transformers_opens_what_was_written(biased: str, settings: dict[str, object], tmp_path: Path) -> None:
    model, tokens = random_llama(biased, **settings), random_tokens()
    save_llama(model, tmp_path)
    with torch.no_grad():
        theirs = LlamaForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")(tokens).logits
        torch.testing.assert_close(model(tokens), theirs, rtol=RTOL, atol=ATOL)
    again = load(tmp_path)
    assert again.cfg == model.cfg
    assert all(torch.equal(parameter, again.get_parameter(name)) for name, parameter in model.named_parameters())


@pytest.mark.parametrize(
    "settings", [{"normalization_type": "LN"}, {"gated_mlp": False}, {"positional_embedding_type": "standard"}]
)
def test_what_no_llama_has_is_refused(settings: dict[str, object], tmp_path: Path) -> None:
    model = Transformer(TransformerConfig(**random_llama().cfg.__dict__ | settings))
    with pytest.raises(ConfigError, match="A Llama folder cannot hold"):
        save_llama(model, tmp_path)
    assert not list(tmp_path.iterdir())
