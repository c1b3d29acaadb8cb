"""Say what a file of tensors is of, where it is a state dict of another program, or of a folder's model alone."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.family import Family
from headlight.model.checkpoints.resemblance import alike, listed_families
from headlight.model.checkpoints.state_dicts import PREFIXES, read_state_dict, with_modern_names, without_shared

EMBEDDING = "embed.W_E"  # of TransformerLens's state dicts, and ours
SIDE = r"(encoder|decoder)\."
PROGRAMS = (  # by the name of a tensor, or of something beside the tensors
    (re.compile(r"layers\.\d+\.attention\.wq\.weight"), "Meta's Llama code", "convert_llama_weights_to_hf.py"),
    (re.compile(rf"{SIDE}transformer(_layers)?\.\d+\.self_attn\.linear_keys\.weight"), "OpenNMT", ""),
    (re.compile("extra_state"), "fairseq", ""),
)


def refuse_foreign(path: Path, families: Mapping[str, Family[Any]]) -> None:
    """Refuse a file of tensors that is known, but does not open by itself.

    Raises:
        CheckpointError: it says which program wrote it, or whose config.json it needs.
    """
    try:
        file = read_state_dict(path, shapes_only=True)
        tensors, _ = without_shared(with_modern_names(file.tensors), PREFIXES)
    except CheckpointError:
        return  # who reads the file says why not
    if EMBEDDING in tensors:
        return
    for pattern, program, converter in PROGRAMS:
        if any(pattern.fullmatch(str(name)) for name in (*tensors, *file.beside)):
            script = f", as transformers' {converter} does," if converter else ""
            raise CheckpointError(
                f"{path.name} holds weights of {program}, which are not read. Convert them to a Hugging Face "
                f"folder{script} and open that."
            )
    if known := alike(tensors, families):
        whole = "model.safetensors" if path.suffix == ".safetensors" else "pytorch_model.bin"
        raise CheckpointError(
            f"{path.name} holds the tensors of a {listed_families(known)}, but not its settings. Put them into a "
            f"folder as {whole}, with the model's config.json and its tokenizer's files, and open that folder."
        )
