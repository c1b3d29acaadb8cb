"""A pass over quantised weights beside one over float32 ones, of a random Llama with layers of SmolLM2-135M's sizes.

Processor time, which what else the machine does changes little, of passes in turns; their median ratio.
"""

import argparse
import statistics
import tempfile
from functools import cache, partial
from pathlib import Path

import torch

from headlight.model import load
from tests.bench.timing import cost
from tests.model.checkpoints.quantised_folders import FP8, KINDS, Kind, Packed, fp8, write

SIZES = {"vocab_size": 8192, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 6}
SIZES |= {"num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 256}
BLOCKS = Kind(fp8(128, 128, "weight_scale_inv"), FP8 | {"weight_block_size": [128, 128]})
NAMES = ("bitsandbytes, NF4", "bitsandbytes, int8", "GPTQ, 4 bits", "AWQ", "compressed-tensors, MXFP4")
MLX = Kind(KINDS["MLX, 4 bits"].pack, {"group_size": 32, "bits": 4}, "quantization", everywhere=True)
MEASURED = {name: KINDS[name] for name in NAMES} | {"FP8 in blocks": BLOCKS, "MLX, 4 bits": MLX}


def once(kind: Kind) -> Kind:
    """The same with the matrices of one shape all alike, as packing takes its time."""
    pack = cache(kind.pack)

    def copied(d_out: int, d_in: int) -> Packed:
        parts, matrix = pack(d_out, d_in)
        return {end: part.clone() for end, part in parts.items()}, matrix

    return Kind(copied, kind.settings, kind.key, kind.everywhere)


@torch.inference_mode()
def main() -> None:
    """Print each kind's ratio."""
    parser = argparse.ArgumentParser(prog="quantised", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    tokens = torch.arange(args.tokens)[None]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), once(KINDS["bitsandbytes, int8"]), SIZES)
        passes = {"float32": partial(load(folder, dtype="float32"), tokens)}
        for name, kind in MEASURED.items():
            write(Path(folder) / name, once(kind), SIZES)
            passes[name] = partial(load(Path(folder) / name), tokens)
        rounds = [{name: cost(run)[0].processor for name, run in passes.items()} for _ in range(args.rounds + 1)][1:]
    print(f"{args.tokens} tokens, float32: {statistics.median(each['float32'] for each in rounds) * 1000:.0f} ms")
    for name in MEASURED:
        print(f"{name:26}{statistics.median(each[name] / each['float32'] for each in rounds):.2f}")


if __name__ == "__main__":
    main()
