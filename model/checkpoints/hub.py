"""Download a model's folder from the Hugging Face hub, or find it in the hub's cache.

Only the files that are read are downloaded, and pickles only where there are no safetensors. `HF_ENDPOINT`,
`HF_HOME` and `HF_HUB_OFFLINE` are honoured.
"""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Any

from headlight.model.base.errors import CheckpointError, ModelNotFoundError, TooLargeError
from headlight.model.base.network import network_errors
from headlight.model.checkpoints.folders import weight_files
from headlight.model.checkpoints.gguf.header import SUFFIX
from headlight.model.checkpoints.gguf.parts import parts_of
from headlight.model.runs.host import HERE, Host
from headlight.model.text.end_tokens import GENERATION_CONFIG
from headlight.model.text.tokenizer_files import FILES as TOKENIZER_FILES
from headlight.model.text.tokenizer_files import has_tokenizer

# Each short name's repository and the commit that it stands for, so that a name means the same weights everywhere; a
# package may bring those of smollm2 in fewer bits. Source: huggingface_hub's documentation of resolve_revision for
# gpt2; for the others the snapshot folders that downloads of their main branch made.
PINNED = {
    "gpt2": ("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"),
    "gpt2-medium": ("openai-community/gpt2-medium", "6dcaa7a952f72f9298047fd5137cd6e4f05f41da"),
    "gpt2-large": ("openai-community/gpt2-large", "32b71b12589c2f8d625668d2335a01cac3249519"),
    "gpt2-xl": ("openai-community/gpt2-xl", "15ea56dee5df4983c59b2538573817e1667135e2"),
    "smollm2": ("HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"),
    "distilgpt2": ("distilbert/distilgpt2", "2290a62682d06624634c1f46a6ad5be0f47f38aa"),
}
FILES = [
    "config.json",
    "model.safetensors",
    "model-*.safetensors",
    "model.safetensors.index.json",
    GENERATION_CONFIG,
    *TOKENIZER_FILES,
]
PICKLED = ["pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json"]
GGUF_FILE = r":(?!.*\.\.)\w[\w./-]*\.gguf"
COMMIT = re.compile(r"[0-9a-f]{40}")
GB = 10**9
MAX_NAMED = 12  # files that a message names
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
TELLING = 0.2  # seconds between two looks at how much has arrived


def is_hub_name(name: str) -> bool:
    """Whether a name has the form of a hub name: a short name, `owner/name` or `owner/name:file.gguf`."""
    return name in PINNED or re.fullmatch(rf"\w[\w.-]*/\w[\w.-]*({GGUF_FILE})?", name, re.ASCII) is not None


def is_fetched(name: str) -> bool:
    """Whether all files of a hub model are in the cache."""
    if is_gguf_name(name):
        return _gguf_on_disk(name, None) is not None
    repository, commit = PINNED.get(name, (name, None))
    return any(_on_disk(known_as, commit) for known_as in (repository, name))


def fetch(name: str, revision: str | None, check: Callable[[Path], object], host: Host = HERE) -> Path:
    """Return the folder of a hub model at a commit, downloading what is missing; the folder's name is the commit.

    A branch or a tag is looked up again each time, since it may have moved.

    Args:
        name: the hub name.
        revision: branch, tag or commit.
        check: called with the folder once it has config.json; may raise before the weights are downloaded.
        host: receives the progress in bytes; if it raises, the download stops, and what has arrived is kept.

    Raises:
        ModelNotFoundError: the hub cannot be reached, has no such model or revision, or breaks off.
        CheckpointError: the hub's model has no config.json.
        TooLargeError: the disk does not hold it.
    """
    repository, commit = PINNED.get(name, (name, None))
    revision = revision or commit
    if revision is None or COMMIT.fullmatch(revision):
        for known_as in (repository, name):
            if folder := _on_disk(known_as, revision):
                return folder
    try:
        _ask_once(repository, revision)
    except ModelNotFoundError:
        if folder := _on_disk(repository, revision):
            return folder
        raise
    folder = _files(repository, revision, ["config.json"])
    check(folder)
    return _files(repository, folder.name, _patterns(repository, folder.name), host)


def is_gguf_name(name: str) -> bool:
    """Whether a hub name is that of a GGUF file in a repository."""
    return name.endswith(SUFFIX) and is_hub_name(name)


def fetch_gguf(name: str, revision: str | None, host: Host = HERE) -> tuple[Path, str]:
    """Return a hub repository's GGUF file, `owner/name:file.gguf`, and its commit; of a part, with all others.

    Raises:
        ModelNotFoundError: the hub cannot be reached, has no such repository or revision, or breaks off.
        CheckpointError: the repository has no such file.
        TooLargeError: the disk does not hold it.
    """
    repository, _, file = name.partition(":")
    if (revision is None or COMMIT.fullmatch(revision)) and (folder := _gguf_on_disk(name, revision)):
        return folder / file, folder.name
    patterns = [_all_parts(file)]
    planned = _planned(repository, revision or "main", patterns)
    if file not in [each.filename for each in planned]:
        raise CheckpointError(f"The hub's {repository} has no {file}. {_gguf_choice(repository, revision)}".rstrip())
    _check_room(repository, planned)
    folder = _files(repository, revision, patterns, host)
    return folder / file, folder.name


def _gguf_on_disk(name: str, revision: str | None) -> Path | None:
    """The cached folder that holds a GGUF file, and of a part all others."""
    repository, _, file = name.partition(":")
    folder = fetched_before(repository, [_all_parts(file)], revision)
    try:
        return folder if folder is not None and (folder / file).is_file() and parts_of(folder / file) else None
    except CheckpointError:
        return None


def _all_parts(file: str) -> str:
    """The pattern of a GGUF file's name and those of all parts of its model."""
    return re.sub(r"-\d{5}(-of-\d{5}\.gguf)$", r"-*\1", file)


def _gguf_choice(repository: str, revision: str | None) -> str:
    """The GGUF files that a repository has, and how to open one; empty where there are none."""
    files = sorted(file.filename for file in _planned(repository, revision or "main", [f"*{SUFFIX}"]))
    if not files:
        return ""
    more = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    return f"It has GGUF files: {', '.join(files[:MAX_NAMED])}{more}. Open one by name, as {repository}:{files[0]}."


def _on_disk(repository: str, revision: str | None) -> Path | None:
    folder = fetched_before(repository, FILES, revision)
    return folder if folder is not None and _complete(folder) else None


def fetched_before(repository: str, patterns: list[str], revision: str | None = None) -> Path | None:
    """Return the cached folder of a repository, complete or not; None where nothing is cached."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, revision=revision, local_files_only=True, allow_patterns=patterns))
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def _complete(folder: Path) -> bool:
    """Whether a cached folder has all files: another program may have downloaded fewer."""
    try:
        weight_files(folder)
    except CheckpointError:
        return False
    return (folder / "config.json").is_file() and has_tokenizer(folder)


def _ask_once(repository: str, revision: str | None) -> None:
    """Fail at once where the hub does not answer; a download would retry for half a minute first."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import RemoteEntryNotFoundError

    with explained(repository, revision):
        try:
            get_hf_file_metadata(hf_hub_url(repository, "config.json", revision=revision, endpoint=endpoint()))
        except RemoteEntryNotFoundError:
            if choice := _gguf_choice(repository, revision):
                raise CheckpointError(f"The hub's {repository} has no config.json. {choice}") from None
            raise


def _patterns(repository: str, commit: str) -> list[str]:
    """Choose the files to download, pickles only where there are no safetensors, and check the free disk space."""
    for patterns in (FILES, [*FILES, *PICKLED]):
        planned = _planned(repository, commit, patterns)
        if any(file.filename.endswith(".safetensors") for file in planned):
            break
    has_weights = any(file.filename.endswith((".safetensors", ".bin")) for file in planned)
    if not has_weights and (choice := _gguf_choice(repository, commit)):
        raise CheckpointError(f"The hub's {repository} has no weights as safetensors. {choice}")
    _check_room(repository, planned)
    return patterns


def _planned(repository: str, commit: str, patterns: list[str]) -> list[Any]:
    from huggingface_hub import snapshot_download

    with explained(repository, commit):
        planned: Any = snapshot_download(
            repository, revision=commit, allow_patterns=patterns, endpoint=endpoint(), dry_run=True
        )
    return list(planned)


def _check_room(repository: str, planned: list[Any]) -> None:
    """Refuse files that do not fit on the disk, before any of them is fetched."""
    from huggingface_hub import constants

    needed = sum(file.file_size or 0 for file in planned if file.will_download)
    cache = Path(constants.HF_HUB_CACHE)  # which is there: it holds config.json by now
    free = shutil.disk_usage(cache).free
    if needed > free:
        raise TooLargeError(
            f"{repository} takes {needed / GB:.1f} GB of disk; {free / GB:.1f} GB are free where the hub's models are "
            f"kept ({cache}). Free some, or set HF_HOME to a folder on a larger disk."
        )


def _files(repository: str, revision: str | None, patterns: list[str], host: Host = HERE) -> Path:
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
