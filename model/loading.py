"""Opening a model: one that comes with the project, a folder or file, or a name on the Hugging Face hub."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from model.config import TransformerConfig
from model.errors import CheckpointError, ConfigError, ModelNotFoundError, nearest
from model.families import FAMILIES, Checkpoint, hub, skeleton
from model.families.transformer_lens import PICKLES
from model.source import Source
from model.tokenizer import Tokenizer, has_tokenizer
from model.transformer import Transformer

EMBEDDED = Path(__file__).resolve().parents[1] / "assets" / "models"


def embedded_models() -> dict[str, Path]:
    """The folders of the models that come with the project, by name."""
    return {config.parent.name: config.parent for config in sorted(EMBEDDED.glob("*/config.json"))}


def load(
    source: str | Path, revision: str | None = None, *, allow_pickle: bool = True, **config_overrides: Any
) -> Transformer:
    """Open an embedded model by name, a folder or file by path, or a hub name; names are looked up in this order.

    Keywords named as `TransformerConfig`'s fields override what the checkpoint says and complete what it cannot say:
    `load("toy.safetensors", act_fn="relu", attention_dir="bidirectional")`. `revision` is a branch, tag or commit of a
    hub name. `allow_pickle=False` refuses .pt files, which even without code in them are a risk that a server should
    not take.

    The parameters are float32 views of the memory-mapped files and take no gradient. The model's `source` says where
    they came from, and its `tokenizer` is None if none lies beside them.

    Raises:
        CheckpointError: the files are damaged or of no kind that is known, or a tensor is not what it should be.
        ConfigError: settings that are missing, contradictory or not supported.
        ModelNotFoundError: nothing of that name is embedded, on the disk or to be had from the hub.
    """
    _check_names(config_overrides)
    path, commit = _locate(source, revision)
    if path.suffix in PICKLES and not allow_pickle:
        raise CheckpointError(f"{path.name} is a pickle, which is not opened here. Save the tensors as safetensors.")
    family = _family(path, path.name)
    checkpoint = FAMILIES[family].read(path, config_overrides)
    model = build(checkpoint)
    model.source = Source(str(source), path, family, checkpoint.files, commit)
    model.tokenizer = Tokenizer.from_folder(path) if has_tokenizer(path) else None
    return model


def build(checkpoint: Checkpoint) -> Transformer:
    """The model whose parameters are the checkpoint's own tensors; nothing is initialised or copied."""
    model = skeleton(checkpoint.cfg)
    model.load_state_dict(checkpoint.state, assign=True)
    return model


def _check_names(config_overrides: dict[str, Any]) -> None:
    allowed = [field.name for field in fields(TransformerConfig)]
    for name in config_overrides:
        if name not in allowed:
            raise ConfigError(f"There is no setting {name!r}.{nearest(name, allowed)} They are {', '.join(allowed)}.")


def _locate(source: str | Path, revision: str | None) -> tuple[Path, str | None]:
    """Where the checkpoint lies, and its commit if it is the hub's."""
    embedded = embedded_models()
    given = embedded.get(str(source), os.path.expanduser(source))
    if os.path.exists(given):  # unlike Path's, this and expanduser never raise
        if revision is not None:
            raise ConfigError(f"{source} is on this machine and has no revisions; leave revision={revision!r} out.")
        return Path(given).absolute(), None
    if isinstance(source, str) and hub.is_hub_name(source):
        folder = hub.fetch(source, revision, check=lambda folder: _family(folder, source))
        return folder, folder.name
    known = [*embedded, *hub.PINNED]
    raise ModelNotFoundError(
        f"There is no folder, file or model {str(source)!r}.{nearest(str(source), known)} Give a path, one of "
        f"{', '.join(known)}, or a hub name as owner/name."
    )


def _family(path: Path, called: str) -> str:
    for name, family in FAMILIES.items():
        if family.recognises(path):
            return name
    kinds = " or ".join(family.description for family in FAMILIES.values())
    raise CheckpointError(f"{called} is not a model of a kind that is known: it can be {kinds}.")
