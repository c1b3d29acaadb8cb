"""Telling the folders of dictionary_learning, which hold a pickle: they are named, and not opened.

Source: dictionary_learning 0.1, training.py and utils.py.
"""

from pathlib import Path

from headlight.model.base.errors import CheckpointError

CONFIG, WEIGHTS = "config.json", "ae.pt"


def recognises(folder: Path) -> bool:
    """Whether a folder is dictionary_learning's."""
    return (folder / WEIGHTS).is_file()


def refuse(folder: Path) -> None:
    """Refuse its folders, with the way out.

    Raises:
        CheckpointError: it is one of these.
    """
    if recognises(folder):
        raise CheckpointError(
            f"{folder.name} is a dictionary of dictionary_learning ({CONFIG} and {WEIGHTS}). {WEIGHTS} is a pickle, "
            "which is not opened here. Save it as SAELens does: load it with dictionary_learning, copy its matrices "
            "and biases into an SAE of sae_lens (W_enc is encoder.weight.T), and call save_model(folder)."
        )
