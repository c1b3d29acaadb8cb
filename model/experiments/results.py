"""An experiment in a folder, which goes on where it was when it was stopped.

experiment.json   what was measured of which set and model, the axes, and the rows that are left out
batch-*.npz       finished batches, by the number of their first row
values.npz        all of them, when the experiment is finished
means.csv         every cell's mean with its interval, which the command writes beside them
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from headlight.model.base.errors import ScanError
from headlight.model.base.files import is_empty, read_json, remove, remove_parts
from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.engines import Engine
from headlight.model.corpus.identity import check_same, model_identity
from headlight.model.corpus.packing import refusing_damage
from headlight.model.experiments.batch import BatchValues, with_means
from headlight.model.experiments.jobs import Job, Worker, from_bytes, to_bytes
from headlight.model.experiments.measurement import Measurement
from headlight.model.experiments.plan import Plan, plan_of
from headlight.model.experiments.running import Axes, Progress, assemble_axes
from headlight.model.experiments.settings import ExperimentSettings
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches

CONFIG, VALUES, BATCHES, TABLE = "experiment.json", "values.npz", "batch-*.npz", "means.csv"
KIND = "headlight experiment"
# How it is computed and summed up, which changes no value, so that it may change when an experiment goes on.
NOT_IDENTITY = ("interval", "batch", "memory", "device")
ANOTHER = "Give a new folder, or that of an experiment, by --out."


@dataclass(frozen=True, eq=False)
class Results:
    """What a folder holds of an experiment.

    Attributes:
        measurement: what is measured so far.
        settings: what was measured, and how.
        set_name: the set's name.
        model_name: the model's name.
        n_rows: how many rows are to be measured.
    """

    measurement: Measurement
    settings: ExperimentSettings
    set_name: str
    model_name: str
    n_rows: int

    @property
    def is_complete(self) -> bool:
        """Whether every row is measured."""
        return len(self.measurement.rows) == self.n_rows


class Experiment:
    """One experiment in one folder."""

    def __init__(self, model: Transformer, token_set: TokenSet, settings: ExperimentSettings, folder: Path) -> None:
        self._model, self._set, self._settings, self._folder = model, token_set, settings, folder
        self._identity = {
            "model": model_identity(model),
            "set": {"name": token_set.name, "rows": len(token_set.rows), "digest": digest(token_set)},
            "settings": {name: value for name, value in settings.as_dict().items() if name not in NOT_IDENTITY},
        }

    def begin(self) -> None:
        """Refuse a folder that is not this experiment's, before anything is computed.

        Raises:
            ScanError: it is no folder, holds something else, or another experiment.
        """
        if os.path.lexists(self._folder) and not self._folder.is_dir():
            raise ScanError(f"{self._folder} is no folder, and an experiment writes one. {ANOTHER}")
        if (self._folder / CONFIG).is_file():
            check_same(_config(self._folder)["identity"], self._identity, self._folder, "experiment")
        elif self._folder.is_dir() and not is_empty(self._folder):
            raise ScanError(f"{self._folder} holds files and no experiment. {ANOTHER}")

    def plan(self) -> Plan:
        """The rows that are measured, with everything that a batch needs.

        Raises:
            InputError: the model or the set has not what is measured.
        """
        return with_means(self._model, plan_of(self._model, self._set, self._settings))

    def run(
        self, plan: Plan, engine: Callable[[Worker], Engine], watch: Callable[[Progress], None] = lambda progress: None
    ) -> Measurement:
        """Measure the rows that are left, and keep each batch as it is finished.

        Raises:
            ScanError: the folder is not this experiment's, or the disk is full.
            InputError: too little memory is allowed.
        """
        self.begin()
        axes = plan.axes(self._model.cfg)
        self._write_config(plan, axes)
        parts = _parts(self._folder)
        before = done = {number for part in parts for number in part.numbers}
        left = [row for row in plan.rows if row.number not in done]
        jobs = [Job(rows[0].number, tuple(rows)) for rows in batches(left, self._settings.batch)]
        began, using = monotonic(), engine(Worker(self._model, plan)) if jobs else None
        try:
            for number, data in using.run(jobs) if using else ():
                write_whole(self._folder / BATCHES.replace("*", f"{number:08}"), data)
                parts.append(from_bytes(data, f"batch {number}"))
                done = done | set(parts[-1].numbers)
                rate = (monotonic() - began) / (len(done) - len(before))
                left_over = rate * (len(plan.rows) - len(done))
                watch(Progress(len(done), len(plan.rows), left_over, lambda: assemble_axes(plan, axes, parts)))
        finally:
            if using is not None:
                using.close()
        self._finish(parts)
        return assemble_axes(plan, axes, parts)

    def _write_config(self, plan: Plan, axes: Axes) -> None:
        config = {
            "kind": KIND,
            "identity": self._identity,
            "settings": self._settings.as_dict(),
            "axes": {axis: None if labels is None else list(labels) for axis, labels in axes.items()},
            "rows": [row.number for row in plan.rows],
            "left_out": {str(number): why for number, why in plan.left_out.items()},
        }
        write_whole(self._folder / CONFIG, json.dumps(config).encode())
        remove_parts(self._folder)

    def _finish(self, parts: Sequence[BatchValues]) -> None:
        """All batches in one file, and then without those of each."""
        write_whole(self._folder / VALUES, to_bytes(joined(parts)))
        for path in self._folder.glob(BATCHES):
            remove(path)


def clear(folder: Path) -> None:
    """Remove what an experiment has written in a folder of its own.

    Raises:
        ScanError: the folder holds something else.
    """
    if not folder.is_dir() or is_empty(folder):
        return
    _config(folder)
    remove_parts(folder)
    for path in (*folder.glob(BATCHES), folder / VALUES, folder / TABLE, folder / CONFIG):
        remove(path)


def read_results(folder: Path) -> Results:
    """Read what a folder holds of an experiment, finished or not.

    Raises:
        ScanError: it holds none, nothing of it is finished yet, or a file is damaged.
    """
    config, parts = _config(folder), _parts(folder)
    if not parts:
        raise ScanError(f"Nothing of the experiment in {folder} is finished yet. Run it, and open it again.")
    with refusing_damage(CONFIG, "Run the experiment again, into a new folder."):
        names = {field.name for field in fields(ExperimentSettings)}
        settings = ExperimentSettings(**{name: value for name, value in config["settings"].items() if name in names})
        axes = {axis: None if labels is None else tuple(labels) for axis, labels in config["axes"].items()}
        left_out = {int(number): str(why) for number, why in config["left_out"].items()}
        identity, n_rows = config["identity"], len(config["rows"])
        plan = Plan.of_results(settings, left_out)
        return Results(
            assemble_axes(plan, axes, parts), settings, identity["set"]["name"], identity["model"]["name"], n_rows
        )


def joined(parts: Sequence[BatchValues]) -> BatchValues:
    """Several batches as one."""
    tensors = {name: torch.cat([getattr(part, name) for part in parts]) for name in ("values", "clean", "corrupted")}
    return BatchValues(
        tuple(number for part in parts for number in part.numbers), **tensors, components=parts[0].components
    )


def digest(token_set: TokenSet) -> str:
    """A digest of a set's rows in tokens."""
    rows = [_as_json(row) for row in token_set.rows]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _as_json(row: TokenRow) -> list[Any]:
    corrupted = None if row.corrupted is None else row.corrupted.tolist()
    positions = {name: list(places) for name, places in row.positions.items()}
    return [row.number, row.clean.tolist(), corrupted, row.answers, row.wrong_answers, positions]


def _config(folder: Path) -> Mapping[str, Any]:
    if not (folder / CONFIG).is_file():
        raise ScanError(f"{folder} holds no experiment ({CONFIG} is missing). Give the folder that one was written to.")
    with refusing_damage(CONFIG, "Run the experiment again, into a new folder."):
        config = read_json(folder / CONFIG)
    if config.get("kind") != KIND:
        raise ScanError(f"{folder / CONFIG} is no experiment of Headlight's. {ANOTHER}")
    return config


def _parts(folder: Path) -> list[BatchValues]:
    paths = [folder / VALUES] if (folder / VALUES).is_file() else sorted(folder.glob(BATCHES))
    parts = []
    for path in paths:
        with refusing_damage(path.name, "Delete it, and give the same command again."):
            parts.append(from_bytes(path.read_bytes(), path.name))
    return parts
