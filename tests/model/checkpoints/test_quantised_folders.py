"""Quantised folders beside transformers' model of the same numbers, and numbers that the formats' own packers wrote."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoModelForCausalLM, GptOssConfig, GptOssForCausalLM
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

from headlight.model import CellQuestion, Comparison, load, run_prompt, why_tables
from headlight.model.base.errors import HeadlightError
from headlight.model.checkpoints.loading import estimate
from headlight.model.checkpoints.quantization.error import unquantised_beside, weight_error
from headlight.model.checkpoints.quantization.methods import with_matrices
from headlight.model.checkpoints.reference import reference
from headlight.model.compute.quantised import Quantised, stored_bytes
from tests.hostile import WRONG
from tests.model.checkpoints import test_gguf
from tests.model.checkpoints.quantised_folders import KINDS, NF4, SIZES, fp8, mlx, write
from tests.model.checkpoints.test_lora import add, halves
from tests.model.checkpoints.test_lora import write as write_adapter
from tests.model.checkpoints.twins import TOLERANCE, difference

TOKENS = torch.arange(14)[None] * 7 % 60


def logits(model: Any) -> Any:
    with torch.no_grad():
        outputs = model(TOKENS)
    return getattr(outputs, "logits", outputs)


def edit(folder: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / "model.safetensors").items()}
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def configure(folder: Path, **changes: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] |= changes
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("name", KINDS)
def test_a_quantised_folder_computes_with_the_numbers_that_it_stands_for(name: str, tmp_path: Path) -> None:
    theirs = write(tmp_path, KINDS[name])
    model = load(tmp_path)
    W_in = model.get_parameter("blocks.1.mlp.W_in")
    assert isinstance(W_in, Quantised)
    assert difference(W_in + 0, theirs.model.layers[1].mlp.up_proj.weight.T) < 1e-6  # products in float32
    assert difference(logits(model), logits(theirs)) < TOLERANCE
    with torch.inference_mode():
        assert difference(logits(model), logits(theirs)) < TOLERANCE
    assert model.source is not None
    assert model.source.note.endswith("dequantised to float32 where it is used")
    assert not model.source.unread
    needed = estimate(tmp_path)
    assert needed.converted == 0
    assert needed.stored == needed.mapped < (tmp_path / "model.safetensors").stat().st_size + 10_000


def gpt_oss(folder: Path) -> GptOssForCausalLM:
    torch.manual_seed(0)
    sizes = {"num_local_experts": 3, "num_experts_per_tok": 2, "head_dim": 16, "layer_types": ["sliding_attention"] * 2}
    config = GptOssConfig(**SIZES | {"hidden_size": 64} | sizes, attn_implementation="eager", pad_token_id=None)
    theirs = GptOssForCausalLM(config).eval().requires_grad_(False)
    for parameter in theirs.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape)
    tensors = dict(theirs.state_dict())
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        n_experts, d_in, d_out = tensors.pop(name).shape
        blocks = torch.randint(0, 256, (n_experts, d_out, d_in // 32, 16), dtype=torch.uint8)
        exponents = torch.randint(121, 126, blocks.shape[:3], dtype=torch.uint8)
        tensors |= {f"{name}_blocks": blocks, f"{name}_scales": exponents}
        theirs.get_parameter(name).data = convert_moe_packed_tensors(
            blocks, exponents, dtype=torch.float32
        ).contiguous()
    settings = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
    (folder / "config.json").write_text(json.dumps(config.to_dict() | {"quantization_config": settings}, default=str))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return theirs


def test_experts_in_mxfp4_are_those_that_transformers_dequantises(tmp_path: Path) -> None:
    theirs = gpt_oss(tmp_path)
    model = load(tmp_path)
    assert difference(logits(model), logits(theirs)) < TOLERANCE
    one = model.get_parameter("blocks.1.mlp.experts.2.W_out")
    assert isinstance(one, Quantised)
    whole = theirs.model.layers[1].mlp.experts.down_proj
    assert torch.equal(one + 0, whole[2])
    assert stored_bytes(one) == whole[2].numel() // 2 + whole[2].numel() // 32  # of the one expert alone


def of_experts(tensors: dict[str, Tensor], name: str) -> dict[str, list[Tensor]]:
    """Take each expert's matrices out of a model's tensors, by the name of the matrix in its layer."""
    stacked: dict[str, list[Tensor]] = {}
    for each in sorted(each for each in tensors if f".{name}.weight" in each and ".experts." in each):
        layer = each.partition(".experts.")[0]
        stacked.setdefault(layer, []).append(tensors.pop(each))
    return stacked


def moe(folder: Path, model_type: str) -> tuple[Any, dict[str, Tensor]]:
    """A random model with experts as transformers has it, and its tensors as its folder is published."""
    torch.manual_seed(0)
    config = test_gguf.CONFIGS[{"qwen3_moe": "qwen3moe", "mixtral": "llama: Mixtral"}[model_type]]()
    how = {"attn_implementation": "eager", "experts_implementation": "eager"}
    theirs: Any = AutoModelForCausalLM.from_config(config, **how).eval().requires_grad_(False)
    theirs.save_pretrained(folder)
    return theirs, load_file(folder / "model.safetensors")


def rewrite(folder: Path, tensors: dict[str, Tensor], **settings: Any) -> None:
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | settings))


def reopened(folder: Path, theirs: Any, tensors: dict[str, Tensor]) -> Any:
    """transformers' model with other numbers, written as they are published."""
    rewrite(folder, tensors)
    how = {"attn_implementation": "eager", "experts_implementation": "eager", "dtype": torch.float32}
    return type(theirs).from_pretrained(folder, **how).eval()


@pytest.mark.parametrize("is_quantised", [True, False])
@pytest.mark.parametrize("model_type", ["qwen3_moe", "mixtral"])
def test_experts_that_mlx_stacks_are_single_ones(model_type: str, is_quantised: bool, tmp_path: Path) -> None:
    theirs, tensors = moe(tmp_path, model_type)
    names = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"} if model_type == "mixtral" else {}
    stored, dequantised = dict(tensors), dict(tensors)
    for ours in ("gate_proj", "up_proj", "down_proj"):
        for layer, matrices in of_experts(stored, names.get(ours, ours)).items():
            packs = [mlx(4)(*matrix.shape) if is_quantised else ({"weight": matrix}, matrix) for matrix in matrices]
            for end in packs[0][0]:
                stored[f"{layer}.switch_mlp.{ours}.{end}"] = torch.stack([parts[end] for parts, _ in packs])
            for index, (_, matrix) in enumerate(packs):
                dequantised[f"{layer}.experts.{index}.{names.get(ours, ours)}.weight"] = matrix
    theirs = reopened(tmp_path, theirs, dequantised)
    rewrite(tmp_path, stored, **({"quantization": {"group_size": 32, "bits": 4}} if is_quantised else {}))
    model = load(tmp_path)
    assert isinstance(model.get_parameter("blocks.1.mlp.experts.2.W_in"), Quantised) == is_quantised
    assert difference(logits(model), logits(theirs)) < TOLERANCE


@pytest.mark.parametrize("block", [(20, 24), (0, 0)])
def test_experts_in_fp8_that_transformers_saves_in_one_tensor_are_single_ones(
    block: tuple[int, int], tmp_path: Path
) -> None:
    theirs, tensors = moe(tmp_path, "qwen3_moe")
    stored, dequantised = dict(tensors), dict(tensors)
    experts = {part: of_experts(stored, f"{part}_proj") for part in ("gate", "up", "down")}
    for layer in experts["gate"]:
        for whole in (("gate", "up"), ("down",)):
            matrices = [torch.cat(parts) for parts in zip(*(experts[part][layer] for part in whole), strict=True)]
            packs = [fp8(*block, "scale")(*matrix.shape) for matrix in matrices]
            at = f"{layer}.experts.{'_'.join(whole)}_proj"
            stored[at] = torch.stack([parts["weight"] for parts, _ in packs])
            scales = torch.stack([parts["scale"] for parts, _ in packs])
            stored[f"{at}_scale_inv"] = scales if block[0] else scales[:, None, None]
            for index, (_, matrix) in enumerate(packs):
                for part, half in zip(whole, matrix.chunk(len(whole)), strict=True):
                    dequantised[f"{layer}.experts.{index}.{part}_proj.weight"] = half
    theirs = reopened(tmp_path, theirs, dequantised)
    settings = {"quant_method": "fp8"} | ({"weight_block_size": list(block)} if block[0] else {})
    rewrite(tmp_path, stored, quantization_config=settings)
    model = load(tmp_path)
    assert isinstance(model.get_parameter("blocks.1.mlp.experts.2.W_in"), Quantised)
    assert difference(logits(model), logits(theirs)) < TOLERANCE


DOT = torch.arange(64.0, dtype=torch.float64)
OURS = ((7 * torch.arange(64)) % 64 - 31) / 16  # what was packed
Packed = tuple[dict[str, Any], dict[str, Tensor], float]  # what config.json says, the tensors, and the number


def words(text: str, dtype: Any, *shape: int) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytes.fromhex(text), dtype).copy()).view(*shape)


def by_bitsandbytes() -> Packed:
    packed = "012469bdef12368bdef12358acef11357acef01357acef012479cde012469bde"
    quant_state = b'{"quant_type": "nf4", "blocksize": 64, "dtype": "float32", "shape": [2, 32]}'
    parts = {
        "weight": words(packed, np.uint8, 32, 1),
        "weight.absmax": torch.tensor([2.0]),
        "weight.quant_map": torch.tensor(NF4),
        "weight.quant_state.bitsandbytes__nf4": torch.tensor(list(quant_state), dtype=torch.uint8),
    }
    return {"quant_method": "bitsandbytes"}, parts, 135.80286739766598


def by_bitsandbytes_in_8_bits() -> Packed:
    packed = (
        "85a1bdd8f4102c47637f9db9d4f00c28435f7b99b5d0ec0824405b7795b1cce8"
        "0422405d7b89a7c5e2001e3b597785a3c0defc19375572819fbcdaf81533506e"
    )
    parts = {"weight": words(packed, np.int8, 2, 32), "SCB": torch.tensor([2.0, 1.875])}
    return {"load_in_8bit": True}, parts, 167.84645669291336


def by_mlx(bits: int) -> Packed:
    packed = {
        3: "bf4b4ec15d720a6e975370bbac7f4463fd231aeb1fd158ff",
        4: "efac794502ce9b6724e0bd894602dfaba8ec1f4286cafe2064a8db0f4276b9fd",
    }
    steps = {3: [[-0.5, 0.46875]], 4: [[-0.25, 0.234375]]}
    offsets = torch.tensor([[2.0, -1.875]])
    weight = words(packed[bits], np.uint32, 1, -1)
    parts = {"weight": weight, "scales": torch.tensor(steps[bits]), "biases": offsets}
    return {"bits": bits, "group_size": 32}, parts, {3: 176.625, 4: 148.375}[bits]


def by_compressed_tensors() -> Packed:
    packed = "3165a8ecff4386cafd2f64a8dbff428686ca0d2164a8db004286b90d206497cb"
    parts = {
        "weight_packed": words(packed, np.int32, 2, 4),
        "weight_scale": torch.full((2, 1), 0.25),
        "weight_zero_point": torch.tensor([[105]], dtype=torch.int32),
        "weight_shape": torch.tensor([2, 32]),
    }
    groups = {"group_0": {"weights": {"num_bits": 4}}, "group_1": {"weights": {"num_bits": 8}}}
    return {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups}, parts, 198.0


def by_torchao() -> Packed:
    packed = (
        "84a0bcd8f4102c48647f9cb8d4f00c2844607c98b4d0ec0824405c7894b0cce8"
        "0422405e7b89a7c4e2001e3c597785a2c0defc1a375573809ebcdaf81533516e"
    )
    parts = {
        "_weight_qdata": words(packed, np.int8, 2, 32),
        "_weight_scale": torch.tensor([[0.01568627543747425], [0.014705882407724857]]),
        "_weight_zero_point": torch.zeros(2, 1, dtype=torch.int8),
    }
    return {"quant_method": "torchao"}, parts, 167.87843300402164


@pytest.mark.parametrize(
    "packed",
    [by_bitsandbytes(), by_bitsandbytes_in_8_bits(), by_mlx(3), by_mlx(4), by_compressed_tensors(), by_torchao()],
    ids=["NF4", "int8", "MLX, 3 bits", "MLX, 4 bits", "compressed-tensors", "torchao"],
)
def test_what_a_formats_own_packer_wrote_is_dequantised_as_it_does(packed: Packed) -> None:
    settings, parts, expected = packed
    tensors = {f"one.{end}": part for end, part in parts.items()}
    matrix = with_matrices(tensors, {"quantization_config": settings})["one.weight"]
    # The formats' own number was a product in float64 with 0, 1, 2 and so on; 8 bits are rounded to float32 once.
    assert float((matrix + 0).double().flatten() @ DOT) == pytest.approx(expected, rel=1e-7)
    assert float((matrix.flatten() - OURS).abs().max()) <= 0.5  # a step of the coarsest, so in no other order


@pytest.mark.parametrize(
    ("bits", "packed", "zeros"),
    [
        (3, "a8ce78a84375c643ce78a8ce75c6437578a8ce78c64375c6", "88c6221a8b682ca2b188c622"),
        (4, "50fa943e832dc761d8721cb60ba54fe950fa943e832dc761d8721cb60ba54fe9", "1032547698badc1032547698badc1032"),
    ],
)
def test_autogptq_packs_as_it_is_read(bits: int, packed: str, zeros: str) -> None:
    """Of inputs i and outputs o it packed 5 i + 3 o, less a zero of 1 + o, each as far as the bits go."""
    parts = {
        "one.qweight": words(packed, np.int32, bits, 2).repeat(1, 16),  # its first two outputs; others are alike
        "one.qzeros": words(zeros, np.int32, 1, bits),
        "one.scales": torch.full((1, 32), 0.125),
    }
    settings = {"quant_method": "gptq", "bits": bits, "group_size": -1}
    matrix = with_matrices(parts, {"quantization_config": settings})["one.weight"]
    i, o = torch.arange(32)[None], torch.arange(32)[:, None]
    expected = ((5 * i + 3 * (o % 2)) % 2**bits - (1 + o % (2**bits - 2))) * 0.125
    assert torch.equal(matrix + 0, expected)


def test_matrices_are_dequantised_once_where_a_dtype_is_asked_for(tmp_path: Path) -> None:
    theirs = write(tmp_path, KINDS["AWQ"])
    model = load(tmp_path, dtype="bfloat16")
    expected = theirs.model.layers[1].mlp.up_proj.weight.T.to(torch.bfloat16)
    assert torch.equal(model.get_parameter("blocks.1.mlp.W_in"), expected)
    assert model.source is not None
    assert "(AWQ, 4 bits), dequantised once to 0 MB of bfloat16" in model.source.note
    n_numbers = sum(parameter.numel() for layer in theirs.model.layers for parameter in layer.parameters())
    assert estimate(tmp_path, "bfloat16").converted > 2 * n_numbers * 0.9
    assert not isinstance(load(tmp_path, dtype="float32").get_parameter("blocks.1.mlp.W_in"), Quantised)


@pytest.mark.parametrize("name", ["GPTQ, 4 bits", "bitsandbytes, NF4"])
def test_a_lora_is_added_to_a_quantised_matrix_where_it_is_used(name: str, tmp_path: Path) -> None:
    theirs = write(tmp_path / "base", KINDS[name])
    adapter = halves(theirs, ["model.layers.1.self_attn.q_proj", "model.layers.0.mlp.down_proj"])
    folder = write_adapter(tmp_path / "lora", adapter)
    add(theirs, adapter, 7.0 / 3)
    model = load(folder)
    assert isinstance(model.get_parameter("blocks.1.attn.W_Q"), Quantised)
    assert difference(logits(model), logits(theirs)) < TOLERANCE
    assert model.source is not None
    assert model.source.note.startswith("a LoRA, merged into base; a quantised folder (")


def test_derivatives_go_through_quantised_matrices(tmp_path: Path) -> None:
    theirs = write(tmp_path, KINDS["MLX, 4 bits"])
    model = load(tmp_path)
    embedded = theirs.model.embed_tokens(TOKENS).detach().requires_grad_()
    theirs(inputs_embeds=embedded).logits[0, -1, 3].backward()

    class Given:
        tensor = embedded.detach().clone().requires_grad_()

    out = model.run_with_hooks(TOKENS, fwd_hooks=[("hook_embed", lambda activation, hook: Given.tensor)])
    out[0, -1, 3].backward()
    assert Given.tensor.grad is not None
    assert embedded.grad is not None
    assert difference(Given.tensor.grad, embedded.grad) < TOLERANCE


Q = "model.layers.0.self_attn.q_proj"


def drop(end: str) -> Callable[[dict[str, Tensor]], object]:
    return lambda tensors: tensors.pop(f"{Q}.{end}")


def cut(end: str) -> Callable[[dict[str, Tensor]], object]:
    return lambda tensors: tensors.update({f"{Q}.{end}": tensors[f"{Q}.{end}"][:1].clone()})


def beyond(tensors: dict[str, Tensor]) -> None:
    tensors[f"{Q}.g_idx"][5] = 99


def garbled(tensors: dict[str, Tensor]) -> None:
    tensors[f"{Q}.weight.quant_state.bitsandbytes__nf4"][3:9] = 0


DAMAGES: list[tuple[str, Callable[[dict[str, Tensor]], object], dict[str, Any], str]] = [
    ("GPTQ, 4 bits", drop("scales"), {}, rf"holds {Q}\.qweight without {Q}\.scales, by which it is dequantised"),
    ("GPTQ, 4 bits", cut("scales"), {}, rf"{Q}\.scales is \[1, 64\] of float16; it has to be \[2, 64\]"),
    ("GPTQ, 4 bits", cut("g_idx"), {}, rf"{Q}\.g_idx is \[1\] of int32; it has to be \[64\]"),
    ("GPTQ, 4 bits", beyond, {}, rf"{Q}\.g_idx is \[64\] of int32; it has to be for each input a group from 0 to 1"),
    ("GPTQ, 4 bits", dict, {"bits": 7}, r"sets bits to 7; it can be 2, 3, 4, 8"),
    ("GPTQ, 4 bits", dict, {"bits": None}, r"sets bits to None; it can be"),
    ("GPTQ, 4 bits", dict, {"group_size": 0}, r"sets group_size to 0; it is a number, or -1 for all"),
    ("GPTQ, 4 bits", dict, {"group_size": 10**30}, r"scales is \[3, 64\] of float16; it has to be \[1, 64\]"),
    ("GPTQ, 4 bits", dict, {"checkpoint_format": "marlin"}, r"GPTQ's 'marlin'; read are gptq and gptq_v2"),
    ("AWQ", dict, {"group_size": 40}, r"qweight is .* it has to be of inputs that groups of 40 divide"),
    ("AWQ", dict, {"version": "gemv"}, r"AWQ's 'gemv'; read is gemm"),
    (
        "AWQ",
        dict,
        {"quant_method": "hqq"},
        r"quantised by hqq, which is not read\. Save the model dequantised, as the manual shows",
    ),
    ("FP8 in blocks", drop("weight_scale_inv"), {}, rf"holds {Q}\.weight as float8_e4m3fn without scales"),
    (
        "FP8 in blocks",
        dict,
        {"weight_block_size": [128, 128]},
        r"weight_scale_inv is \[2, 4\] .* it has to be a number",
    ),
    ("bitsandbytes, int8", cut("SCB"), {}, rf"{Q}\.SCB is \[1\] of float32; it has to be \[64\]"),
    ("bitsandbytes, NF4", cut("weight"), {}, r"nf4 does not tell how .* is quantised"),
    ("bitsandbytes, NF4", garbled, {}, r"nf4 does not tell how .* is quantised"),
    (
        "compressed-tensors, 4 bits",
        dict,
        {"format": "marlin-24"},
        r"compressed as 'marlin-24'; read are pack-quantized",
    ),
    ("compressed-tensors, 4 bits", dict, {"config_groups": {}}, r"packed is .* as many bits as config\.json says"),
    ("compressed-tensors, 4 bits", drop("weight_shape"), {}, rf"without {Q}\.weight_shape"),
]


@pytest.mark.parametrize(("name", "damage", "changes", "message"), DAMAGES, ids=range(len(DAMAGES)))
def test_a_damaged_quantised_folder_is_refused_by_a_plain_message(
    name: str, damage: Callable[[dict[str, Tensor]], object], changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write(tmp_path, KINDS[name])
    edit(tmp_path, damage)
    configure(tmp_path, **changes)
    with pytest.raises(HeadlightError, match=message) as refusal:
        load(tmp_path)
    assert "config.json" in str(refusal.value) or "model.safetensors" in str(refusal.value)


def test_the_error_is_measured_beside_the_unquantised_model(tmp_path: Path) -> None:
    theirs = write(tmp_path / "one-AWQ", KINDS["AWQ"])
    for name, parameter in theirs.named_parameters():
        if "proj" in name:
            parameter.data *= 0.5 if name == f"{Q}.weight" else 0.8
    theirs.save_pretrained(tmp_path / "one")
    theirs.save_pretrained(tmp_path / "another")
    assert unquantised_beside(tmp_path / "one-AWQ") == tmp_path / "one"
    assert unquantised_beside(tmp_path / "one") is None
    error = weight_error(load(tmp_path / "one-AWQ"), tmp_path / "one", lambda done, total: None)
    # Of a matrix w stands 0.8 w there: (w - 0.8 w) / 0.8 w; float32 rounds each number.
    assert (error.n_matrices, error.name) == (14, "blocks.0.attn.W_Q")
    assert (error.middle, error.largest) == (pytest.approx(0.25, rel=1e-5), pytest.approx(1.0, rel=1e-5))
    (tmp_path / "one").rename(tmp_path / "other")
    assert unquantised_beside(tmp_path / "one-AWQ") is None  # two, of which neither is named so


def test_a_model_with_quantised_matrices_is_copied_with_them_as_they_are(tmp_path: Path) -> None:
    write(tmp_path, KINDS["GPTQ, 4 bits"])
    model = load(tmp_path)
    copied = deepcopy(model)
    parameter = copied.get_parameter("blocks.1.mlp.W_in")
    assert isinstance(parameter, Quantised)
    assert torch.equal(logits(copied), logits(model))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_a_view_of_a_quantised_parameter_is_that_view_of_its_numbers(mode: Any, tmp_path: Path) -> None:
    theirs = write(tmp_path, KINDS["GPTQ, 4 bits"])
    W_Q = load(tmp_path).get_parameter("blocks.1.attn.W_Q")
    assert isinstance(W_Q, Quantised)
    expected = theirs.model.layers[1].self_attn.q_proj.weight.T.view(64, 4, 16).transpose(0, 1)
    with mode():
        assert (W_Q.double() + 0).dtype == torch.float64
        for view in (torch.Tensor.double, lambda W: W[1].detach(), lambda W: W[1:3], lambda W: W.unbind(0)[2]):
            assert difference(view(W_Q) + 0, view(expected)) < 1e-6  # products in float32


def test_a_prediction_is_explained_as_with_the_same_numbers_unquantised(tmp_path: Path) -> None:
    write(tmp_path / "quantised", KINDS["AWQ"]).save_pretrained(tmp_path / "plain")
    tables = []
    for name in ("quantised", "plain"):
        run = run_prompt(load(tmp_path / name), "ids: 7 14 21 28 35 42", prepend_bos=False)
        tables.append(why_tables(Comparison(run), CellQuestion((1, 2), 5, 3, 11, 12, 5)))
    assert tables[0].keys() == tables[1].keys()
    for name, table in tables[1].items():
        for column, expected in table.items():
            for cell, other in zip(tables[0][name][column], expected, strict=True):
                # Float32 sums of some tens, in another order.
                assert cell == (pytest.approx(other, rel=1e-4, abs=1e-5) if isinstance(other, float) else other)


def test_transformers_reading_is_no_reference_where_it_does_not_read_every_tensor(tmp_path: Path) -> None:
    """It dequantises no block that is cut off, and takes stacked experts in FP8 without their scales."""
    write(tmp_path / "cut", KINDS["FP8 in blocks"])
    with pytest.raises(HeadlightError, match=r"transformers does not read this folder: .*Compare with another copy"):
        reference(tmp_path / "cut", TOKENS)
    _, stored = moe(tmp_path / "stacked", "qwen3_moe")
    stored |= {f"model.layers.{layer}.mlp.experts.down_proj_scale_inv": torch.ones(4, 1, 1) for layer in range(3)}
    rewrite(tmp_path / "stacked", stored, quantization_config={"quant_method": "fp8"})
    with pytest.raises(HeadlightError, match=r"does not know what to do with model\.layers\.0\.mlp\.experts\.down_"):
        reference(tmp_path / "stacked", TOKENS)


STRANGE = (
    torch.empty(0),
    torch.tensor(3),
    torch.zeros(2, dtype=torch.int64),
    torch.zeros(1, dtype=torch.uint8).expand(2**17, 2**17),
    torch.zeros(1, dtype=torch.int32).expand(2**17, 2**17),
    torch.full((64, 96), -1, dtype=torch.int32),
    torch.tensor([2**40, 2**40]),
    torch.tensor([-1, 0]),
)


@pytest.mark.parametrize("name", KINDS)
def test_whatever_a_folder_says_of_its_quantisation_is_read_or_refused(name: str) -> None:
    kind = KINDS[name]
    parts, _ = kind.pack(64, 96)
    tensors = {f"one.{end}": part for end, part in parts.items()}

    def attempt(tensors: dict[str, Tensor], settings: dict[str, Any]) -> bool:
        try:
            matrices = with_matrices(tensors, {kind.key: settings})
            assert all(tensor[:1].sum() is not None for tensor in matrices.values() if tensor.ndim)
        except HeadlightError:
            return False
        return True

    assert attempt(tensors, kind.settings)
    for setting in kind.settings:
        for value in WRONG:
            attempt(tensors, kind.settings | {setting: value})
    for end in tensors:
        accepted = [attempt(tensors | {end: strange}, kind.settings) for strange in STRANGE]
        assert not all(accepted) or end == "one.input_scale"  # of activations
