"""Models that may be opened from the page, and the opened ones.

A model is one instance that all sessions share. Opening one keeps only those waiting who want the same.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from operator import is_
from pathlib import Path
from threading import Lock
from typing import cast
from weakref import WeakKeyDictionary

import torch

from headlight.app.runs import models_folder, passes, stamps, visitors
from headlight.app.runs.cost import weights_bytes
from headlight.app.runs.limits import GIB, ByteCache
from headlight.app.server.settings import only_this_machine, settings
from headlight.model import (
    Seq2SeqTransformer,
    Transformer,
    embedded_models,
    embedded_seq2seq_models,
    load,
    load_seq2seq,
)
from headlight.model.base.errors import CheckpointError, ConfigError, HeadlightError, ModelNotFoundError
from headlight.model.base.file_copies import is_copying
from headlight.model.base.source import Source
from headlight.model.checkpoints import loading
from headlight.model.checkpoints.families import DType
from headlight.model.checkpoints.family import Questions as Questions
from headlight.model.checkpoints.loading import estimate, is_here, named_with, parted
from headlight.model.checkpoints.packaged import PACKAGED, packaged_models
from headlight.model.checkpoints.tensors import listed
from headlight.model.runs.host import Host
from headlight.model.text.tokenizer_files import may_ask_to_think, may_have_chat_template
from headlight.model.training.curves import Curves, read_curves

MB = 10**6
HUB_MODELS = ("smollm2", "gpt2", "distilgpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
SEQ2SEQ = "encoder-decoder"  # before the names of such models, which others may have too

# To recognise them takes a look into every folder, and what comes with the project stays as long as the server runs.
_embedded, _embedded_seq2seq = cache(embedded_models), cache(embedded_seq2seq_models)


def offered_models() -> tuple[str, ...]:
    """The names in the model list: the server's own model, the embedded ones, the models folder's, the hub's."""
    return tuple(dict.fromkeys((settings().model, *_embedded(), *models_folder.listing().models, *HUB_MODELS)))


def offered_seq2seq_models() -> tuple[str, ...]:
    """The names in the list of encoder-decoders: the embedded ones and the models folder's."""
    return tuple(dict.fromkeys((*_embedded_seq2seq(), *models_folder.listing().seq2seq)))


def _in_folder() -> dict[str, Path]:
    """The models in the models folder, by name."""
    listing = models_folder.listing()
    return listing.models | listing.seq2seq


def list_labels() -> dict[str, str]:
    """Descriptions of real models in the list: what they are, and how to install missing ones."""
    installed = packaged_models()
    return {
        name: f"{packaged.about}, {packaged.stored if name in installed else f'from the hub or by {packaged.command}'}"
        for name, packaged in PACKAGED.items()
    }


def is_installed(name: str) -> bool:
    """Whether a model of the list can be opened without a package or a hub."""
    return name not in PACKAGED or name in packaged_models()


def any_model_allowed() -> bool:
    """Whether any folder, file or hub name may be typed into the page by whom this thread works for."""
    return settings().any_model and only_this_machine() and not visitors.is_elsewhere()


def open_model(name: str) -> Transformer:
    """The one instance of a model.

    Raises:
        HeadlightError: the model is not offered here, or cannot be opened.
    """
    _check_offered(name)
    return _opened().get(name, lambda: _open(name))


def _check_offered(name: str) -> None:
    name = str(parted(name)[0])
    if name not in (offered := offered_models()):
        _check_listed(name)
        if not any_model_allowed():
            raise ModelNotFoundError(f"{name!r} is not offered here. Choose one of {', '.join(offered)}.")


def _check_listed(name: str) -> None:
    """Say why something in the models folder is not in the list.

    Raises:
        CheckpointError: it cannot be read.
    """
    if reason := models_folder.listing().unreadable.get(name):
        raise CheckpointError(f"{name} in the models folder is not in the list. {reason}")


def base_name(name: str) -> str:
    """A model's name without the settings that stand behind it."""
    return str(parted(name)[0])


def questions(name: str) -> Questions | None:
    """Questions about a model that neither its state dict nor its name answers; None if there is none."""
    source = _source(name)
    if not os.path.isfile(os.path.expanduser(parted(source)[0])) or not _may_be_opened(name):
        return None
    with suppress(HeadlightError):  # what cannot be read is said when it is opened
        return loading.questions(source)
    return None


def _may_be_opened(name: str) -> bool:
    try:
        _check_offered(name)
    except HeadlightError:
        return False
    return True


def answered(name: str, answers: Mapping[str, object]) -> str:
    """A model's name with further answers behind it."""
    base, known = parted(name)
    return named_with(str(base), known | dict(answers))


def told_of_opening(*names: str) -> str:
    """Time and memory for opening those of these models that are large and not open yet; empty if none."""
    return "; ".join(filter(None, map(_told_of_opening, dict.fromkeys(names))))


def _told_of_opening(name: str) -> str:
    if is_open(name):
        return ""
    try:
        _check_offered(name)
        if not is_here(_source(name)):
            return "it is fetched from the hub first"
        takes = estimate(_source(name), _dtype())
    except HeadlightError:  # which opening it will tell
        return ""
    return str(takes) if takes.is_large else ""


class _Opening(Host):
    """Report to waiting sessions how many of a model's bytes have been read."""

    def tell(self, done: int, total: int) -> None:
        passes.tell(done // MB, max(1, total // MB), "MB of the weights done")


def open_seq2seq(name: str) -> Seq2SeqTransformer:
    """The one instance of an encoder-decoder.

    Raises:
        HeadlightError: the model is not offered here, or cannot be opened.
    """
    offered = offered_seq2seq_models()
    if name not in offered:
        _check_listed(name)
    if name not in offered and not any_model_allowed():
        raise ModelNotFoundError(f"{name!r} is not offered here. Choose one of {', '.join(offered)}.")
    return _opened().get((SEQ2SEQ, name), lambda: _open_seq2seq(name))


def _open_seq2seq(name: str) -> Seq2SeqTransformer:
    lies_at = {} if name in _embedded_seq2seq() else _in_folder()
    path = lies_at.get(name, name)
    before = _before(path)
    with _without_path(path, name):
        model = load_seq2seq(path, host=_Opening())
    _watch(model, before)
    assert model.source is not None  # set by load_seq2seq
    model.source = replace(model.source, name=name)
    return model


def is_known(source: Source) -> bool:
    """Whether a model's name alone opens it: it comes with Headlight, in a package, or has a short name on the hub."""
    from_hub = source.name in HUB_MODELS and source.revision is not None
    return is_embedded(source) or from_hub or packaged_models().get(source.name) == source.path


def is_embedded(source: Source) -> bool:
    """Whether a model comes with Headlight, by its name."""
    return source.name in _embedded() or source.name in _embedded_seq2seq()


def opened_by(source: Source) -> str:
    """Argument of `load` that opens a model in a script: its name, or its path where only the user may know that."""
    from_disk = source.revision is None and not is_known(source)
    if not from_disk or not any_model_allowed():
        return source.name
    answers = parted(source.name)[1]
    return named_with(str(source.path), answers) if answers else str(source.path)


def heads_by_hand(name: str) -> dict[tuple[int, int], str]:
    """Purpose of each head of a model with hand-written weights; empty for any other."""
    if name not in _embedded() or not (path := _embedded()[name] / "heads.json").is_file():
        return {}
    return {(layer, head): does for layer, head, does in json.loads(path.read_text(encoding="utf-8"))}


def training_curves(source: Source) -> Curves | None:
    """Training curves of a model that comes with Headlight; None for any other."""
    return read_curves(source.path) if is_embedded(source) else None


def is_open(name: str) -> bool:
    """Whether a model is in memory."""
    return name in names_open()


def names_open() -> frozenset[str]:
    """Names of the models in memory."""
    return frozenset(str(key[-1] if isinstance(key, tuple) else key) for key in _opened().keys)


def n_open() -> int:
    """Number of models in memory."""
    return len(_opened().keys)


def may_know_chat(name: str) -> bool:
    """Whether a model's tokenizer has a chat template; of one that is still to come from the hub, whether it may."""
    model: Transformer | None = _opened().peek(name)
    if model is not None:
        return model.tokenizer is not None and model.tokenizer.has_chat_template
    if name in _embedded():
        return False
    folder = os.path.expanduser(_source(name))
    if os.path.isdir(folder) and (name in _in_folder() or any_model_allowed()):
        with suppress(HeadlightError):  # what cannot be read is said when it is opened
            return may_have_chat_template(Path(folder))
    return name not in HUB_MODELS or name in PACKAGED


def may_think(name: str) -> bool:
    """Whether a model's chat template asks if it is to think first; of one to be opened, as far as its files tell."""
    model: Transformer | None = _opened().peek(name)
    if model is not None:
        return model.tokenizer is not None and model.tokenizer.may_think
    at = os.path.expanduser(_source(name))
    is_local = os.path.exists(at) and (name in _in_folder() or any_model_allowed())
    return is_local and may_ask_to_think(Path(at))


def stamps_when_opened(name: str) -> stamps.Stamps:
    """Stamps of a model's files when it was opened; empty for one that is not open."""
    opened = filter(None, map(_opened().peek, (name, (SEQ2SEQ, name))))
    return dict(item for model in opened for item in _stamps.get(model, {}).items())


def close_changed(name: str) -> list[str]:
    """Close a model of which files have changed since it was opened, and return their names."""
    files = stamps.changed_on_disk(stamps_when_opened(name))
    for key in (name, (SEQ2SEQ, name)) if files else ():
        _opened().drop(partial(is_, _opened().peek(key)))
    return files


def _before(path: str | Path) -> stamps.Stamps:
    """Stamps of a model's files before it is opened; a server waits while they are being written."""
    files = stamps.weights_at(Path(os.path.expanduser(path)))
    return stamps.settled_stamps_of(files) if is_copying() else stamps.stamps_of(files)


def _watch(model: Transformer | Seq2SeqTransformer, before: stamps.Stamps) -> None:
    """Record the stamps of a model's files, which were `before` when it was opened.

    Raises:
        CheckpointError: one was written while it was read.
    """
    assert model.source is not None  # set by whoever opens
    now = stamps.stamps_of(model.source.weights)
    if files := stamps.changed(before, now):
        raise CheckpointError(
            f"{listed(files)} changed while the model was opened. Wait until it is written; open it then."
        )
    _stamps[model] = now


_stamps: WeakKeyDictionary[Transformer | Seq2SeqTransformer, stamps.Stamps] = WeakKeyDictionary()
_copies: WeakKeyDictionary[Transformer, Transformer] = WeakKeyDictionary()  # each as long as the model is there
_copying = Lock()


@cache
def _opened() -> ByteCache:
    return ByteCache(int(settings().models_gib * GIB), _bytes, passes.tell_waiting)


def _bytes(model: Transformer | Seq2SeqTransformer) -> int:
    """Bytes of a model, with its copy on the device."""
    has_copy = settings().device != "cpu" and isinstance(model, Transformer)
    return weights_bytes(model) * (1 + has_copy)


def _open(name: str) -> Transformer:
    source = _source(name)
    path = parted(source)[0]
    before = _before(path)
    with _without_path(path, base_name(name)):
        model = load(source, dtype=_dtype(), host=_Opening())
    _watch(model, before)
    assert model.source is not None  # set by load
    model.source = replace(model.source, name=name)
    return model


@contextmanager
def _without_path(path: str | Path, name: str) -> Iterator[None]:
    """Have errors name a model of the list by its name, and not by its path: its folder may go while it is opened."""
    try:
        yield
    except HeadlightError as error:
        if str(path) == name or str(path) not in str(error):
            raise
        raise type(error)(str(error).replace(str(path), name)) from error


def _source(name: str) -> str | Path:
    """Source by which a model is opened."""
    base, answers = parted(name)
    lies_at = {} if base in _embedded() else _in_folder()
    at = lies_at.get(str(base), base)
    return named_with(str(at), answers) if answers else at


def _dtype() -> DType:
    return cast(DType, settings().dtype)  # which is one of the setting's choices


def on_device(model: Transformer) -> Transformer:
    """The model where this server's runs are to be made: itself, or its one copy on the device.

    Raises:
        ConfigError: there is no such device here.
    """
    if settings().device == "cpu":
        return model
    if not torch.cuda.is_available():
        raise ConfigError("The server is set to run on cuda, but torch finds none here. Start it without --device.")
    with _copying:
        if model not in _copies:
            _copies[model] = deepcopy(model).to(settings().device)
        return _copies[model]
