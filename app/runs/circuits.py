"""Circuits of sets as jobs: rows that are scored, held-out rows that circuits are measured on, and resampled rows.

What comes of each is in the cache of runs. Scores and measurements are of all sizes, so that another size of the
circuit asks for its resamples alone.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import streamlit as st

from headlight.app.runs import models, prompt_sets, runs
from headlight.app.runs.cost import cost
from headlight.app.runs.limits import GIB, ByteCache
from headlight.app.runs.prompt_sets import ReadSet
from headlight.model.base.errors import InputError
from headlight.model.circuits.evaluation import SHARES, Evaluation, circuits_by_share, join_evaluations
from headlight.model.circuits.files import CircuitFile, read_circuit, write_circuit
from headlight.model.circuits.selection import EdgeMask
from headlight.model.circuits.set_scores import EdgeScores, join_scores
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.study import CircuitStudy, as_file, assemble_study, chosen_units, resample
from headlight.model.circuits.study_plan import (
    StudyPlan,
    measure_passes,
    measure_rows,
    plan_study,
    score_passes,
    score_rows,
    with_means,
)
from headlight.model.circuits.units import UnitMask, unit_mask
from headlight.model.experiments import circuit_results
from headlight.model.experiments.circuit_results import StudyResults
from headlight.model.prompt_sets.encoding import TokenRow
from headlight.model.runs.direction import MARK

MAX_FILE_BYTES = GIB // 8  # of all uploaded circuits, of which the least recently used go first
FILES = "circuits.files"  # of the session
SUFFIXES = (".json", ".pt")
RESAMPLE_SECONDS = 2e-5  # an edge, of 200 resamples and 50 pairs of halves

Stage = Literal["score", "measure", "resample"]
STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(frozen=True)
class CircuitQuestion:
    """A circuit of a set that a model reads."""

    read: ReadSet
    settings: CircuitSettings

    def for_stage(self, stage: Stage) -> "CircuitQuestion":
        """The question without what changes nothing at this stage."""
        default = CircuitSettings()
        same: dict[str, Any] = {} if stage == "resample" else {"share": default.share}
        if stage == "score":
            same["selection"] = default.selection
        return replace(self, settings=replace(self.settings, **same))


@dataclass(frozen=True)
class CircuitPiece:
    """Some rows at one stage; of resamples none are named, as they take all."""

    question: CircuitQuestion
    stage: Stage
    numbers: tuple[int, ...] = ()


def plan(question: CircuitQuestion) -> StudyPlan:
    """The rows that are scored and measured.

    Raises:
        HeadlightError: the model or the set has not what the settings need, or they ask for too much.
    """
    question = question.for_stage("score")

    def made() -> StudyPlan:
        read, settings = question.read, question.settings
        model, tokens = models.open_model(read.model), prompt_sets.tokens_of(read)
        if not settings.only_correct:
            return plan_study(model, tokens, settings)
        pieces = prompt_sets.performance_pieces(read, settings.metric)
        correct = [number for piece in pieces for number in prompt_sets.do_performance(piece).correct_numbers]
        return plan_study(model, tokens, settings, correct)

    return runs.keep(("circuit plan", question), made)


def pieces_of(question: CircuitQuestion, stages: Sequence[Stage] = STAGES) -> tuple[CircuitPiece, ...]:
    """The work in pieces, each quick, in the order in which they need one another.

    Raises:
        HeadlightError: as `plan`.
    """
    planned, pieces = plan(question), list[CircuitPiece]()
    for stage in stages:
        staged = question.for_stage(stage)
        if stage == "resample":
            pieces.append(CircuitPiece(staged, stage))
            continue
        rows = planned.train if stage == "score" else planned.held_out
        each = _seconds(staged, stage, rows) / len(rows)
        parts = prompt_sets.in_pieces(rows, each)
        pieces += [CircuitPiece(staged, stage, tuple(row.number for row in part)) for part in parts]
    return tuple(pieces)


def seconds(pieces: Sequence[CircuitPiece]) -> float:
    """How long these are estimated to take."""
    total = 0.0
    for piece in pieces:
        planned, numbers = plan(piece.question), set(piece.numbers)
        rows = [row for row in (*planned.train, *planned.held_out) if row.number in numbers]
        total += _seconds(piece.question, piece.stage, rows)
    return total


def _seconds(question: CircuitQuestion, stage: Stage, rows: Sequence[TokenRow]) -> float:
    cfg = models.open_model(question.read.model).cfg  # by its shapes alone, so that the pieces are the same each time
    if stage == "resample":
        n_senders = 1 + cfg.n_layers * (cfg.n_heads + 1)
        return RESAMPLE_SECONDS * n_senders**2
    passes = score_passes(cfg, question.settings) if stage == "score" else measure_passes()
    return passes * sum(cost(cfg, len(row.clean)).seconds for row in rows)


def do(piece: CircuitPiece) -> Any:
    """What comes of a piece; the cache keeps it.

    Raises:
        HeadlightError: the model cannot be run.
    """
    made = {"score": _score, "measure": _measure, "resample": _resample}[piece.stage]
    return runs.keep(("circuit", piece), lambda: made(piece))


def _score(piece: CircuitPiece) -> EdgeScores:
    planned, model = _with_means(piece.question), models.open_model(piece.question.read.model)
    return score_rows(models.on_device(model), planned, _rows(planned.train, piece), runs.HOST)


def _measure(piece: CircuitPiece) -> Evaluation:
    planned, model = _with_means(piece.question), models.open_model(piece.question.read.model)
    circuits = _circuits(piece.question)
    return measure_rows(models.on_device(model), planned, circuits, _rows(planned.held_out, piece), runs.HOST)


def _resample(piece: CircuitPiece) -> tuple[Any]:
    """How sure the circuit is, as one of a tuple: of few rows it is None, which the cache would take for nothing."""
    with runs.turn():
        return (resample(piece.question.settings, scores(piece.question)),)


def _rows(rows: Sequence[TokenRow], piece: CircuitPiece) -> list[TokenRow]:
    wanted = set(piece.numbers)
    return [row for row in rows if row.number in wanted]


def _with_means(question: CircuitQuestion) -> StudyPlan:
    """The plan with the means of its baseline, which are of all rows that are scored."""
    question = question.for_stage("score")

    def made() -> StudyPlan:
        with runs.turn():
            return with_means(models.on_device(models.open_model(question.read.model)), plan(question), runs.HOST)

    return runs.keep(("circuit means", question), made)


def scores(question: CircuitQuestion) -> EdgeScores:
    """The scores of all rows; what the cache has lost is scored again."""
    return join_scores([do(piece) for piece in pieces_of(question, ("score",))])


def _circuits(question: CircuitQuestion) -> list[UnitMask]:
    """The circuits of all sizes."""
    question = question.for_stage("measure")
    return runs.keep(
        ("circuits by share", question),
        lambda: circuits_by_share(scores(question), SHARES, question.settings.selection),
    )


def is_done(piece: CircuitPiece) -> bool:
    """Whether a piece is done."""
    return runs.kept(("circuit", piece)) is not None


def known(question: CircuitQuestion, others: Mapping[str, EdgeMask]) -> CircuitStudy | None:
    """The study, if every piece of it is done.

    Raises:
        HeadlightError: the prompts' mean metric is the baseline's.
    """
    if not all(map(is_done, pieces_of(question))):
        return None
    return whole(question, others)


def whole(question: CircuitQuestion, others: Mapping[str, EdgeMask]) -> CircuitStudy:
    """The study; what the cache has lost in the meantime is made again.

    Raises:
        HeadlightError: as `plan`, or the prompts' mean metric is the baseline's.
    """
    settings = replace(plan(question), settings=question.settings)
    evaluation = join_evaluations([do(piece) for piece in pieces_of(question, ("measure",))])
    (sure,) = do(CircuitPiece(question.for_stage("resample"), "resample"))
    return assemble_study(settings, scores(question), evaluation, sure, others)


def is_study(folder: str) -> bool:
    """Whether a folder that may be opened here holds what the command has made of a circuit."""
    return bool(folder) and models.any_model_allowed() and circuit_results.is_study(Path(folder).expanduser())


def study_in(folder: str, model_name: str) -> StudyResults:
    """What the command has written of a model's circuit into a folder.

    Raises:
        HeadlightError: it is of another model, not finished, or damaged.
    """
    path = Path(folder).expanduser()
    stamp = tuple(sorted((each.name, each.stat().st_mtime_ns) for each in path.iterdir()))
    cfg = models.open_model(model_name).cfg
    return runs.keep(("circuit folder", folder, stamp, model_name), lambda: circuit_results.read_study(path, cfg))


def circuit(question: CircuitQuestion) -> EdgeMask | None:
    """The edges of a circuit to compare with, if its rows are scored."""
    if not all(map(is_done, pieces_of(question, ("score",)))):
        return None

    def made() -> EdgeMask:
        scored = scores(question)
        return unit_mask(scored.wires, chosen_units(question.settings, scored), scored.unit).edges

    return runs.keep(("circuit's edges", question), made)


def add_file(name: str, data: bytes, model_name: str) -> str:
    """Read an uploaded circuit, and list it for this session; return its name.

    Raises:
        HeadlightError: it is no circuit of this model.
    """
    if PurePath(name).suffix.lower() not in SUFFIXES:
        raise InputError(f"The name ends in {PurePath(name).suffix!r}; circuits end in {' or '.join(SUFFIXES)}.")
    read_file(name, data, model_name)
    key = f"{PurePath(name).name}{MARK}{hashlib.sha256(data).hexdigest()[:12]}"
    _files().get(key, lambda: data)
    names: list[str] = st.session_state.setdefault(FILES, [])
    if key not in names:
        names.append(key)
    return key


def files() -> dict[str, str]:
    """The session's uploaded circuits that are still open: what they are called, by name."""
    keys = st.session_state.get(FILES, [])
    return {key: title_of(key) for key in keys if _files().peek(key) is not None}


def title_of(key: str) -> str:
    """What an uploaded circuit is called."""
    return key.partition(MARK)[0][:80]


def opened_file(key: str, model_name: str) -> CircuitFile:
    """An uploaded circuit.

    Raises:
        HeadlightError: it is not open on this server, or of another model.
    """
    data: bytes | None = _files().find(key)
    name = title_of(key)
    if data is None:
        raise InputError(f"The circuit {name!r} is not open on this server. Upload its file again.")
    return runs.keep(("circuit file", key, model_name), lambda: read_file(name, data, model_name))


def read_file(name: str, data: bytes, model_name: str) -> CircuitFile:
    """A circuit of EAP-IG's or MIB's, of its bytes.

    Raises:
        HeadlightError: it is no circuit of this model.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / PurePath(name).name
        path.write_bytes(data)
        return read_circuit(path, models.open_model(model_name).cfg)


def file_of(study: CircuitStudy, model_name: str, suffix: str) -> bytes:
    """The circuit as EAP-IG and MIB write it.

    Raises:
        HeadlightError: it cannot be written.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"circuit{suffix}"
        write_circuit(path, as_file(study), models.open_model(model_name).cfg)
        return path.read_bytes()


@lru_cache(1)
def _files() -> ByteCache:
    return ByteCache(MAX_FILE_BYTES, len)
