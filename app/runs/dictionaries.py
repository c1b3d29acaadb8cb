"""Dictionaries that may be opened from the page, and the opened ones."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from headlight.app.runs import models, models_folder
from headlight.app.runs.limits import GIB, ByteCache
from headlight.app.runs.stamps import Stamp, stamps_of
from headlight.model.base.errors import CheckpointError, HeadlightError, nearest
from headlight.model.features import Dictionaries, Dictionary, check_fits
from headlight.model.features.effects import layer_after
from headlight.model.features.norms import fitted
from headlight.model.features.opening import open_dictionary, shipped_dictionaries
from headlight.model.graph.units import check_transcoders
from headlight.model.nn.transformer import Transformer
from headlight.model.runs.edits import Edit, EditFeature
from headlight.model.runs.run import Run

MAX_BYTES = 4 * GIB  # of mapped weights
MAX_ANSWERS = 1000

Files = tuple[tuple[str, Stamp], ...]


def offered() -> dict[str, Path]:
    """Available dictionaries by name: those that come with the project, and those of the models folder."""
    return {**models_folder.listing().dictionaries, **shipped_dictionaries()}


def dictionaries(name: str) -> Dictionaries:
    """The dictionaries of a name, each shared by all sessions.

    Raises:
        HeadlightError: they are not offered here, or cannot be opened.
    """
    path = opened_by(name)
    return _opened().get((path, _stamp(Path(path))), lambda: _open(path, name))


def _open(path: str, name: str) -> Dictionaries:
    """Opened, and called by their name on the page, so that no message tells where they lie."""
    return Dictionaries(name, [replace(each, name=name) for each in open_dictionary(path).values()])


def opened_by(name: str) -> str:
    """Argument of `open_dictionary` for a name on the page.

    Raises:
        CheckpointError: it is not offered here.
    """
    known = offered()
    if name not in known and not models.any_model_allowed():
        raise CheckpointError(f"The dictionary {name!r} is not offered here.{nearest(name, known)}")
    return name if name in shipped_dictionaries() or name not in known else str(known[name])


def told_by(name: str) -> str:
    """Argument that opens a name of the page in a script: the same, or its path where only the user may know that."""
    return opened_by(name) if models.any_model_allowed() else name


def fitting(name: str, model: Transformer) -> Dictionaries:
    """The dictionaries of a name as they fit a model, which all of them do.

    Raises:
        HeadlightError: they are not to be had, or one does not fit; it says what does not.
    """
    return fitted(dictionaries(name), model)


def stand_for_mlps(name: str, model: Transformer) -> bool:
    """Whether the dictionaries of a name fit a model and stand for every MLP of it.

    The answer is kept for as long as their files stay as they are, so that listing what fits opens nothing again.
    """
    path = opened_by(name)
    return _answers().get((name, path, _stamp(Path(path)), model.cfg), lambda: _stand_for_mlps(name, model))


def _stand_for_mlps(name: str, model: Transformer) -> bool:
    try:
        check_transcoders(fitting(name, model), model.cfg.n_layers)
    except HeadlightError:
        return False
    return True


@lru_cache(1)
def _answers() -> ByteCache:
    return ByteCache(MAX_ANSWERS, lambda answer: 1)


def fitting_all(name: str, runs: Sequence[Run]) -> Dictionaries:
    """The dictionaries of a name as they fit the model of all runs.

    Raises:
        HeadlightError: as `fitting`, or they read behind a norm whose gain is another in another run's model.
    """
    fits = [fitting(name, run.model) for run in runs]
    behind = any(each.reading.gain is not None for each in fits[0].values())
    if behind and not all(run.same_model(runs[0]) for run in runs):
        raise CheckpointError(
            f"{name} reads the normalized input of an MLP or of heads, and A's and B's models have different norm "
            "gains. Choose a B of the same model."
        )
    return fits[0]


def named(chosen: str, model: str) -> str:
    """The dictionary that is chosen, or the first that comes with the model; empty where there is none."""
    return chosen or next((name for name in shipped_dictionaries() if name.startswith(f"{model}/")), "")


def of_edits(edits: Sequence[Edit], model: Transformer) -> dict[str, Dictionaries]:
    """The dictionaries whose features are edited, by name.

    Raises:
        HeadlightError: one is not to be had, or does not fit the model.
    """
    names = dict.fromkeys(edit.dictionary for edit in edits if isinstance(edit, EditFeature))
    return {name: fitting(name, model) for name in names}


def _stamp(path: Path) -> Files:
    """Stamp that changes when a dictionary is rewritten."""
    files = (path, *path.glob("*"), *path.glob("*/*")) if os.path.isdir(path) else ()
    return tuple(sorted(stamps_of(files).items(), key=lambda file: file[0]))


@lru_cache(1)
def _opened() -> ByteCache:
    return ByteCache(MAX_BYTES, lambda opened: sum(map(_bytes, opened.values())))


def _bytes(dictionary: Dictionary) -> int:
    return dictionary.W_enc.nbytes + sum(output.W_dec.nbytes for output in dictionary.outputs)


def of_stream(chosen: str, layer: int, runs: Sequence[Run]) -> tuple[str, Dictionary] | None:
    """A dictionary of the stream that a layer's heads read: of the chosen ones, or of those of the first run's model.

    One that cannot be opened, or that does not fit, says why on the page *Features*.
    """
    with_model = (name for name in shipped_dictionaries() if name.startswith(f"{runs[0].source.name}/"))
    for name in dict.fromkeys([*([chosen] if chosen else []), *with_model]):
        try:
            opened = fitting(name, runs[0].model)
            dictionary = next((each for each in opened.values() if layer_after(each) == layer), None)
            if dictionary is not None:
                for run in runs[1:]:
                    check_fits(dictionary, run.cfg)
                return name, dictionary
        except HeadlightError:
            continue
    return None
