"""Fetching a model's folder from the Hugging Face hub, or finding it where it was fetched before.

Only the files that are read are fetched, never a pickle. `HF_ENDPOINT`, `HF_HOME` and `HF_HUB_OFFLINE` are honoured.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from model.errors import CheckpointError, ModelNotFoundError
from model.families.tensors import weight_files
from model.tokenizer import has_tokenizer

# Each short name's repository and the commit that it stands for, so that a name means the same weights everywhere.
# Source: huggingface_hub's documentation of resolve_revision for gpt2; for the others the snapshot folders that
# downloads of their main branch made.
PINNED = {
    "gpt2": ("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"),
    "gpt2-medium": ("openai-community/gpt2-medium", "6dcaa7a952f72f9298047fd5137cd6e4f05f41da"),
    "gpt2-large": ("openai-community/gpt2-large", "32b71b12589c2f8d625668d2335a01cac3249519"),
    "gpt2-xl": ("openai-community/gpt2-xl", "15ea56dee5df4983c59b2538573817e1667135e2"),
    "distilgpt2": ("distilbert/distilgpt2", "2290a62682d06624634c1f46a6ad5be0f47f38aa"),
}
FILES = [
    "config.json",
    "model.safetensors",
    "model-*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
]
COMMIT = re.compile(r"[0-9a-f]{40}")


def is_hub_name(name: str) -> bool:
    """Whether a name can be asked for at the hub: GPT-2's own short names and `owner/name`."""
    return name in PINNED or re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name, re.ASCII) is not None


def fetch(name: str, revision: str | None, check: Callable[[Path], object]) -> Path:
    """The folder of a hub name at a commit, which is the folder's name.

    Files that are there already are not asked for again, unless the revision is a branch or a tag, which may have
    moved. `check` is given the folder with config.json in it, and may refuse, before the weights are fetched.

    Raises:
        ModelNotFoundError: the hub cannot be reached, has no such model or revision, or breaks off.
    """
    repository, commit = PINNED.get(name, (name, None))
    revision = revision or commit
    if revision is None or COMMIT.fullmatch(revision):
        for known_as in (repository, name):
            if folder := _on_disk(known_as, revision):
                return folder
    folder = _snapshot(repository, revision, ["config.json"])
    check(folder)
    return _snapshot(repository, folder.name, FILES)


def _on_disk(repository: str, revision: str | None) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repository, revision=revision, local_files_only=True, allow_patterns=FILES))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return folder if _complete(folder) else None


def _complete(folder: Path) -> bool:
    """Whether another program, which may have wanted fewer files, left all that is needed."""
    try:
        weights = weight_files(folder)
    except CheckpointError:
        return False
    return (folder / "config.json").is_file() and has_tokenizer(folder) and all(file.is_file() for file in weights)


def _snapshot(repository: str, revision: str | None, files: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        endpoint = os.environ.get("HF_ENDPOINT")  # the client itself reads it only once, when it is imported
        return Path(snapshot_download(repository, revision=revision, allow_patterns=files, endpoint=endpoint))
    except RevisionNotFoundError as error:
        raise ModelNotFoundError(
            f"The hub's {repository} has no revision {revision!r}. Give a branch, a tag or a full commit hash."
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelNotFoundError(
            f"The hub has no model {repository!r}, or it is private: check the name, or log in with `hf auth login`."
        ) from error
    except Exception as error:  # the client passes on its HTTP library's errors, which differ by version
        raise ModelNotFoundError(
            f"{repository} could not be fetched from the hub ({type(error).__name__}). Check the network and try "
            "again: what has arrived is kept. Without a network, copy the model's folder here and give its path."
        ) from error
