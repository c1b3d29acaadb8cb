"""Opening dictionaries: a folder of one or of several, or those that come with the project."""

import os
from pathlib import Path

from headlight.model.dictionaries import sae_lens
from headlight.model.dictionaries.dictionary import Dictionaries, Dictionary
from headlight.model.errors import CheckpointError

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "dictionaries"
MOST = 512  # folders of dictionaries in a folder


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
    return any(map(sae_lens.recognises, (folder, *(path for path in sorted(folder.glob("*"))[:MOST] if path.is_dir()))))


def open_dictionary(name: str | Path) -> Dictionaries:
    """The dictionaries of a shipped name, or in a folder: its own, or those of the folders in it, one for each layer.

    Raises:
        CheckpointError: there is no such folder, nothing in it is a dictionary, a file is damaged, or two are of one
            layer.
    """
    folder = shipped_dictionaries().get(str(name), Path(os.path.expanduser(name)))
    if not os.path.isdir(folder):
        raise CheckpointError(f"There is no folder {str(name)!r}. Give the folder of a dictionary.")
    folders = [folder] if sae_lens.recognises(folder) else [path for path in sorted(folder.iterdir()) if path.is_dir()]
    found = [sae_lens.read(each, str(name)) for each in folders[:MOST] if sae_lens.recognises(each)]
    if not found:
        raise CheckpointError(
            f"{folder.name} holds no dictionary: it can be SAELens's ({sae_lens.CONFIG} and {sae_lens.WEIGHTS}), "
            "or a folder of such folders."
        )
    return Dictionaries(str(name), _one_a_layer(found))


def _one_a_layer(found: list[Dictionary]) -> list[Dictionary]:
    by_layer: dict[int, Dictionary] = {}
    for each in found:
        if each.layer in by_layer:
            raise CheckpointError(
                f"The folder holds two dictionaries of layer {each.layer}: of {by_layer[each.layer].hook_in} and of "
                f"{each.hook_in}. Open one of their folders."
            )
        by_layer[each.layer] = each
    return found
