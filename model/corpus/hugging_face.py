"""Data sets of the `datasets` library, saved in a folder or streamed from the hub; it is imported when needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headlight.model.corpus.columns import check_column, text_of
from headlight.model.errors import InputError
from headlight.model.families.hub import is_hub_name

SAVED = ("dataset_info.json", "dataset_dict.json")  # one of which `save_to_disk` leaves


def is_saved(folder: Path) -> bool:
    """Whether a folder is one that the library's `save_to_disk` wrote."""
    return any((folder / name).is_file() for name in SAVED)


def is_name(given: str) -> bool:
    """Whether something that is no path can be the hub's name of a data set."""
    return is_hub_name(given) and "/" in given and not Path(given).suffix and not Path(given).parent.exists()


def count(given: str, split: str) -> int | None:
    """How many rows a saved data set has; None for one that is streamed."""
    return len(_open(given, split)) if Path(given).is_dir() else None


def rows(given: str, column: str, split: str) -> Iterator[tuple[str, str | None, str]]:
    """Each row's name, its text, and why it has none.

    Raises:
        InputError: the library is not installed or cannot open it, or there is no such column.
    """
    for number, row in enumerate(_open(given, split)):
        if number == 0:
            check_column(Path(given).name, column, list(row))
        yield f"{split}:{number}", *text_of(row.get(column))


def _open(given: str, split: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise InputError("Reading a data set of the hub needs its library: pip install datasets.") from error
    try:
        if Path(given).is_dir():
            found = datasets.load_from_disk(given)
            return found[split] if isinstance(found, datasets.DatasetDict) else found
        return datasets.load_dataset(given, split=split, streaming=True)
    except Exception as error:  # the library's own, and those of what it fetches with, have no parent of their own
        raise InputError(f"The datasets library cannot open {given}, split {split!r} ({error}).") from error
