"""Experts in GGUF files, which hold one matrix of all experts of a layer in one tensor."""

import re
from collections.abc import Mapping

from torch import Tensor

from headlight.model.base.errors import CheckpointError

OF_ALL = re.compile(r"blk\.(\d+)\.(\w+_exps)\.weight")
QWEN = {f"ffn_{part}_exps": f"mlp.experts.{{}}.{part}_proj.weight" for part in ("gate", "up", "down")}
MIXTRAL = {
    f"ffn_{part}_exps": f"block_sparse_moe.experts.{{}}.{name}.weight"
    for part, name in {"gate": "w1", "down": "w2", "up": "w3"}.items()
}


def apart(names: Mapping[str, str], layers: str, tensors: dict[str, Tensor], n_experts: object) -> dict[str, Tensor]:
    """Each expert's matrices by their names in transformers, and the other tensors as they are.

    Raises:
        CheckpointError: a tensor holds no matrix of each expert.
    """
    single = dict[str, Tensor]()
    for name, tensor in tensors.items():
        match = OF_ALL.fullmatch(name)
        if match is None or match[2] not in names:
            single[name] = tensor
            continue
        if tensor.ndim != 3 or len(tensor) != n_experts:
            raise CheckpointError(
                f"{name} is {list(tensor.shape)}; it has to be a matrix of each of {n_experts} experts."
            )
        layer = layers.format(int(match[1]))
        single |= {f"{layer}{names[match[2]].format(index)}": tensor[index] for index in range(len(tensor))}
    return single
