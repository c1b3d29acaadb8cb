"""Fetching dictionaries from the Hugging Face hub, one folder of a repository or a small repository, never a pickle."""

import re
from itertools import islice
from pathlib import Path

from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.downloads import endpoint, explained
from headlight.model.checkpoints.hub import fetched_before
from headlight.model.checkpoints.tensors import listed

FILES = ("cfg.json", "config.json", "config.yaml", "*.safetensors", "params.npz")
NAME = re.compile(r"(\w[\w.-]*/\w[\w.-]*)((?:/\w[\w.-]*)*)", re.ASCII)
MAX_BYTES = 20 * 2**30
MAX_FILES = 100_000  # of a repository that are looked through


def is_hub_name(name: str) -> bool:
    """Whether a name has the form of a hub name: `owner/name` or `owner/name/folder`."""
    return NAME.fullmatch(name) is not None and ".." not in name


def came_from(repository: str, folder: Path) -> bool:
    """Whether a folder's path names a repository of the hub, as it is called there or as its cache calls it."""
    return any(repository.replace("/", between) in str(folder) for between in ("/", "--"))


def fetch(name: str) -> Path:
    """The folder of a hub name, fetched if it was not before.

    Raises:
        ModelNotFoundError: the hub cannot be reached, or has no such repository.
        CheckpointError: it has nothing there that is read, or more than can be meant.
    """
    from huggingface_hub import snapshot_download

    match = NAME.fullmatch(name)
    assert match is not None  # checked before
    repository, folder = match[1], match[2].strip("/")
    patterns = [f"{folder}/{file}" if folder else file for file in FILES]
    known = _on_disk(repository, folder, patterns)
    if known is not None:
        return known
    with explained(repository, None):
        sizes = _sizes(repository)
    _check(repository, folder, sizes)
    with explained(repository, None):
        return Path(snapshot_download(repository, allow_patterns=patterns, endpoint=endpoint())) / folder


def _on_disk(repository: str, folder: str, patterns: list[str]) -> Path | None:
    fetched = fetched_before(repository, patterns)
    weights = fetched and [path for kind in ("*.safetensors", "*.npz") for path in (fetched / folder).glob(kind)]
    return fetched / folder if fetched and weights else None


def _sizes(repository: str) -> dict[Path, int]:
    """The files of a repository, and how many bytes each has."""
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import RepoFile

    hub = HfApi(endpoint=endpoint())
    # Fails at once where nobody answers; what follows would try for half a minute.
    hub.model_info(repository, timeout=10)
    entries = hub.list_repo_tree(repository, recursive=True)
    return {Path(each.path): each.size for each in islice(entries, MAX_FILES) if isinstance(each, RepoFile)}


def _check(repository: str, folder: str, sizes: dict[Path, int]) -> None:
    inside = [size for path, size in sizes.items() if path.parent == Path(folder)]
    if not inside:
        known = sorted({path.parent.as_posix() for path in sizes} - {"."})
        raise CheckpointError(
            f"The hub's {repository} has nothing in {folder or 'its topmost folder'}. Name one of its folders behind it"
            f"{': ' + listed(known) if known else ''}."
        )
    if sum(inside) > MAX_BYTES:
        raise CheckpointError(
            f"{repository}/{folder} is {sum(inside) / 2**30:.0f} GiB, more than is fetched. Download what you need of "
            "it, and give the folder's path."
        )
