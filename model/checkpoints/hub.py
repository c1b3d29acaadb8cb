"""Download a model's folder from the Hugging Face hub, or find it in the hub's cache.

Only the files that are read are downloaded, and pickles only where there are no safetensors. `HF_ENDPOINT`,
`HF_HOME` and `HF_HUB_OFFLINE` are honoured.
"""

import re
from collections.abc import Callable
from pathlib import Path

from headlight.model.base.errors import CheckpointError, ModelNotFoundError
from headlight.model.checkpoints.downloads import check_room, download_files, endpoint, explained, planned_files
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
MAX_NAMED = 12  # files that a message names


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
    folder = download_files(repository, revision, ["config.json"])
    check(folder)
    return download_files(repository, folder.name, _patterns(repository, folder.name), host)


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
    planned = planned_files(repository, revision or "main", patterns)
    if file not in [each.filename for each in planned]:
        raise CheckpointError(f"The hub's {repository} has no {file}. {_gguf_choice(repository, revision)}".rstrip())
    check_room(repository, planned)
    folder = download_files(repository, revision, patterns, host)
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
    files = sorted(file.filename for file in planned_files(repository, revision or "main", [f"*{SUFFIX}"]))
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
        planned = planned_files(repository, commit, patterns)
        if any(file.filename.endswith(".safetensors") for file in planned):
            break
    has_weights = any(file.filename.endswith((".safetensors", ".bin")) for file in planned)
    if not has_weights and (choice := _gguf_choice(repository, commit)):
        raise CheckpointError(f"The hub's {repository} has no weights as safetensors. {choice}")
    check_room(repository, planned)
    return patterns
