"""LoRA folders: opened merged into their base where that is on this machine, and refused in words where it is not."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

from headlight.model import load
from headlight.model.base.errors import CheckpointError, ConfigError
from tests.model.checkpoints.architectures.llama import SIZES
from tests.model.checkpoints.twins import TOLERANCE, difference
from tests.model.oracles import random_gpt2, random_tokens

RANK, ALPHA = 3, 7.0
SCALE = ALPHA / RANK
Q, DOWN = "model.layers.1.self_attn.q_proj", "model.layers.2.mlp.down_proj"


def halves(
    model: PreTrainedModel, modules: list[str], turned: bool = False, only: str | None = None
) -> dict[str, Tensor]:
    """lora_A and lora_B of some modules, or of one of these, as peft names them."""
    generator, state_dict = torch.Generator().manual_seed(0), dict[str, Tensor]()
    for module in modules:
        d_out, d_in = model.get_submodule(module).weight.shape[:: -1 if turned else 1]
        state_dict[f"base_model.model.{module}.lora_A.weight"] = torch.randn(RANK, d_in, generator=generator)
        state_dict[f"base_model.model.{module}.lora_B.weight"] = torch.randn(d_out, RANK, generator=generator)
    return {name: state_dict[name] for name in state_dict if only is None or only in name}


def add(model: PreTrainedModel, adapter: dict[str, Tensor], scale: float, turned: bool = False) -> None:
    """What the adapter adds, one entry of the product after the other."""
    for name in adapter:
        if name.endswith("lora_A.weight"):
            product = torch.einsum("ri,or->oi", adapter[name], adapter[name.replace("lora_A", "lora_B")])
            weight = model.get_submodule(name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")).weight
            weight.data += scale * (product.T if turned else product)


def write(folder: Path, adapter: dict[str, Tensor], **config: Any) -> Path:
    folder.mkdir()
    targets = sorted({name.split(".lora_")[0].rpartition(".")[2] for name in adapter if ".lora_" in name})
    settings = {"peft_type": "LORA", "base_model_name_or_path": "../base", "r": RANK, "lora_alpha": ALPHA}
    settings |= {"target_modules": targets} | config
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    save_file(adapter, folder / "adapter_model.safetensors")
    return folder


@pytest.fixture
def llama(tmp_path: Path) -> LlamaForCausalLM:
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation="eager")).eval()
    for parameter in model.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape)
    model.save_pretrained(tmp_path / "base")
    return model


def assert_opens_as(folder: Path, theirs: PreTrainedModel) -> None:
    model, tokens = load(folder), random_tokens()
    with torch.no_grad():
        assert difference(model(tokens), theirs(tokens).logits) <= TOLERANCE
    assert model.source is not None
    assert model.source.note == "a LoRA, merged into base"
    assert model.source.weights[-1] == folder / "adapter_model.safetensors"


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        ({}, SCALE),
        ({"use_rslora": True}, ALPHA / RANK**0.5),
        ({"base_model_name_or_path": "base"}, SCALE),
    ],
)
def test_it_is_merged_on_opening(config: dict[str, Any], scale: float, llama: LlamaForCausalLM, tmp_path: Path) -> None:
    adapter = halves(llama, [Q, DOWN])
    folder = write(tmp_path / "adapter", adapter, **config)
    add(llama, adapter, scale)
    assert_opens_as(folder, llama)


# peft's rule: a key names a module whose name, or whose name's end behind a dot, it matches as a whole.
@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"down_proj": 2.0}, {DOWN: 2.0}),
        ({"layers.1.self_attn.q_proj": 2.0}, {Q: 2.0}),
        ({r".*\.layers\.1\..*(q_proj|k_proj)$": 16}, {Q: 16}),
        ({r"layers\.(0|2)\.mlp\.down_proj": 5}, {DOWN: 5}),
        ({r".*_proj": 3, "q_proj": 4}, {Q: 3, DOWN: 3}),  # the first that matches
        ({"proj": 3, "layers.1": 3, "1.self_attn": 3}, {}),
    ],
)
def test_a_module_may_have_an_alpha_of_its_own(
    keys: dict[str, float], named: dict[str, float], llama: LlamaForCausalLM, tmp_path: Path
) -> None:
    folder = write(tmp_path / "adapter", halves(llama, [Q, DOWN]), alpha_pattern=keys)
    for module in (Q, DOWN):
        add(llama, halves(llama, [Q, DOWN], only=module), named.get(module, ALPHA) / RANK)
    assert_opens_as(folder, llama)


def test_a_module_may_have_a_rank_of_its_own(llama: LlamaForCausalLM, tmp_path: Path) -> None:
    q, down = halves(llama, [Q]), halves(llama, [DOWN])
    folder = write(tmp_path / "adapter", q | down, r=16, rank_pattern={r"layers\.\d\.(mlp|self_attn)\..*": RANK})
    add(llama, q | down, SCALE)
    assert_opens_as(folder, llama)
    with pytest.raises(ConfigError, match=r"gives model\.layers\.1\.self_attn\.q_proj the rank 16; its lora_A has 3"):
        load(write(tmp_path / "other", q | down, r=16, rank_pattern={"down_proj": RANK}))


def test_what_was_trained_whole_takes_the_bases_place(llama: LlamaForCausalLM, tmp_path: Path) -> None:
    embedding = torch.randn(SIZES["vocab_size"], SIZES["hidden_size"])
    name = "base_model.model.model.embed_tokens.modules_to_save.weight"
    folder = write(tmp_path / "adapter", {name: embedding})
    llama.get_input_embeddings().weight.data = embedding
    assert_opens_as(folder, llama)


# What peft goes by is the layer: Conv1D holds [in, out], Linear [out, in], whatever the settings say.
@pytest.mark.parametrize("fan_in_fan_out", [True, False])
def test_gpt2s_matrices_are_the_other_way_round(fan_in_fan_out: bool, tmp_path: Path) -> None:
    theirs = random_gpt2(n_inner=12)
    theirs.save_pretrained(tmp_path / "base")
    adapter = halves(theirs, ["transformer.h.1.attn.c_attn", "transformer.h.0.mlp.c_fc"], turned=True)
    folder = write(tmp_path / "adapter", adapter, fan_in_fan_out=fan_in_fan_out)
    add(theirs, adapter, SCALE, turned=True)
    assert_opens_as(folder, theirs)


def test_a_base_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "adapter", {}, base_model_name_or_path="meta-llama/Llama-3.2-1B")
    with pytest.raises(CheckpointError, match=r"adapter is a LoRA of 'meta-llama/Llama-3\.2-1B', .*merge_and_unload"):
        load(folder)


def test_an_adapter_of_another_base_is_refused(llama: LlamaForCausalLM, tmp_path: Path) -> None:
    adapter = halves(llama, [Q])
    elsewhere = {name.replace("q_proj", "c_attn"): tensor for name, tensor in adapter.items()}
    with pytest.raises(
        CheckpointError,
        match=r"holds model\.layers\.1\.self_attn\.c_attn\.weight, which its base has not: it was trained on",
    ):
        load(write(tmp_path / "elsewhere", elsewhere))
    wider = {name: torch.cat([tensor] * 2, 1) if "lora_A" in name else tensor for name, tensor in adapter.items()}
    with pytest.raises(CheckpointError, match=r"q_proj is \[30, 40\], its base's \[30, 20\]"):
        load(write(tmp_path / "wider", wider))
    alone = {name: tensor for name, tensor in adapter.items() if "lora_A" in name}
    with pytest.raises(CheckpointError, match=r"lora_A and lora_B of .*q_proj do not make up a product"):
        load(write(tmp_path / "alone", alone))
