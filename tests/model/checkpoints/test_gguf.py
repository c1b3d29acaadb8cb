"""GGUF files beside the models that they were made of, and beside transformers' own reading of them."""

import errno
import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    LlamaConfig,
    MixtralConfig,
    Phi3Config,
    PhiConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
)
from transformers.integrations.gguf import dequant

from headlight.model import load
from headlight.model.base import file_copies
from headlight.model.base.errors import CheckpointError, ConfigError, TooLargeError
from headlight.model.checkpoints.gguf.header import read_header
from headlight.model.checkpoints.gguf.kinds import KINDS
from headlight.model.checkpoints.gguf.tensors import read_tensors
from headlight.model.checkpoints.loading import estimate
from headlight.model.checkpoints.quantization.error import unquantised_beside, weight_error
from headlight.model.checkpoints.reference import reference
from headlight.model.compute.quantised import Quantised
from tests.model.checkpoints.gguf_files import KIND, write_gguf

SIZES: dict[str, Any] = {
    "vocab_size": 60,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GEMMA = {"head_dim": 32, "tie_word_embeddings": True, "hidden_activation": "gelu_pytorch_tanh"}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
WINDOW = {"sliding_window": 4, "query_pre_attn_scalar": 32}
ROPE = {"rope_theta": 5e4, "rope_type": "default"}
TOKEN = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
CONFIGS: dict[str, Callable[[], PreTrainedConfig]] = {
    "llama": lambda: LlamaConfig(
        **SIZES, rms_norm_eps=1e-3, rope_parameters={"rope_theta": 5e4, "rope_type": "default"}
    ),
    "llama: tied, biases": lambda: LlamaConfig(
        **SIZES | {"num_attention_heads": 4, "num_key_value_heads": 4}, tie_word_embeddings=True, attention_bias=True
    ),
    "qwen2": lambda: Qwen2Config(**SIZES),
    "qwen2: tied": lambda: Qwen2Config(**SIZES, tie_word_embeddings=True),
    "qwen3moe": lambda: Qwen3MoeConfig(**SIZES, head_dim=32, **MOE, norm_topk_prob=True),
    "llama: Mixtral": lambda: MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=2, sliding_window=None),
    "qwen3": lambda: Qwen3Config(**SIZES, head_dim=32),
    "gemma": lambda: GemmaConfig(**SIZES, **GEMMA),
    "gemma2": lambda: Gemma2Config(**SIZES, **GEMMA, **WINDOW, attn_logit_softcapping=3.0, final_logit_softcapping=5.0),
    "gemma3": lambda: Gemma3TextConfig(**SIZES | {"num_hidden_layers": 7}, **GEMMA, **WINDOW),
    "phi2": lambda: PhiConfig(
        **SIZES | {"num_key_value_heads": 4},
        rope_parameters=ROPE | {"partial_rotary_factor": 0.25},
    ),
    "phi3": lambda: Phi3Config(**SIZES, **TOKEN, sliding_window=None),
    "gpt2": lambda: GPT2Config(vocab_size=60, n_embd=64, n_layer=3, n_head=4, n_positions=64),
}
TOKENS = torch.arange(14)[None] * 7 % 60


def noisy(name: str) -> Any:
    torch.manual_seed(0)
    how = {"attn_implementation": "eager", "experts_implementation": "eager"}
    theirs: Any = AutoModelForCausalLM.from_config(CONFIGS[name](), **how).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    return theirs


def logits(model: Any) -> Any:
    with torch.no_grad():
        output = model(TOKENS)
    return getattr(output, "logits", output)


def difference(ours: Any, theirs: Any) -> float:
    return float((ours - theirs).abs().max() / theirs.abs().max())


@pytest.mark.parametrize("name", CONFIGS)
def test_a_file_of_floats_is_the_model_that_it_was_made_of(name: str, tmp_path: Path) -> None:
    theirs, path = noisy(name), tmp_path / "model.gguf"
    write_gguf(path, name.partition(":")[0], theirs)
    # Float32 sums in another order; Gemma's gains lose a digit where 1 is added and taken off.
    assert difference(logits(load(path)), logits(theirs)) < 1e-5
    assert estimate(path).converted == 0


def test_every_kind_that_is_read_is_compared() -> None:
    assert {name.partition(":")[0] for name in CONFIGS} == set(KINDS)


UNREAD = ("gemma", "llama: Mixtral", "phi2")  # of which transformers reads no file, or not as what they are


@pytest.mark.parametrize("name", [name for name in CONFIGS if name not in UNREAD])
def test_a_quantised_file_is_what_transformers_reads(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, name.partition(":")[0], noisy(name), KIND.Q4_0)
    theirs, model = reference(path, TOKENS), load(path)
    logits, cache = model.run_with_cache(TOKENS)
    # Float32 sums in another order, over three to seven layers.
    assert difference(logits, theirs.logits) < 1e-5
    assert len(theirs.streams) == len(theirs.patterns) == model.cfg.n_layers
    for layer, (stream, pattern) in enumerate(zip(theirs.streams, theirs.patterns, strict=True)):
        assert difference(cache["resid_pre", layer], stream) < 1e-5
        assert difference(cache["pattern", layer], pattern) < 1e-5
    assert model.source is not None
    assert "Q4_0" in model.source.note
    assert re.search(r"dequantised once to \d MB of float32", model.source.note)
    needed = estimate(path)
    assert needed.kinds == ("Q4_0", "float32")
    assert needed.stored < needed.converted


@pytest.mark.parametrize("name", UNREAD)
def test_what_transformers_does_not_read_is_told(name: str, tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", name.partition(":")[0], noisy(name))
    with pytest.raises(ConfigError, match=r"does not read this GGUF file: .* Compare with the unquantised model"):
        reference(tmp_path / "model.gguf", TOKENS)


@pytest.mark.parametrize("plain", ["attn_output", "attn_qkv"])
def test_gpt2s_matrices_are_turned_whether_they_are_quantised_or_not(plain: str, tmp_path: Path) -> None:
    theirs, path = noisy("gpt2"), tmp_path / "model.gguf"
    write_gguf(path, "gpt2", theirs, KIND.Q8_0)
    for layer in range(3):
        part = {"attn_output": "c_proj", "attn_qkv": "c_attn"}[plain]
        matrix = theirs.get_parameter(f"transformer.h.{layer}.attn.{part}.weight")
        add_tensor(path, f"blk.{layer}.{plain}.weight", matrix.T)
    assert difference(logits(load(path)), reference(path, TOKENS).logits) < 1e-5


QUANTISED = [kind for kind in KIND if kind in gguf.quants._type_traits and kind.name not in ("F16", "F32", "BF16")]


@pytest.mark.parametrize("kind", QUANTISED, ids=lambda kind: str(kind.name))
def test_every_quantisation_is_dequantised_as_the_package_does(kind: Any, tmp_path: Path) -> None:
    in_block, block = gguf.GGML_QUANT_SIZES[kind]
    n_rows, n_blocks = 6, 2
    raw = np.random.default_rng(0).integers(0, 120, (n_rows, n_blocks * block), dtype=np.uint8)  # scales are finite
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    writer.add_tensor("one", np.zeros(3, np.float32))
    writer.add_tensor("many", raw, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = read_tensors(tmp_path / "x.gguf")["many"]
    assert isinstance(tensor, Quantised)
    assert tensor.shape == (n_rows, n_blocks * in_block)
    expected = torch.from_numpy(gguf.dequantize(raw, kind))
    assert torch.equal(tensor.dequantised(torch.float32), expected)
    assert torch.equal(tensor.of_rows(lambda rows: rows[2:4]).dequantised(torch.float32), expected[2:4])
    assert torch.equal(tensor.T @ torch.ones(n_rows), expected.T @ torch.ones(n_rows))
    if kind.value in dequant.GGML_BLOCK:  # transformers' own formulas, in torch
        theirs = dequant.dequantize(torch.from_numpy(raw), kind.value, dtype=torch.float32)
        torch.testing.assert_close(expected, theirs.view(expected.shape), rtol=1e-6, atol=1e-6)


def test_numbers_are_made_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_gguf(tmp_path / "model.gguf", "llama", noisy("llama"), KIND.Q8_0)
    whole = logits(load(tmp_path / "model.gguf"))
    monkeypatch.setattr("headlight.model.compute.quantised.CHUNK", 200)
    assert torch.equal(logits(load(tmp_path / "model.gguf")), whole)


def test_matrices_are_made_in_half_precision_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(path, "llama", noisy("llama"), KIND.Q8_0)
    model = load(path, dtype="bfloat16")
    assert model.embed.W_E.dtype == torch.bfloat16
    exact = load(path).embed.W_E
    assert torch.equal(model.embed.W_E, exact.to(torch.bfloat16))
    monkeypatch.setattr("headlight.model.base.memory.free", lambda: 300_000)
    with pytest.raises(TooLargeError, match="bfloat16"):
        load(path)


def test_llama_3s_waves_are_read_off_their_factors(tmp_path: Path) -> None:
    scaling = {
        "rope_type": "llama3",
        "rope_theta": 5e5,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    torch.manual_seed(0)
    config = LlamaConfig(**SIZES | {"max_position_embeddings": 131072}, head_dim=64, rope_parameters=scaling)
    theirs: Any = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    plain = 5e5 ** -(torch.arange(32) / 32)
    factors = plain / theirs.model.rotary_emb.inv_freq
    path = tmp_path / "model.gguf"
    write_gguf(path, "llama", theirs)
    plainly = difference(logits(load(path)), logits(theirs))
    add_tensor(path, "rope_freqs.weight", factors)
    assert difference(logits(load(path)), logits(theirs)) < 1e-5 < plainly
    add_tensor(path, "rope_freqs.weight", factors * torch.linspace(1, 2, 32))
    with pytest.raises(CheckpointError, match="none of Llama 3's"):
        load(path)


def add_tensor(path: Path, name: str, tensor: Any) -> None:
    """Write a file anew with one tensor more, or in the place of one."""
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(path.with_suffix(".new"), architecture)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            writer.add_key_value(field.name, field.contents(), field.types[0])
    for each in reader.tensors:
        if each.name != name:
            writer.add_tensor(each.name, np.array(each.data), raw_dtype=each.tensor_type)
    writer.add_tensor(name, tensor.detach().float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    del reader
    path.unlink()
    path.with_suffix(".new").rename(path)


BYTES = sorted(ByteLevel.alphabet())
BPE = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": [*BYTES, "th", "the", "Ġthe", "12", "<|begin|>", "<|end|>"],
    "tokenizer.ggml.token_type": [1] * 260 + [3, 3],
    "tokenizer.ggml.merges": ["t h", "th e", "Ġ the", "1 2"],  # digits, which llama-bpe takes by three
    "tokenizer.ggml.bos_token_id": 260,
    "tokenizer.ggml.eos_token_id": 261,
    "tokenizer.chat_template": "{% for m in messages %}<|begin|>{{ m['content'] }}<|end|>{% endfor %}",
}
PIECES = ["<unk>", "<s>", "</s>", "▁", "t", "h", "e", "▁the", "he", "▁t", *(f"<0x{byte:02X}>" for byte in range(256))]
SENTENCEPIECE = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": PIECES,
    "tokenizer.ggml.scores": [float(-place) for place in range(len(PIECES))],
    "tokenizer.ggml.token_type": [2, 3, 3, *[1] * 7, *[6] * 256],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
}
TEXTS = ["the the  the", " leading", "naïve\n\n\tcafé", "don't 1212345", "日本 🙂", "<|begin|>the<|end|>", "</s>the"]


@pytest.mark.parametrize(
    ("metadata", "size"), [(BPE, 262), (BPE | {"tokenizer.ggml.pre": "llama-bpe"}, 262), (SENTENCEPIECE, 266)]
)
@pytest.mark.parametrize("begun", [None, True, False])
def test_token_ids_are_those_of_transformers_reading(
    metadata: dict[str, Any], size: int, begun: bool | None, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    theirs = AutoModelForCausalLM.from_config(LlamaConfig(**SIZES | {"vocab_size": size, "num_hidden_layers": 1}))
    path = tmp_path / "model.gguf"
    write_gguf(
        path, "llama", theirs, more=metadata | ({} if begun is None else {"tokenizer.ggml.add_bos_token": begun})
    )
    model, tokenizer = load(path), AutoTokenizer.from_pretrained(tmp_path, gguf_file=path.name)
    assert model.tokenizer is not None
    for text in TEXTS:
        around = tokenizer(text).input_ids
        plain = tokenizer(text, add_special_tokens=False).input_ids
        assert model.to_tokens(text)[0].tolist() == plain, text
        assert model.to_tokens(text, prepend_bos=True)[0].tolist() in (around, [tokenizer.bos_token_id, *plain]), text
    assert model.end_tokens == (metadata["tokenizer.ggml.eos_token_id"],)
    if "tokenizer.chat_template" in metadata:
        messages = [{"role": "user", "content": "the the"}]
        expected = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert model.to_tokens("the the", prepend_bos="chat")[0].tolist() == expected


def test_a_model_in_parts_opens_by_any_of_them(tmp_path: Path) -> None:
    theirs = noisy("llama")
    write_gguf(tmp_path / "model.gguf", "llama", theirs, in_part=10)
    parts = sorted(tmp_path.glob("model-*-of-00003.gguf"))
    assert len(parts) == 3
    for path in (parts[0], parts[2]):
        assert difference(logits(load(path)), logits(theirs)) < 1e-5
    assert estimate(parts[1]).stored == sum(parameter.nbytes for parameter in theirs.parameters())
    shutil.copy(parts[1], parts[2])
    with pytest.raises(CheckpointError, match=r"blk\.\S+ is in two parts of model-00001-of-00003\.gguf"):
        load(parts[0])
    parts[2].unlink()
    with pytest.raises(CheckpointError, match=r"one of 3 parts, of which model-00003-of-00003\.gguf is not beside it"):
        load(parts[0])


def test_a_file_whose_experts_are_not_as_many_as_it_says_is_refused(tmp_path: Path) -> None:
    theirs = noisy("llama: Mixtral")
    theirs.config.num_local_experts = 3
    write_gguf(tmp_path / "model.gguf", "llama", theirs)
    with pytest.raises(CheckpointError, match=r"exps\.weight is \[4, \d+, \d+\]; it has to be a matrix of each of 3"):
        load(tmp_path / "model.gguf")


def test_without_a_tokenizer_ids_are_typed(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf", "llama", noisy("llama"))
    assert load(tmp_path / "model.gguf").to_tokens("ids: 5 17")[0].tolist() == [5, 17]


def test_a_file_without_the_suffix_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    theirs = noisy("llama")
    write_gguf(tmp_path / "sha256-0123", "llama", theirs)
    assert difference(logits(load(tmp_path / "sha256-0123")), logits(theirs)) < 1e-5


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"general.architecture": "mamba"}, r"holds a 'mamba'; of GGUF files these are read: llama, qwen2"),
        ({"split.count": 3}, r"is one of 3 parts of a model, whose names end as in model-00001-of-00003\.gguf"),
        ({"split.count": "3"}, r"is one of 3 parts of a model, whose names end"),
        (
            {"llama.rope.scaling.type": "spiral", "llama.rope.scaling.factor": 2.0},
            "scales rotary positions by 'spiral'",
        ),
        ({"general.alignment": 2**31}, "alignment"),
    ],
)
def test_what_is_not_read_is_called_what_it_is(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    write_gguf(
        path, "llama", noisy("llama"), more={name: value for name, value in more.items() if "archit" not in name}
    )
    if "general.architecture" in more:
        path.write_bytes(path.read_bytes().replace(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0mamba", 1))
    with pytest.raises(CheckpointError, match=said):
        load(path)


def test_a_file_that_cannot_be_copied_is_refused_in_words_and_estimated_without_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that may write no more had an error of its own in the place of the page."""

    def full(*_: object) -> int:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    write_gguf(tmp_path / "x.gguf", "llama", noisy("llama"))
    expected = str(estimate(tmp_path / "x.gguf"))
    monkeypatch.setattr(file_copies, "_copies", True)
    monkeypatch.setattr(os, "sendfile", full)
    with pytest.raises(CheckpointError, match=r"x\.gguf cannot be read .*File too large"):
        load(tmp_path / "x.gguf")
    assert str(estimate(tmp_path / "x.gguf")) == expected


def test_the_package_is_asked_for_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_gguf(tmp_path / "model.gguf", "llama", noisy("llama"))
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(CheckpointError, match=r'pip install "headlight\[gguf\]"'):
        read_header(tmp_path / "model.gguf")


def test_a_list_is_no_longer_than_any_models(tmp_path: Path) -> None:
    """Of as many items as there are bytes for, which are read into a list before anything is known of them."""
    path = tmp_path / "model.gguf"
    for length, is_read in {2**21 - 1: True, 2**21: False}.items():
        entry = struct.pack("<Q1sIIQ", 1, b"a", 9, 7, length)
        path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + entry + bytes(length))
        if is_read:
            assert len(read_header(path).metadata["a"]) == length
        else:
            with pytest.raises(CheckpointError, match=f"it lists {length} things, more than it holds or any model has"):
                read_header(path)


def test_the_error_of_a_quantised_file_is_measured_beside_its_folder(tmp_path: Path) -> None:
    theirs = noisy("llama")
    theirs.save_pretrained(tmp_path)
    write_gguf(tmp_path / "model.gguf", "llama", theirs, KIND.Q8_0)
    assert unquantised_beside(tmp_path / "model.gguf") == tmp_path
    error = weight_error(load(tmp_path / "model.gguf"), tmp_path, lambda done, total: None)
    W = theirs.model.layers[1].mlp.up_proj.weight.detach()
    step = W.view(-1, 32).abs().amax(-1, keepdim=True) / 127  # Q8_0's, whose rounding is even within a step
    expected = float((step.square().mean() / 12).sqrt() / W.square().mean().sqrt())
    assert error.middle == pytest.approx(expected, rel=0.1)
