"""Downloads from the Hugging Face hub: room for them, their progress, and what their errors mean."""

import errno
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any

from headlight.model.base.errors import CheckpointError, ModelNotFoundError, TooLargeError
from headlight.model.base.network import network_errors
from headlight.model.runs.host import HERE, Host

GB = 10**9
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
TELLING = 0.2  # seconds between two looks at how much has arrived


def planned_files(repository: str, commit: str, patterns: list[str]) -> list[Any]:
    """What a download of these files would fetch.

    Raises:
        ModelNotFoundError: as `explained`.
    """
    from huggingface_hub import snapshot_download

    with explained(repository, commit):
        planned: Any = snapshot_download(
            repository, revision=commit, allow_patterns=patterns, endpoint=endpoint(), dry_run=True
        )
    return list(planned)


def check_room(repository: str, planned: list[Any]) -> None:
    """Refuse files that do not fit on the disk, before any of them is fetched.

    Raises:
        TooLargeError: they do not.
    """
    from huggingface_hub import constants

    needed = sum(file.file_size or 0 for file in planned if file.will_download)
    cache = Path(constants.HF_HUB_CACHE)  # which is there: it holds config.json by now
    free = shutil.disk_usage(cache).free
    if needed > free:
        raise TooLargeError(
            f"{repository} takes {needed / GB:.1f} GB of disk; {free / GB:.1f} GB are free where the hub's models are "
            f"kept ({cache}). Free some, or set HF_HOME to a folder on a larger disk."
        )


def download_files(repository: str, revision: str | None, patterns: list[str], host: Host = HERE) -> Path:
    """Download files of a repository, reporting progress to the host, and return their folder.

    Raises:
        ModelNotFoundError: as `explained`.
    """
    from huggingface_hub import snapshot_download

    arriving = _Arriving()

    def download() -> str:
        bar = _bar(arriving)
        return snapshot_download(
            repository, revision=revision, allow_patterns=patterns, endpoint=endpoint(), tqdm_class=bar
        )

    # The client counts in threads of its own; this one tells, for a host may need to hear it from where it was called.
    with explained(repository, revision), ThreadPoolExecutor(1) as thread:
        fetching = thread.submit(download)
        try:
            while not wait([fetching], TELLING).done:
                arriving.tell(host)
        finally:
            arriving.is_over = True
        return Path(fetching.result())


@dataclass
class _Arriving:
    """A download in progress: the client's progress bars, and whether it is to stop."""

    bars: list[Any] = field(default_factory=list)
    is_over: bool = False

    def tell(self, host: Host) -> None:
        """Report the bar that is furthest: bytes from the network, or bytes written to the disk."""
        arrived, total = max(((int(bar.arrived), int(bar.total or 0)) for bar in [*self.bars]), default=(0, 0))
        if total:
            host.tell(min(arrived, total), total)


def _bar(arriving: _Arriving) -> Any:
    """The client's progress bar class, counting bytes even where bars are hidden."""
    from huggingface_hub.utils.tqdm import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, **options: Any) -> None:
            self.arrived = options.get("initial") or 0
            super().__init__(*args, **options)
            if options.get("unit") == "B":
                arriving.bars.append(self)

        def update(self, n: float | None = 1) -> bool | None:
            if arriving.is_over:
                raise RuntimeError("The download was stopped.")
            self.arrived += n or 0
            return super().update(n)

    return Bar


def endpoint() -> str | None:
    """The hub's address from the environment, if set."""
    return os.environ.get("HF_ENDPOINT")  # the client itself reads it only once, when it is imported


def _is_of_client(error: RuntimeError) -> bool:
    """Whether the hub's client raised this RuntimeError; its downloader has no other type for a broken transfer."""
    *_, (frame, _) = walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__")).startswith(("huggingface_hub", "hf_xet"))


@contextmanager
def explained(repository: str, revision: str | None) -> Iterator[None]:
    """Turn failures of the network or the hub into errors with a next step; other errors pass."""
    from huggingface_hub.errors import (
        HFValidationError,
        RemoteEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    caught: tuple[type[Exception], ...] = (RuntimeError, *network_errors())
    try:
        yield
    except RevisionNotFoundError as error:
        raise ModelNotFoundError(
            f"The hub's {repository} has no revision {revision!r}. Give a branch, a tag or a full commit hash."
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelNotFoundError(
            f"The hub has no model {repository!r}, or it is private: check the name, or log in with `hf auth login`."
        ) from error
    except RemoteEntryNotFoundError as error:
        raise CheckpointError(
            f"The hub's {repository} has no config.json, so it cannot be opened by name. Download its files and give "
            "the path of the folder or file."
        ) from error
    except caught as error:
        if isinstance(error, RuntimeError) and not _is_of_client(error):
            raise
        if isinstance(error, OSError) and error.errno in FULL:
            raise TooLargeError(
                f"{repository} cannot be written where the hub's files are kept ({error.strerror}). Make room, or set "
                "HF_HOME to another folder: what has arrived is kept."
            ) from error
        raise ModelNotFoundError(
            f"{repository} could not be fetched from the hub ({type(error).__name__}). Check the network and try "
            "again: what has arrived is kept. Without a network, copy the model's folder here and give its path."
        ) from error


def fetch_files(repository: str, names: list[str], kind: str = "model") -> Path:
    """Download single files of a hub repository, a model or a space, and return their folder.

    Raises:
        ModelNotFoundError: the hub cannot be reached, has no such repository, or breaks off.
        CheckpointError: the repository lacks one of the files.
    """
    from huggingface_hub import hf_hub_download

    with explained(repository, None):
        paths = [hf_hub_download(repository, name, repo_type=kind, endpoint=endpoint()) for name in names]
    return Path(paths[0].removesuffix(names[0]))
