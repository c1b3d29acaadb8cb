"""Open dictionaries: a folder of one or of several, those that come with the project, or a name on the hub."""

import os
from pathlib import Path

from headlight.model.base.errors import CheckpointError, naming
from headlight.model.features import circuit_tracer, dictionary_learning, gemma_scope, hub, sae_lens, sparsify
from headlight.model.features.norms import fitted
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.dictionary import Dictionaries, Dictionary

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "dictionaries"
MAX_FOLDERS = 512  # folders of dictionaries in a folder
KINDS = (
    f"SAELens's ({sae_lens.CONFIG} and {sae_lens.WEIGHTS}), sparsify's ({sparsify.CONFIG} and {sparsify.WEIGHTS}), "
    f"Gemma Scope's ({gemma_scope.PARAMS}, or {gemma_scope.CONFIG} and {gemma_scope.SECOND_PARAMS}) or "
    f"circuit-tracer's ({circuit_tracer.CONFIG} beside layer_0.safetensors, or beside W_enc_0.safetensors and "
    "W_dec_0.safetensors)"
)


def shipped(model_name: str) -> tuple[Path, ...]:
    """The folders of dictionaries that come with the project for one of its models."""
    if Path(model_name).name != model_name:
        return ()
    return tuple(path for path in sorted((SHIPPED / model_name).glob("*")) if path.is_dir())


def shipped_dictionaries() -> dict[str, Path]:
    """The folders of all dictionaries that come with the project, by model and folder: mini/blocks.2.hook_resid_pre."""
    return {f"{path.parent.name}/{path.name}": path for path in sorted(SHIPPED.glob("*/*")) if path.is_dir()}


def is_dictionary(folder: Path) -> bool:
    """Whether a folder looks like a dictionary's, or one of several."""
    return any(map(_is_one, (folder, *_folders_in(folder))))


def _is_one(folder: Path) -> bool:
    return any(kind.recognises(folder) for kind in (sae_lens, gemma_scope, circuit_tracer, dictionary_learning))


def _folders_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*"))[:MAX_FOLDERS] if path.is_dir()]


def open_dictionary(name: str | Path, model: Transformer | None = None) -> Dictionaries:
    """Load sparse dictionaries (SAEs or transcoders), one per layer.

    Args:
        name: the name of dictionaries that come with the project, a folder, or a hub name as `owner/name` or
            `owner/name/folder`, which is downloaded if needed.
        model: the model to check them against; norms are folded so that they fit it.

    Raises:
        CheckpointError: no such folder, no dictionary in it, a damaged file, two dictionaries for one layer, or one
            that does not fit the model.
        ModelNotFoundError: the hub cannot be reached, or has no such repository.
    """
    folder = shipped_dictionaries().get(str(name), Path(os.path.expanduser(name)))
    if not os.path.isdir(folder):
        if not isinstance(name, str) or not hub.is_hub_name(name):
            raise CheckpointError(
                f"There is no folder {str(name)!r}. Give the folder of a dictionary, a hub name as owner/name/folder, "
                f"or one of {', '.join(shipped_dictionaries()) or 'those that come with the project'}."
            )
        folder = hub.fetch(name)
    dictionaries = [
        one for each in ([folder] if _is_one(folder) else _folders_in(folder)) for one in _read(each, str(name))
    ]
    if not dictionaries:
        raise CheckpointError(f"{folder.name} holds no dictionary: it can be {KINDS}, or a folder of such folders.")
    opened = Dictionaries(str(name), _one_a_layer(dictionaries))
    return opened if model is None else fitted(opened, model)


def _read(folder: Path, name: str) -> list[Dictionary]:
    """Dictionaries of one folder; none where it is of no known kind."""
    dictionary_learning.refuse(folder)
    with naming(path.name for path in folder.glob("*.*")):
        if sparsify.recognises(folder):
            return [sparsify.read(folder, name)]
        if sae_lens.recognises(folder):
            return [sae_lens.read(folder, name)]
        if gemma_scope.recognises(folder):
            return [gemma_scope.read(folder, name)]
        return circuit_tracer.read(folder, name) if circuit_tracer.recognises(folder) else []


def _one_a_layer(dictionaries: list[Dictionary]) -> list[Dictionary]:
    by_layer: dict[int, Dictionary] = {}
    for each in dictionaries:
        if each.layer in by_layer:
            raise CheckpointError(
                f"The folder holds two dictionaries of layer {each.layer}: of {by_layer[each.layer].hook_in} and of "
                f"{each.hook_in}. Open one of their folders."
            )
        by_layer[each.layer] = each
    return dictionaries
