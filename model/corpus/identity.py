"""The identity of a scan, which may not change while it is in progress or resumed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headlight.model.base.errors import ScanError
from headlight.model.base.files import open_file
from headlight.model.corpus.documents import Corpus
from headlight.model.corpus.settings import ScanSettings
from headlight.model.features.opening import open_dictionary
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.layers.parameters import widened
from headlight.model.nn.transformer import Transformer

END = 2**16  # bytes of a weight file's beginning and end that tell it from others of its size


def identity(model: Transformer, corpus: Corpus, settings: ScanSettings) -> dict[str, Any]:
    """Model, corpus and settings, as values that JSON has."""
    parts = {"model": model_identity(model), "corpus": corpus.identity(), "settings": settings.as_dict()}
    return parts | ({"dictionary": _digest(settings.features)} if settings.features else {})


def model_identity(model: Transformer) -> dict[str, Any]:
    """A loaded model's name, configuration and weights, as values that JSON has."""
    source = model.source
    assert source is not None  # it was loaded
    weights = {path.name: [path.stat().st_size, _ends(path)] for path in source.weights}
    name = Path(source.name).name if source.revision is None else source.name
    return {"name": name, "revision": source.revision, "config": config_digest(model.cfg), "weights": weights}


def config_digest(cfg: TransformerConfig) -> str:
    """A digest of a model's configuration."""
    return hashlib.sha256(repr(sorted(asdict(cfg).items())).encode()).hexdigest()


def _digest(dictionary: str) -> str:
    """A digest of a dictionary's biases, which no two have alike."""
    biases = (widened(each.b_enc).numpy().tobytes() for each in open_dictionary(dictionary).values())
    return hashlib.sha256(b"".join(biases)).hexdigest()


def _ends(path: Path) -> str:
    """A digest of a file's first and last bytes: to read all of a large model takes longer than to open it."""
    with open_file(path) as file:
        digest = hashlib.sha256(file.read(END))
        file.seek(max(path.stat().st_size - END, 0))
        digest.update(file.read(END))
    return digest.hexdigest()


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path, what: str = "scan") -> None:
    """Refuse to go on with something else; `before` was read from a file.

    Raises:
        ScanError: it says what has changed.
    """
    if changed := list(_changes(before, json.loads(json.dumps(now)), "")):
        raise ScanError(
            f"The {what} in {folder} is of something else: {'; '.join(changed)}. Give what it began with to go on, "
            "another folder by --out, or --restart to begin anew there."
        )


def _changes(before: Any, now: Any, name: str) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _changes(before.get(key), now.get(key), f"{name} {key}".strip())
    elif before != now:
        yield f"{name} was {_short(before)} and is {_short(now)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
