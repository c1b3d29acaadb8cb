"""Output paths of a training: files of other programs are not overwritten."""

from pathlib import Path

from headlight.model.base.errors import TrainingError
from headlight.model.training.log import TRAINING_LOG, is_log


def check_out(folder: Path, *names: str) -> None:
    """Refuse a folder in which a training would replace files that none of ours has written.

    Ours leave their log beside what they made.

    Raises:
        TrainingError: it is no folder, or it holds one of the names, and no log of a training.
    """
    if folder.exists() and not folder.is_dir():
        raise TrainingError(f"{folder} is no folder, and the result is one. Give another by --out.")
    log = folder / TRAINING_LOG
    there = [name for name in (*names, TRAINING_LOG) if (folder / name).exists()]
    if there and not is_log(log):
        raise TrainingError(
            f"{folder} holds {', '.join(there)}, which no training of Headlight has written ({TRAINING_LOG} would lie "
            "beside). Nothing there is replaced: give a new folder by --out."
        )
