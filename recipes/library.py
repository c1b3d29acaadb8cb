"""Text of CPython's standard library, which is on every machine that has Python: code files and their docstrings."""

import ast
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headlight.model.corpus.documents import runs
from headlight.recipes.grammar.template import in_held_out_share

CHUNK_CHARACTERS = 2000
HELD_OUT_PERCENT = 4
MIN_DOCSTRING_LENGTH = 40

# Not part of every installation, not the library's own text, or (encodings) mostly tables.
_SKIPPED = {
    *("site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo", "pydoc_data", "ensurepip"),
    *("encodings", "__pycache__"),
}


@cache
def _files() -> dict[str, str]:
    """Text by relative path, in the order of the paths."""
    folder = Path(sysconfig.get_path("stdlib"))
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.py")}
    texts = {}
    for name, path in sorted(paths.items()):
        # config-3.11-x86_64-linux-gnu and _sysconfigdata_... hold paths of the machine that built this Python.
        if _SKIPPED.isdisjoint(name.split("/")) and not name.startswith(("config-", "_sysconfigdata")):
            try:
                texts[name] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
    return texts


def is_held_out(name: str) -> bool:
    """Whether training never reads this file; `name` is relative to the library's folder, with forward slashes."""
    return in_held_out_share(HELD_OUT_PERCENT, "library", name)


def training_files() -> dict[str, str]:
    """Text of the files that training reads, by relative path."""
    return {name: text for name, text in _files().items() if not is_held_out(name)}


def held_out_files() -> dict[str, str]:
    """Text of the files held out, by relative path."""
    return {name: text for name, text in _files().items() if is_held_out(name)}


def docstrings(code: str) -> list[str]:
    """The docstrings of a file's module, classes and functions, unindented; none where the file does not parse."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return []
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    return [docstring for docstring in texts if docstring and len(docstring) >= MIN_DOCSTRING_LENGTH]


def chunks(text: str, size: int = CHUNK_CHARACTERS) -> Iterator[str]:
    """Consecutive runs of whole lines, each of about `size` characters; together they are `text`."""
    return ("".join(run) for run in runs(text.splitlines(keepends=True), size))


@cache
def training_chunks() -> tuple[str, ...]:
    """All training text: every file in chunks, and every docstring again as prose."""
    texts = (text for code in training_files().values() for text in (code, *docstrings(code)))
    return tuple(chunk for text in texts for chunk in chunks(text))
