"""Data sets of the `datasets` library: saved in a folder, or streamed from the hub."""

import re
from pathlib import Path
from typing import Any

from headlight.model.base.errors import InputError, nearest
from headlight.model.base.network import network_errors
from headlight.model.text.arrow_bounds import check_data_set

SAVED = ("dataset_info.json", "dataset_dict.json")  # one of which the `save_to_disk` of `datasets` leaves
NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(:[\w.-]+)?", re.ASCII)


def is_saved(folder: Path) -> bool:
    """Whether a folder holds a data set that `save_to_disk` wrote."""
    return any((folder / name).is_file() for name in SAVED)


def is_data_set_name(name: str) -> bool:
    """Whether a name has the form of a data set's on the hub, `owner/name` or `owner/name:configuration`."""
    return NAME.fullmatch(name) is not None


def open_data_set(source: str, split: str) -> Any:
    """Open a split of a data set that was saved in a folder, or stream one from the hub.

    Raises:
        InputError: the library is not installed or cannot open it, or there is no such split.
    """
    try:
        import datasets
    except ImportError as error:
        raise InputError("Reading a data set of the hub needs its library: pip install datasets.") from error
    # The library says by ValueError and RuntimeError what it does not open, and by ImportError what it lacks for it.
    refusals: tuple[type[Exception], ...] = (ValueError, RuntimeError, ImportError, *data_set_errors())
    try:
        if not Path(source).is_dir():
            name, _, configuration = source.partition(":")
            return datasets.load_dataset(name, configuration or None, split=split, streaming=True)
        check_data_set(Path(source))
        parts = datasets.load_from_disk(source)
    except refusals as error:
        raise InputError(
            f"The datasets library cannot open {source}, split {split!r} ({error}). Check the name, the split and the "
            "network, or save the texts as a .jsonl file and give that."
        ) from error
    if not isinstance(parts, datasets.DatasetDict):
        return parts
    if split not in parts:
        raise InputError(f"{source} has no split {split!r}.{nearest(split, parts)} Give one of {', '.join(parts)}.")
    return parts[split]


def data_set_errors() -> tuple[type[Exception], ...]:
    """The exceptions of `datasets` for a damaged data set, and failures of the hub or the network."""
    from datasets.exceptions import DatasetsError

    return DatasetsError, *network_errors()
