"""Folders of transformers' architectures that are refused, each in which words, and what is opened all the same."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, LlamaConfig

from headlight.model import load
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError
from tests.model.checkpoints import architectures
from tests.model.checkpoints.architectures import Case
from tests.model.checkpoints.test_gpt2 import edit_config
from tests.model.checkpoints.twins import TOLERANCE, noisy
from tests.model.text.test_tokenizer import small_backend

CASES = dict(architectures.every())
FIRST = {name.partition(":")[0]: case for name, case in reversed(CASES.items())}  # one of each family
INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noisy(CASES["llama: grouped"]).save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    noisy(CASES["llama: grouped"]).save_pretrained(tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    return tmp_path


def edit_index(folder: Path, edit: Callable[[dict[str, str]], object]) -> None:
    index = json.loads((folder / INDEX).read_text())
    edit(index["weight_map"])
    (folder / INDEX).write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"quantization_config": {"quant_method": "higgs"}},
            r"quantised by higgs, which is not read\. Save the model dequantised",
        ),
        ({"quantization": True}, "sets quantization to True, which does not tell how to dequantise"),
        ({"rope_parameters": {"rope_type": "spiral", "rope_theta": 1e4}}, "scales rotary positions by 'spiral'; known"),
        (
            {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}},
            "not that of a llama model.*'linear': {'factor'}",
        ),
        ({"num_key_value_heads": 3}, "n_key_value_heads is 3; it has to divide n_heads, which is 4"),
        ({"hidden_act": "laplace"}, "the activation 'laplace'; supported are relu"),
        ({"num_attention_heads": 0}, "num_attention_heads is 0; it has to be a whole number of at least 1"),
        ({"hidden_size": "20"}, "hidden_size is '20'; it has to be a whole number"),
        ({"rms_norm_eps": -1.0}, "eps is -1.0; it has to be a number greater than 0"),
    ],
)
def test_settings_that_are_not_supported_are_refused_by_name(
    changes: dict[str, Any], message: str, folder: Path
) -> None:
    edit_config(folder, **changes)
    with pytest.raises(ConfigError, match=message):
        load(folder)


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("mpt", {"attn_config": {"qk_ln": True}}, "qk_ln to true, which changes what the model computes"),
        ("gemma", {"use_bidirectional_attention": True}, "attention to true, which.*supported is null or false"),
        (
            "gemma3",
            {"rope_parameters": {"sliding_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 20.0}}},
            "scales the rotary positions of sliding_attention by 'linear'; only those of full_attention can be",
        ),
        ("gpt_oss", {"swiglu_alpha": 1.0}, r"swiglu_alpha to 1\.0, which.*supported is 1\.702"),
        ("gpt_oss", {"num_local_experts": 99}, "asks for 99 experts; no tensor of the checkpoint has as many rows"),
        ("deberta_v2", {"conv_kernel_size": 2}, "conv_kernel_size is 2 and conv_groups 1; supported are an odd one"),
        ("mixtral", {"num_local_experts": 2**30}, "asks for 1073741824 experts"),
        ("mixtral", {"num_experts_per_tok": 4}, "experts_per_token is 4; it can be at most num_experts, which is 3"),
    ],
)
def test_what_a_family_alone_has_and_is_not_supported_is_refused(
    family: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    noisy(FIRST[family]).save_pretrained(tmp_path)
    edit_config(tmp_path, **changes)
    with pytest.raises(HeadlightError, match=message):
        load(tmp_path)


def test_a_size_that_is_left_out_is_asked_for(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["hidden_size"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match=r"config\.json lacks hidden_size, which a llama model has"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 22}, r"embed_tokens\.weight is \[23, 20\], not \[22, 20\]"),
        ({"intermediate_size": 30}, r"gate_proj\.weight is \[31, 20\], not \[30, 20\]"),
        ({"num_hidden_layers": 4}, r"lacks the tensors layers\.3\."),
        ({"num_hidden_layers": 2}, r"unexpected tensors layers\.2\."),
        ({"attention_bias": True}, r"lacks the tensors .*\.bias"),
    ],
)
def test_a_config_that_contradicts_its_tensors_is_refused_by_their_names(
    changes: dict[str, Any], message: str, folder: Path
) -> None:
    edit_config(folder, **changes)
    with pytest.raises(CheckpointError, match=message):
        load(folder)


@pytest.mark.parametrize(
    ("name", "now", "once"),
    [
        ("llama: linear", "rope_parameters", {"rope_theta": 500.0, "rope_scaling": {"type": "linear", "factor": 3.0}}),
        ("gpt_neox: one after the other", "rope_parameters", {"rotary_pct": 0.5, "rotary_emb_base": 500}),
        ("phi: grouped, tied", "rope_parameters", {"partial_rotary_factor": 0.25, "rope_theta": 500.0}),
        ("stablelm: not grouped", "rope_parameters", {"partial_rotary_factor": 1.0, "rope_theta": 500.0}),
        ("bloom: a power of two of heads", "hidden_size", {"n_embed": 24}),
        ("falcon: multi-query", "hidden_size", {"n_embed": 24}),
    ],
)
def test_configs_of_older_versions_say_the_same(name: str, now: str, once: dict[str, Any], tmp_path: Path) -> None:
    noisy(CASES[name]).save_pretrained(tmp_path)
    expected, config = load(tmp_path).cfg, json.loads((tmp_path / "config.json").read_text())
    del config[now]
    (tmp_path / "config.json").write_text(json.dumps(config | once))
    assert load(tmp_path).cfg == expected


@pytest.mark.parametrize("name", ["embed_out.weight", "lm_head.weight"])
def test_gpt_neox_s_unembedding_is_read_under_both_its_names(name: str, tmp_path: Path) -> None:
    theirs = noisy(CASES["gpt_neox: parallel"])
    theirs.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors[name] = tensors.pop("embed_out.weight")
    save_file(tensors, tmp_path / "model.safetensors")
    assert torch.equal(load(tmp_path).unembed.W_U, theirs.lm_head.weight.T)


def test_a_shard_that_is_missing_is_named(shards: Path) -> None:
    gone = sorted(shards.glob("*.safetensors"))[1]
    gone.unlink()
    with pytest.raises(CheckpointError, match=rf"The folder lacks {gone.name}, which .*index\.json names"):
        load(shards)


def test_an_index_that_names_a_tensor_twice_is_refused(shards: Path) -> None:
    text = (shards / INDEX).read_text()
    entry = next(line for line in text.splitlines() if "model.norm.weight" in line)
    (shards / INDEX).write_text(text.replace('"weight_map": {', '"weight_map": {\n' + entry.rstrip(",") + ","))
    with pytest.raises(CheckpointError, match=r"it names 'model\.norm\.weight' twice"):
        load(shards)


def test_an_index_that_names_what_its_shard_lacks_is_refused(shards: Path) -> None:
    files = sorted(path.name for path in shards.glob("*.safetensors"))

    def move(shard_of: dict[str, str]) -> None:
        there = shard_of["model.norm.weight"]
        shard_of["model.norm.weight"] = next(file for file in files if file != there)

    edit_index(shards, move)
    with pytest.raises(CheckpointError, match=r"lacks in .* what model\.safetensors\.index\.json says is there: model"):
        load(shards)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@torch.no_grad()
def test_half_precision_is_computed_with_in_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    noisy(CASES["llama: grouped"]).to(dtype).save_pretrained(tmp_path)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager").eval()
    model, tokens = load(tmp_path), torch.arange(14)[None]
    assert {parameter.dtype for parameter in model.parameters()} == {dtype, torch.float32}
    expected = theirs(tokens).logits
    assert float((model(tokens) - expected).abs().max() / expected.abs().max()) <= TOLERANCE


def test_a_tokenizer_of_another_model_is_refused(folder: Path) -> None:
    small_backend().save(str(folder / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="has 299 words, the model embeddings for 23 tokens: they do not belong"):
        load(folder)


def test_an_embedding_with_spare_rows_is_none_of_another_model(tmp_path: Path) -> None:
    config = LlamaConfig(**CASES["llama: grouped"].config.to_dict() | {"vocab_size": 304})
    noisy(Case(config)).save_pretrained(tmp_path)
    small_backend().save(str(tmp_path / "tokenizer.json"))
    assert load(tmp_path).tokenizer is not None
