"""Opening a lens: the one beside a model, or one of a folder or hub name, if it fits the model."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headlight.model.base.commands import make
from headlight.model.base.errors import CheckpointError, InputError
from headlight.model.base.source import Source
from headlight.model.checkpoints import downloads
from headlight.model.lens.files import CONFIG, JACOBIANS, PARAMS, read_lens, weights_in
from headlight.model.lens.fitting import check_fits
from headlight.model.lens.kinds import LOGIT, TITLES, Kind, Lens
from headlight.model.runs.run import Run

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FILES: dict[Kind, tuple[str, ...]] = {"tuned": (CONFIG, PARAMS), "jacobian": (JACOBIANS,)}  # the weights last
HUB_NAME = re.compile(r"(spaces/)?(\w[\w.-]*/\w[\w.-]*)((?:/\w[\w.-]*)*)", re.ASCII)


def home(source: Source) -> Path:
    """The folder of a model's own lenses: among the project's for an embedded one, else `lenses` beside the weights."""
    if source.path.parent == ASSETS / "models":
        return ASSETS / "lenses" / source.path.name
    return source.path / "lenses" if source.path.is_dir() else source.path.with_suffix("") / "lenses"


def beside(source: Source) -> tuple[Kind, ...]:
    """The kinds of lens that can be had for a model without a name: the logit lens, and those beside it."""
    return ("logit", *(kind for kind in FILES if _lies(home(source) / kind, kind)))


def _lies(folder: Path, kind: Kind) -> bool:
    return weights_in(folder, kind).is_file() and all((folder / name).is_file() for name in FILES[kind][:-1])


def located(kind: Kind, name: str, source: Source) -> Path:
    """Return a lens's path: beside its model without a name, else that folder or a download from the hub.

    A hub name is `owner/name`, `spaces/` before it for a space, a folder of the repository behind it:
    `spaces/AlignmentResearch/tuned-lens/lens/gpt2`.

    Raises:
        CheckpointError: there is none.
        ModelNotFoundError: the hub cannot be reached or has no such lens.
    """
    if not name:
        folder = home(source) / kind
        if not _lies(folder, kind):
            raise CheckpointError(
                f"There is no {TITLES[kind]} beside {source.name}. Give the folder or hub name of one, or fit one: "
                f"{make('fit-lens', MODEL=source.name)}"
            )
        return folder
    path = Path(os.path.expanduser(name))
    if os.path.exists(path):
        return path
    if match := HUB_NAME.fullmatch(name):
        kind_of_repository = "space" if match[1] else "model"
        folder = downloads.fetch_files(
            match[2], [f"{match[3][1:]}/{file}".lstrip("/") for file in FILES[kind]], kind_of_repository
        )
        return folder / match[3][1:]
    raise CheckpointError(
        f"There is no folder {name!r} of a {TITLES[kind]}. Give its path, or a hub name as owner/name."
    )


def lens_of(run: Run, kind: Kind = "logit", name: str = "", read: Callable[[Kind, Path], Lens] = read_lens) -> Lens:
    """Open a lens for a run's model: by folder or hub name, or the one beside the model; `read` reads its files.

    Raises:
        CheckpointError: there is none, or its files are damaged.
        InputError: it was made for another model.
        ModelNotFoundError: the hub cannot be reached or has no such lens.
    """
    if kind not in TITLES:
        raise InputError(f"There is no lens {kind!r}: it can be {', '.join(TITLES)}.")
    if kind == "logit":
        return LOGIT
    lens = replace(read(kind, located(kind, name, run.source)), name=name or f"of {run.source.name}")
    check_fits(lens, run.model, run.source.name)
    return lens
