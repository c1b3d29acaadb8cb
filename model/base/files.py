"""Reading the small files that lie beside a checkpoint's weights, and writing files that are whole or not there."""

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from headlight.model.base.errors import CheckpointError, HeadlightError, WriteError

POINTER = b"version https://git-lfs.github.com/spec/"
MAX_NESTED = 2_000_000
MAX_JSON = 2**25  # bytes: indices of the largest models have half of that
# Without waiting for who writes to a pipe; not every system has both.
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def reason(error: Exception, path: Path) -> str:
    """The message of a file error, with the file's name in place of its path, which not every user may see."""
    return str(error).replace(str(path), path.name)


def is_utf8(name: str) -> bool:
    """Whether a file's name, which may be any bytes, is one that can be written on a page."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def open_file(path: Path, error: type[HeadlightError] = CheckpointError) -> BinaryIO:
    """Open a regular file for reading: to open or to read a pipe or a device may never end.

    Raises:
        HeadlightError: it is a folder, a pipe, a socket or a device; of the class `error`.
        OSError: it cannot be opened.
    """
    check_regular(path, error)  # before it is opened, of which a device would take note
    descriptor = os.open(path, READING)
    try:
        _check_mode(os.fstat(descriptor).st_mode, path, error)  # another may lie there by now
    except HeadlightError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def check_regular(path: Path, error: type[HeadlightError] = CheckpointError) -> None:
    """Refuse a path that is not a regular file, before another library opens it.

    Raises:
        HeadlightError: it is a folder, a pipe, a socket or a device; of the class `error`.
        OSError: it is missing, or may not be looked at.
    """
    _check_mode(path.stat().st_mode, path, error)


def _check_mode(mode: int, path: Path, error: type[HeadlightError]) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "something else")
        raise error(f"{path.name} is {kind}, not a file that can be read. Put the file itself in its place.")


def refuse_pointer(path: Path) -> None:
    """Refuse the pointer that stands for a large file in a repository cloned without git-lfs.

    Raises:
        CheckpointError: the file is a pointer, or no regular file.
    """
    try:
        with open_file(path) as file:
            is_pointer = file.read(len(POINTER)) == POINTER
    except OSError:  # whoever reads it says so
        return
    if is_pointer:
        raise CheckpointError(
            f"{path.name} is a Git LFS pointer and not the file itself: the repository was cloned without git-lfs. "
            "Install git-lfs and run `git lfs pull` in that folder."
        )


def read_json(path: Path, unique: bool = False) -> dict[str, Any]:
    """A JSON file that holds an object, in which with `unique` nothing may have a name twice.

    Raises:
        CheckpointError: the file is missing, too large or holds something else.
    """
    refuse_pointer(path)
    try:
        with open_file(path) as file:
            data = file.read(MAX_JSON + 1)
        if len(data) > MAX_JSON:
            raise CheckpointError(f"{path.name} has more than {MAX_JSON >> 20} MiB, and is not read as JSON.")
        content = parse_json(data, unique_object if unique else None)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            f"{path.name} cannot be read as JSON ({reason(error, path)}). Copy or download it again."
        ) from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{path.name} holds {type(content).__name__}; it has to hold a JSON object.")
    return content


def parse_json(data: bytes, object_pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Parse UTF-8 JSON with a bound on lists and objects, each of which takes many times the memory of its text.

    Raises:
        ValueError: it is no JSON, or holds more of them.
        RecursionError: they lie too deep in one another.
    """
    if data.count(b"[") + data.count(b"{") > MAX_NESTED:
        raise ValueError(f"it holds more than {MAX_NESTED:,} lists and objects")
    return json.loads(data.decode("utf-8"), object_pairs_hook=object_pairs_hook)


class RepeatedNameError(ValueError):
    """A JSON object names something twice."""


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name that stands there twice Python would take the last without a word."""
    result: dict[str, Any] = {}
    for name, value in pairs:
        if name in result:
            raise RepeatedNameError(f"it names {name!r} twice")
        result[name] = value
    return result


# Messages of torch and safetensors for a full disk, neither in an OSError.
OF_THE_DISK = ("inline_container", "PytorchStreamWriter", "os error")
PART = ".part"  # ends the name of a file that is being written


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to: when the block ends it takes its place, and when it fails it is removed.

    What lay there before stays whole until then, also for who has it memory-mapped. A link is replaced, not followed.

    Raises:
        WriteError: the disk is full, or the folder cannot be written to.
    """
    with replacing_together(path) as (beside,):
        yield beside


@contextmanager
def replacing_together(head: Path, *others: Path) -> Iterator[tuple[Path, ...]]:
    """Replace files that are read together, as `replacing` does each: nobody reads an old one beside a new one.

    Where there are others, `head` is removed before they are replaced and comes last. A process that is killed in
    between leaves files without it, which are refused.

    Args:
        head: the file without which the others are not read.
        others: the others.

    Raises:
        WriteError: the disk is full, or a folder cannot be written to.
    """
    pairs = [(path, path.with_name(f".{path.name}{PART}")) for path in (*others, head)]
    with writing(head):
        try:
            modes = [_create(beside) for _, beside in pairs]
            yield tuple(beside for _, beside in (pairs[-1], *pairs[:-1]))
            for (_, beside), mode in zip(pairs, modes, strict=True):
                beside.chmod(mode)  # as any new file's: safetensors leaves it to nobody but the owner to read
                with beside.open("rb+") as file:
                    os.fsync(file.fileno())  # on the disk before its name is: a power cut leaves the old or the new one
            if others:
                head.unlink(missing_ok=True)
            for path, beside in pairs:
                beside.replace(path)
        finally:
            for _, beside in pairs:
                beside.unlink(missing_ok=True)


def _create(beside: Path) -> int:
    """Create an empty file, and return its mode."""
    beside.parent.mkdir(parents=True, exist_ok=True)
    beside.unlink(missing_ok=True)  # of a run that was killed; a link that lies there is not written through
    beside.touch(exist_ok=False)
    return beside.stat().st_mode


def remove(path: Path) -> None:
    """Remove a file, which may be gone already, or an empty folder.

    Raises:
        WriteError: it cannot be removed.
    """
    try:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(
            f"{path.name} cannot be removed ({error.strerror}). Remove it by hand, or run the same again."
        ) from error


def is_empty(folder: Path) -> bool:
    """Whether a folder has no files but those that were being written when their process was killed."""
    return all(path.match(f".*{PART}") for path in folder.iterdir())


def remove_parts(folder: Path) -> None:
    """Remove the files that were being written in a folder when their process was killed."""
    for beside in folder.glob(f".*{PART}"):
        remove(beside)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn failures to write a file into plain errors.

    Raises:
        WriteError: the disk is full, or the folder cannot be written to.
    """
    try:
        yield
    except HeadlightError:
        raise
    except Exception as error:
        if isinstance(error, OSError) or any(said in str(error) for said in OF_THE_DISK):
            why = error.strerror if isinstance(error, OSError) else None
            raise WriteError(
                f"{path.name} cannot be written ({why or 'the disk may be full'}). Nothing that was finished is lost: "
                "make room, or give a folder that can be written to, and run the same again."
            ) from error
        raise


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file that appears whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with replacing(path) as beside:
        beside.write_bytes(data)
