"""Folders of quantised models: random numbers packed by hand, one way after the other, and what they come to."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM

Parts = dict[str, Tensor]
Packed = tuple[Parts, Tensor]  # by the ends of their names, and the matrix, [out, in], that they come to
SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GROUP = 32
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635),
    *(-0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725),
    *(0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)
FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def codes(bits: int, *shape: int) -> Tensor:
    return torch.randint(0, 2**bits, shape)


def scales(*shape: int) -> Tensor:
    return (0.01 + 0.02 * torch.rand(shape)).half()


def stream(numbers: Tensor, bits: int) -> Tensor:
    """Rows of whole numbers as int32, the first in the lowest bits of a long number that is cut into words."""
    rows = [sum(int(code) << bits * i for i, code in enumerate(row)) for row in numbers]
    packed = b"".join(row.to_bytes(numbers.shape[1] * bits // 8, "little") for row in rows)
    return torch.from_numpy(np.frombuffer(packed, np.int32).copy()).view(len(numbers), -1)


def spread(of_groups: Tensor, group: int = GROUP) -> Tensor:
    """What a row has for each group, for each of its numbers."""
    return of_groups.float().repeat_interleave(group, 1)


def gptq(bits: int, less: int, shuffled: bool) -> Callable[[int, int], Packed]:
    def pack(d_out: int, d_in: int) -> Packed:
        n_groups = d_in // GROUP
        whole, steps = codes(bits, d_in, d_out), scales(n_groups, d_out) * 2.0 ** (4 - bits)
        zeros = 2 ** (bits - 1) + codes(2, n_groups, d_out)
        groups = torch.arange(d_in) // GROUP
        groups = groups[torch.randperm(d_in)] if shuffled else groups
        parts = {
            "qweight": stream(whole.T, bits).T.contiguous(),
            "qzeros": stream(zeros - less, bits),
            "scales": steps,
            "g_idx": groups.int(),
        }
        return parts, torch.stack([(whole[i] - zeros[g]) * steps[g].float() for i, g in enumerate(groups)], 1)

    return pack


def awq(d_out: int, d_in: int) -> Packed:
    def of_eight(numbers: Tensor) -> Tensor:
        return stream(numbers.view(len(numbers), -1, 8)[:, :, [0, 2, 4, 6, 1, 3, 5, 7]].flatten(1), 4)

    n_groups = d_in // GROUP
    whole, steps, zeros = codes(4, d_in, d_out), scales(n_groups, d_out), codes(4, n_groups, d_out)
    matrix = (whole - zeros.repeat_interleave(GROUP, 0)) * steps.float().repeat_interleave(GROUP, 0)
    return {"qweight": of_eight(whole), "qzeros": of_eight(zeros), "scales": steps}, matrix.T


def mlx(bits: int) -> Callable[[int, int], Packed]:
    def pack(d_out: int, d_in: int) -> Packed:
        whole, steps = codes(bits, d_out, d_in), scales(d_out, d_in // GROUP) * 2.0 ** (4 - bits)
        offsets = -steps * 2 ** (bits - 1)
        parts = {"weight": stream(whole, bits).view(torch.uint32), "scales": steps, "biases": offsets}
        return parts, whole * spread(steps) + spread(offsets)

    return pack


def fp8(height: int, width: int, scale: str) -> Callable[[int, int], Packed]:
    """In blocks, the last of which may be smaller; height 0 is for one scale of the matrix, width 0 for each row's."""

    def pack(d_out: int, d_in: int) -> Packed:
        stored = torch.randn(d_out, d_in).to(torch.float8_e4m3fn)
        if not height:
            step = torch.tensor(0.05)
            return {"weight": stored, scale: step, "input_scale": 2 * step}, stored.float() * step
        step = 0.02 + 0.05 * torch.rand(-(-d_out // height), -(-d_in // width) if width else 1)
        of_rows = step.repeat_interleave(height, 0)[:d_out]
        matrix = stored.float() * (of_rows.repeat_interleave(width, 1)[:, :d_in] if width else of_rows)
        return {"weight": stored, scale: step}, matrix

    return pack


def int8(scale: str, divisor: float, ndim: int) -> Callable[[int, int], Packed]:
    def pack(d_out: int, d_in: int) -> Packed:
        stored, largest = (
            torch.randint(-127, 128, (d_out, d_in), dtype=torch.int8),
            0.1 * divisor / 127 + torch.rand(d_out) / 9e3,
        )
        return {"weight": stored, scale: largest.view(-1, *[1] * (ndim - 1))}, stored * largest[:, None] / divisor

    return pack


def torchao(d_out: int, d_in: int) -> Packed:
    stored, steps = torch.randint(-127, 128, (d_out, d_in), dtype=torch.int8), 0.001 + torch.rand(d_out, 1) / 1e3
    return {"_weight_qdata": stored, "_weight_scale": steps}, stored * steps


def nf4(nested: bool, block: int = 64) -> Callable[[int, int], Packed]:
    def pack(d_out: int, d_in: int) -> Packed:
        whole, n_blocks = codes(4, d_out * d_in), d_out * d_in // block
        settings: dict[str, Any] = {"quant_type": "nf4", "blocksize": block, "dtype": "float32", "shape": [d_out, d_in]}
        parts = {"weight": (whole[0::2] * 16 + whole[1::2]).byte()[:, None], "weight.quant_map": torch.tensor(NF4)}
        if nested:
            table, largest, stored = torch.rand(256), 0.1 + torch.rand(-(-n_blocks // 16)), codes(8, n_blocks).byte()
            settings |= {"nested_blocksize": 16, "nested_dtype": "float32", "nested_offset": 0.05}
            parts |= {"weight.absmax": stored, "weight.nested_absmax": largest, "weight.nested_quant_map": table}
            of_blocks = table[stored.long()] * largest.repeat_interleave(16)[:n_blocks] + 0.05
        else:
            of_blocks = parts["weight.absmax"] = 0.1 + torch.rand(n_blocks)
        state = torch.tensor(list(json.dumps(settings).encode()), dtype=torch.uint8)
        matrix = torch.tensor(NF4)[whole] * of_blocks.repeat_interleave(block)
        return parts | {"weight.quant_state.bitsandbytes__nf4": state}, matrix.view(d_out, d_in)

    return pack


def compressed(zeros: bool, shuffled: bool = False) -> Callable[[int, int], Packed]:
    def pack(d_out: int, d_in: int) -> Packed:
        n_groups = d_in // GROUP
        whole, steps = codes(4, d_out, d_in), scales(d_out, n_groups)
        zero, groups = (
            codes(4, d_out, n_groups) if zeros else torch.full((d_out, n_groups), 8),
            torch.arange(d_in) // GROUP,
        )
        parts = {"weight_packed": stream(whole, 4), "weight_scale": steps, "weight_shape": torch.tensor([d_out, d_in])}
        if zeros:
            parts["weight_zero_point"] = stream(zero.T, 4).T.contiguous()
        if shuffled:
            groups = groups[torch.randperm(d_in)]
            parts["weight_g_idx"] = groups.int()
        return parts, torch.stack([(whole[:, i] - zero[:, g]) * steps[:, g].float() for i, g in enumerate(groups)], 1)

    return pack


def nvfp4(d_out: int, d_in: int) -> Packed:
    whole, steps = codes(4, d_out, d_in), (1 + torch.rand(d_out, d_in // 16)).to(torch.float8_e4m3fn)
    values = torch.tensor([*FP4, *(-each for each in FP4)])[whole]
    parts = {
        "weight_packed": (whole[:, 0::2] + 16 * whole[:, 1::2]).byte(),
        "weight_scale": steps,
        "weight_global_scale": torch.tensor([40.0]),
    }
    return parts, values * spread(steps, 16) / 40


def mxfp4(d_out: int, d_in: int) -> Packed:
    whole, exponents = codes(4, d_out, d_in), torch.randint(119, 124, (d_out, d_in // 32), dtype=torch.uint8)
    values = torch.tensor([*FP4, *(-each for each in FP4)])[whole]
    parts = {"weight_packed": (whole[:, 0::2] + 16 * whole[:, 1::2]).byte(), "weight_scale": exponents}
    return parts, values * spread(2.0 ** (exponents.float() - 127), 32)


@dataclass(frozen=True)
class Kind:
    """One way of quantising, with what config.json says of it."""

    pack: Callable[[int, int], Packed]
    settings: dict[str, Any]
    key: str = "quantization_config"
    everywhere: bool = False  # embedding and unembedding too
    own: dict[str, Callable[[int, int], Packed]] = field(default_factory=dict)  # of single modules


def of_tensors(**weights: Any) -> dict[str, Any]:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return {"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": groups}


GPTQ = {"quant_method": "gptq", "group_size": GROUP}
FP8 = {"quant_method": "fp8", "activation_scheme": "dynamic"}
BITSANDBYTES = {"quant_method": "bitsandbytes", "llm_int8_skip_modules": ["lm_head"]}
FOUR_BITS = BITSANDBYTES | {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
DOWN = "model.layers.1.mlp.down_proj"
KINDS = {
    "GPTQ, 4 bits": Kind(gptq(4, 1, False), GPTQ | {"bits": 4, "desc_act": False}),
    "GPTQ, 4 bits, inputs in order of importance": Kind(gptq(4, 1, True), GPTQ | {"bits": 4, "desc_act": True}),
    "GPTQ, 3 bits": Kind(gptq(3, 1, False), GPTQ | {"bits": 3}),
    "GPTQ, 8 bits, version 2": Kind(gptq(8, 0, False), GPTQ | {"bits": 8, "checkpoint_format": "gptq_v2"}),
    "AWQ": Kind(awq, {"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm", "zero_point": True}),
    "FP8 in blocks": Kind(fp8(40, 24, "weight_scale_inv"), FP8 | {"weight_block_size": [40, 24]}),
    "FP8 of one scale": Kind(fp8(0, 0, "weight_scale_inv"), FP8),
    "bitsandbytes, int8": Kind(int8("SCB", 127, 1), BITSANDBYTES | {"load_in_8bit": True}),
    "bitsandbytes, NF4": Kind(nf4(False), FOUR_BITS),
    "bitsandbytes, NF4 double quantised": Kind(nf4(True), FOUR_BITS | {"bnb_4bit_use_double_quant": True}),
    "compressed-tensors, 4 bits": Kind(
        compressed(False), of_tensors(num_bits=4, group_size=GROUP) | {"format": "pack-quantized"}
    ),
    "compressed-tensors, 4 bits with zeros": Kind(
        compressed(True, True), of_tensors(num_bits=4, symmetric=False) | {"format": "pack-quantized"}
    ),
    "compressed-tensors, int8": Kind(int8("weight_scale", 1, 2), of_tensors(num_bits=8) | {"format": "int-quantized"}),
    "compressed-tensors, FP8": Kind(
        fp8(1, 0, "weight_scale"), of_tensors(num_bits=8, type="float") | {"format": "float-quantized"}
    ),
    "compressed-tensors, MXFP4": Kind(mxfp4, of_tensors(num_bits=4, type="float") | {"format": "mxfp4-pack-quantized"}),
    "compressed-tensors, NVFP4": Kind(nvfp4, of_tensors(num_bits=4, type="float") | {"format": "nvfp4-pack-quantized"}),
    "torchao, int8": Kind(torchao, {"quant_method": "torchao", "quant_type": {"default": {"_type": "Int8WeightOnly"}}}),
    "MLX, 4 bits": Kind(
        mlx(4),
        {"group_size": GROUP, "bits": 4, DOWN: {"group_size": GROUP, "bits": 8}},
        "quantization",
        True,
        {DOWN: mlx(8)},
    ),
    "MLX, 6 bits": Kind(mlx(6), {"group_size": GROUP, "bits": 6}, "quantization", True),
}


def write(folder: Path, kind: Kind, sizes: dict[str, Any] = SIZES) -> LlamaForCausalLM:
    """Write a folder of a random Llama, and give it as transformers has it with the numbers dequantised."""
    torch.manual_seed(0)
    theirs = LlamaForCausalLM(LlamaConfig(**sizes, attn_implementation="eager", tie_word_embeddings=False))
    theirs = theirs.eval().requires_grad_(False)
    tensors = dict[str, Tensor]()
    for name, module in theirs.named_modules():
        is_whole = "layers" in name or kind.everywhere
        if is_whole and isinstance(module, nn.Linear | nn.Embedding):
            parts, matrix = kind.own.get(name, kind.pack)(*module.weight.shape)
            module.weight.data = matrix
            tensors |= {f"{name}.{end}": part for end, part in parts.items()}
        elif isinstance(weight := getattr(module, "weight", None), Tensor):
            weight.data += 0.3 * torch.randn(weight.shape)
            tensors[f"{name}.weight"] = weight.data
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(theirs.config.to_dict() | {kind.key: kind.settings}, default=str))
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return theirs
