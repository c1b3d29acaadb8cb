"""A study of a circuit in a folder, which goes on where it was when it was stopped.

study.json     what is scored of which set and model, and the rows that are left out
score-*.npz    rows that are scored, by the number of the first
measure-*.npz  held-out rows on which circuits of all sizes are measured
"""

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headlight.model.base.errors import ScanError
from headlight.model.base.files import is_empty, read_json, remove, remove_parts
from headlight.model.circuits.evaluation import SHARES, TENSORS, Evaluation, circuits_by_share, join_evaluations
from headlight.model.circuits.set_scores import EdgeScores, join_scores
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.study import CircuitStudy, assemble_study, resample
from headlight.model.circuits.study_plan import StudyPlan, measure_rows, plan_study, score_rows, with_means
from headlight.model.circuits.wiring import Wiring, wiring
from headlight.model.corpus.disk import write_whole
from headlight.model.corpus.identity import check_same, config_digest, model_identity
from headlight.model.corpus.packing import packed, refusing_damage
from headlight.model.experiments.results import digest
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches

CONFIG = "study.json"
SCORES, MEASURED = "score-*.npz", "measure-*.npz"
TABLES = "curve", "areas", "circuit", "overlaps", "rows"  # which the command writes beside them, and the circuit
BESIDE = (*(f"{table}.csv" for table in TABLES), "circuit.json", "circuit.pt")
KIND = "headlight circuit"
ANOTHER = "Give a new folder, or that of this circuit, by --out."
NOT_IDENTITY = ("share",)  # all sizes are measured, so that another one may be looked at
AT_ONCE = 4  # rows of a file


class CircuitFolder:
    """One study in one folder."""

    def __init__(self, model: Transformer, token_set: TokenSet, settings: CircuitSettings, folder: Path) -> None:
        self._model, self._settings, self._folder = model, settings, folder
        self._identity = {
            "model": model_identity(model),
            "set": {"name": token_set.name, "rows": len(token_set.rows), "digest": digest(token_set)},
            "settings": {name: value for name, value in settings.as_dict().items() if name not in NOT_IDENTITY},
        }
        self._begin()
        self.plan: StudyPlan = with_means(model, plan_study(model, token_set, settings))

    def _begin(self) -> None:
        """Refuse a folder that is not this study's, before anything is computed.

        Raises:
            ScanError: it is no folder, holds something else, or another study.
        """
        folder = self._folder
        if os.path.lexists(folder) and not folder.is_dir():
            raise ScanError(f"{folder} is no folder, and a circuit's study writes one. {ANOTHER}")
        if (folder / CONFIG).is_file():
            with refusing_damage(CONFIG, "Give a new folder by --out."):
                written = read_json(folder / CONFIG)["identity"]
            check_same(written, self._identity, folder, "circuit")
        elif folder.is_dir() and not is_empty(folder):
            raise ScanError(f"{folder} holds files and no circuit's study. {ANOTHER}")

    def run(self, watch: Callable[[int], None] = lambda n_rows: None) -> CircuitStudy:
        """Score and measure the rows that are left, keep each batch as it is finished, and assemble the study.

        Args:
            watch: is told how many more rows are done.

        Raises:
            ScanError: a file is damaged, or the disk is full.
            InputError: the prompts' mean metric is the baseline's.
        """
        plan, settings = self.plan, self._settings
        config = {
            "kind": KIND,
            "identity": self._identity,
            "settings": settings.as_dict(),
            "left_out": {str(number): why for number, why in plan.left_out.items()},
            "scored": [row.number for row in plan.train],
            "measured": [row.number for row in plan.held_out],
        }
        write_whole(self._folder / CONFIG, json.dumps(config).encode())
        remove_parts(self._folder)
        scores = self._scores(watch)
        circuits = circuits_by_share(scores, SHARES, settings.selection)

        def measured(rows: Sequence[TokenRow]) -> dict[str, Any]:
            part = measure_rows(self._model, plan, circuits, rows)
            values = {name: getattr(part, name) for name in TENSORS}
            return {**values, "numbers": torch.tensor(part.numbers), "n_edges": torch.tensor(part.n_edges)}

        evaluation = _evaluation(self._parts(MEASURED, plan.held_out, measured, watch))
        return assemble_study(plan, scores, evaluation, resample(settings, scores))

    def _scores(self, watch: Callable[[int], None]) -> EdgeScores:
        plan, settings = self.plan, self._settings

        def scored(rows: Sequence[TokenRow]) -> dict[str, Any]:
            part = score_rows(self._model, plan, rows)
            return {"numbers": torch.tensor(part.numbers), "by_row": part.by_row}

        return _edge_scores(self._parts(SCORES, plan.train, scored, watch), wiring(self._model.cfg), settings)

    def _parts(
        self,
        pattern: str,
        rows: Sequence[TokenRow],
        make: Callable[[Sequence[TokenRow]], dict[str, Any]],
        watch: Callable[[int], None],
    ) -> list[dict[str, Tensor]]:
        """Each batch of the rows: from its file, or made and written."""
        parts = []
        for batch in batches(rows, AT_ONCE):
            path = self._folder / pattern.replace("*", f"{batch[0].number:08}")
            if not path.is_file():
                write_whole(path, packed({name: tensor.numpy() for name, tensor in make(batch).items()}))
            parts.append(_read(path))
            watch(len(batch))
        return parts


@dataclass(frozen=True, eq=False)
class StudyResults:
    """What a folder holds: the study, and the names of the set and of the model."""

    study: CircuitStudy
    set_name: str
    model_name: str


def is_study(folder: Path) -> bool:
    """Whether a folder holds a study of a circuit, finished or not."""
    return (folder / CONFIG).is_file()


def read_study(folder: Path, cfg: TransformerConfig) -> StudyResults:
    """Read a finished study.

    Args:
        folder: the folder that the command has written.
        cfg: the settings of the model that it is of.

    Raises:
        ScanError: it is of another model, not finished, or damaged.
    """
    with refusing_damage(CONFIG, "Run the command again, into a new folder."):
        config = read_json(folder / CONFIG)
        identity, left_out = config["identity"], {int(number): str(why) for number, why in config["left_out"].items()}
        settings = CircuitSettings(**config["settings"])
        n_rows = len(config["scored"]) + len(config["measured"])
        set_name, model_name = str(identity["set"]["name"]), str(identity["model"]["name"])
    if identity["model"].get("config") != config_digest(cfg):
        raise ScanError(f"The circuit in {folder} is of the model {model_name}. Choose that model to open it.")
    scored, measured = ([_read(path) for path in sorted(folder.glob(pattern))] for pattern in (SCORES, MEASURED))
    n_done = sum(len(part["numbers"]) for part in (*scored, *measured))
    if n_done < n_rows:
        raise ScanError(
            f"The circuit in {folder} is not finished: {n_done:,} of {n_rows:,} rows are done. Give the command again."
        )
    scores = _edge_scores(scored, wiring(cfg), settings)
    plan = StudyPlan(settings, (), (), left_out)
    study = assemble_study(plan, scores, _evaluation(measured), resample(settings, scores))
    return StudyResults(study, set_name, model_name)


def _read(path: Path) -> dict[str, Tensor]:
    with (
        refusing_damage(path.name, "Delete it, and give the same command again."),
        np.load(io.BytesIO(path.read_bytes())) as arrays,
    ):
        return {name: torch.from_numpy(arrays[name]) for name in arrays.files}


def _edge_scores(parts: Sequence[Mapping[str, Tensor]], wires: Wiring, settings: CircuitSettings) -> EdgeScores:
    about = settings.method, settings.baseline, settings.unit
    return join_scores([EdgeScores(wires, part["by_row"], tuple(part["numbers"].tolist()), *about) for part in parts])


def _evaluation(parts: Sequence[Mapping[str, Tensor]]) -> Evaluation:
    return join_evaluations(
        [
            Evaluation(
                shares=SHARES,
                n_edges=tuple(part["n_edges"].tolist()),
                numbers=tuple(part["numbers"].tolist()),
                **{name: part[name] for name in TENSORS},
            )
            for part in parts
        ]
    )


def clear(folder: Path) -> None:
    """Remove what a study has written in a folder of its own.

    Raises:
        ScanError: the folder holds something else.
    """
    if not folder.is_dir() or is_empty(folder):
        return
    if not (folder / CONFIG).is_file():
        raise ScanError(f"{folder} holds files and no circuit's study. {ANOTHER}")
    remove_parts(folder)
    beside = (folder / name for name in BESIDE)
    for path in (*folder.glob(SCORES), *folder.glob(MEASURED), *beside, folder / CONFIG):
        remove(path)
