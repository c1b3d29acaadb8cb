"""Scans of corpora that may be opened from the page, and the opened ones."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from headlight.app.runs import models, models_folder
from headlight.app.runs.limits import ByteCache
from headlight.model.base.errors import HeadlightError, ScanError, nearest
from headlight.model.corpus.reading import read_dashboard, read_tree, shipped_scans, trees_in
from headlight.model.corpus.tree import CONFIG, SCATTER, Dashboard, Head, Tree, UnitDashboard
from headlight.model.corpus.unit_files import read_unit

MAX_TREES = 64
MAX_BYTES = 64 * 2**20  # of sequences' weights

Stamp = tuple[int, ...]


def offered() -> dict[str, Path]:
    """Available scans by name: those that come with the project, and those of the models folder."""
    folder = models_folder.folder()
    own = models_folder.looked_up(trees_in, folder) if folder else {}
    return {**own, **shipped_scans()}


def tree(name: str) -> Tree:
    """A scan.

    Raises:
        HeadlightError: it is not offered here, or cannot be read.
    """
    known = offered()
    if name not in known and not models.any_model_allowed():
        raise ScanError(f"The scan {name!r} is not offered here.{nearest(name, known)}")
    path = known.get(name, Path(name).expanduser())
    return _tree(path, _stamp(path))


def dashboard(tree: Tree, head: Head) -> Dashboard:
    """A scan's results for one head.

    Raises:
        HeadlightError: its file cannot be read.
    """
    return _dashboards().get((tree.folder, _stamp(tree.folder), head), lambda: read_dashboard(tree, head))


def unit(tree: Tree, kind: str, layer: int, index: int) -> UnitDashboard | None:
    """A scan's results for one of its "neurons" or "features"; None where it did not record that.

    Raises:
        HeadlightError: its file cannot be read.
    """
    return read_unit(tree, kind, layer, index)


def chosen_as(tree: Tree) -> str:
    """Value by which a scan is chosen on the page: its name in the list, or its path."""
    return next((name for name, path in offered().items() if path == tree.folder), str(tree.folder))


def opened_by(tree: Tree) -> str:
    """Argument of `read_tree` for a scan in a script: its name, or its path where only the user may know that."""
    name = next((name for name, path in offered().items() if path == tree.folder), tree.folder.name)
    return name if name in shipped_scans() or not models.any_model_allowed() else str(tree.folder)


def named(chosen: str, model: str) -> str:
    """The chosen scan, or the first of this model, or the first of all; empty where there is none."""
    return chosen or of_model(model) or next(iter(offered()), "")


def of_model(model: str) -> str:
    """The first available scan of this model; empty where there is none."""
    return next((name for name, tree in _readable() if is_of(tree, model)), "")


def is_of(tree: Tree, model: str) -> bool:
    """Whether a scan is of this model: by the last part of its name, which may be a path or one on the hub."""
    return Path(model).name in {
        Path(name).name for name in (tree.model_name, tree.provenance.model if tree.provenance else "")
    }


def series(tree: Tree) -> tuple[Tree, ...]:
    """The scans of training steps beside this one, of the same corpus and shape, in the order of their steps.

    Beside one that is of no step itself they are those of the same model; none where there are fewer than two.
    """
    if tree.provenance is None:
        return ()
    of_step: dict[int, Tree] = {} if tree.provenance.step is None else {tree.provenance.step: tree}
    for path in trees_in(tree.folder.resolve().parent).values():
        beside = _or_none(path)
        if (
            beside is not None
            and beside.provenance is not None
            and beside.provenance.step is not None
            and _alike(beside, tree)
        ):
            of_step.setdefault(beside.provenance.step, beside)
    return tuple(of_step[step] for step in sorted(of_step)) if len(of_step) > 1 else ()


def _alike(one: Tree, other: Tree) -> bool:
    assert one.provenance
    assert other.provenance
    shape = (one.n_layers, one.n_heads) == (other.n_layers, other.n_heads)
    of_same = other.provenance.step is not None or one.provenance.model == other.provenance.model
    return shape and of_same and one.provenance.corpus == other.provenance.corpus


def _readable() -> Iterator[tuple[str, Tree]]:
    for name, path in offered().items():
        if (scan := _or_none(path)) is not None:
            yield name, scan


def _or_none(path: Path) -> Tree | None:
    """A scan, if it can be read: one that cannot says why when it is opened itself."""
    try:
        return _tree(path, _stamp(path))
    except HeadlightError:
        return None


def _stamp(path: Path) -> Stamp:
    """Stamp that changes when a scan is rewritten, as happens while it is still running."""
    files = [path / name for name in (CONFIG, SCATTER)]
    return tuple(file.stat().st_mtime_ns for file in files if file.is_file())


@lru_cache(MAX_TREES)
def _tree(path: Path, stamp: Stamp) -> Tree:
    return read_tree(path)


@lru_cache(1)
def _dashboards() -> ByteCache:
    return ByteCache(MAX_BYTES)
