"""The lenses that have been opened, and whether any may be."""

from functools import lru_cache
from pathlib import Path

from headlight.app.runs import models
from headlight.model.base.errors import InputError
from headlight.model.lens.files import read_lens
from headlight.model.lens.held_out import HeldOut, read
from headlight.model.lens.kinds import Kind, Lens
from headlight.model.lens.opening import ASSETS, home, lens_of, located
from headlight.model.runs.run import Run

MAX_LENSES = 16


def lens(run: Run, kind: Kind, name: str = "") -> Lens:
    """A lens of a run's model: that of a folder or hub name, or the one beside the model.

    Raises:
        HeadlightError: it may not be opened here, there is none, it is damaged, or it was made for another model.
    """
    if name and not models.any_model_allowed():
        raise InputError(
            f"The lens {name[:80]!r} is not offered here: this server opens only lenses beside its models."
        )
    return lens_of(run, kind, name, _read)


def held_out(run: Run, kind: Kind, name: str = "") -> HeldOut | None:
    """Measures of a lens on held-out text; None where its folder has none."""
    return read(home(run.source) if kind == "logit" or not name else located(kind, name, run.source).parent)


def _read(kind: Kind, path: Path) -> Lens:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stamp = tuple((file.name, file.stat().st_mtime_ns) for file in files[:100] if file.is_file())
    # As of models, a server opens no pickle; those that come with the project are its own.
    return _at(kind, path, stamp, allow_pickle=models.any_model_allowed() or ASSETS in path.parents)


@lru_cache(MAX_LENSES)
def _at(kind: Kind, path: Path, stamp: tuple[tuple[str, int], ...], *, allow_pickle: bool) -> Lens:
    return read_lens(kind, path, allow_pickle=allow_pickle)
