"""Studies of directions on the server: sets that are offered, what is known of a question, and its files as bytes."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from headlight.app.runs import models, runs
from headlight.app.runs.cost import cost_of
from headlight.app.runs.limits import GIB, ByteCache
from headlight.model.base.errors import InputError
from headlight.model.directions.dosing import FACTORS, MAX_DOSE_ROWS, Where
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.directions.finding import Method
from headlight.model.directions.sets import shipped_sets
from headlight.model.directions.study import DirectionSettings, study_direction, study_dose
from headlight.model.prompt_sets.prompt_set import PromptPair, PromptSet
from headlight.model.runs.direction import MARK, Direction
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin
from headlight.model.text.records import READERS, as_text, folded, read_records

MAX_BYTES = GIB // 8  # of uploaded sets
MAX_ROWS = 2000
HEAD = 4096  # bytes of a file that name its columns
SETS = "directions.sets"  # of the session
PROMPT_TOKENS = 16  # of a prompt, for an estimate
FIT_SECONDS: dict[Method, float] = {"difference": 0.0003, "pca": 0.002, "logistic": 0.02}


@dataclass(frozen=True)
class StudyQuestion:
    """A study by name: the model, the set, and how the direction is found and tested."""

    model: str
    bos: Begin
    prompts: str
    settings: DirectionSettings


@dataclass(frozen=True)
class DoseQuestion:
    """A dose curve by name: of a study, before a layer, at which tokens, with a neutral text."""

    study: StudyQuestion
    layer: int
    where: Where
    neutral: tuple[str, ...]


Question = StudyQuestion | DoseQuestion


def add_set(name: str, data: bytes) -> str:
    """Read an uploaded set of prompts, and list it for this session; return its name.

    Raises:
        InputError: the file holds none; the message names the row.
    """
    prompts = PromptSet(PurePath(name).stem, tuple(_pairs(name, data)))
    key = f"{name}{MARK}{hashlib.sha256(data).hexdigest()[:12]}"
    _sets().get(key, lambda: prompts)
    st.session_state.setdefault(SETS, []).append(key)
    return key


def _pairs(name: str, data: bytes) -> Iterator[PromptPair]:
    """The rows of a table with a prompt, labels and, where there are any, a corrupted prompt and answers."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in READERS:
        raise InputError(f"The name ends in {suffix!r}; files of labelled prompts end in {', '.join(READERS)}.")
    column = "clean" if b"clean" in data[:HEAD] else "prompt"
    for number, record in enumerate(record for record in read_records(data, suffix, column) if not record.is_header):
        if record.fault:
            raise InputError(f"{record.fault} Nothing of the file was taken.")
        if number >= MAX_ROWS:
            raise InputError(f"The file has more than {MAX_ROWS:,} rows; a page takes no more. Give a part of it.")
        if record.is_blank:
            continue
        row = {folded(key): as_text(value) for key, value in zip(record.names, record.values, strict=True)}
        if not row.get(column):
            raise InputError(f"{record.where} has no {column}. Name the column of the texts prompt, or clean.")
        prompt, corrupted = row.pop(column), row.pop("corrupted", "") or None
        answers = [tuple(filter(None, [row.pop(each, "")])) for each in ("answer", "wrong_answer")]
        yield PromptPair(prompt, corrupted, answers[0], answers[1], {}, row)


def sets() -> dict[str, PromptSet]:
    """The sets on offer by name: those that come with the project, and those that the session uploaded."""
    uploaded = {key: _sets().find(key) for key in dict.fromkeys(st.session_state.get(SETS, []))}
    return {**shipped_sets(), **{key: prompts for key, prompts in uploaded.items() if prompts is not None}}


def set_of(name: str) -> PromptSet:
    """A set by name.

    Raises:
        InputError: it is not there, as after a restart.
    """
    prompts: PromptSet | None = shipped_sets().get(name) or _sets().find(name)
    if prompts is None:
        raise InputError(f"The set {name.partition(MARK)[0][:80]!r} is not open on this server. Upload its file again.")
    return prompts


@lru_cache(1)
def _sets() -> ByteCache:
    return ByteCache(MAX_BYTES, lambda prompts: 500 * len(prompts.rows))


def answer_or_none(question: Question) -> Any:
    """What is known of a question; nothing is run."""
    return runs.kept(("direction", question))


def answer(question: Question) -> Any:
    """The study or the dose curve that a question is about, from the cache where it was made before.

    Raises:
        HeadlightError: the set or the model does not allow it.
    """
    return runs.keep(("direction", question), lambda: _anew(question))


def _anew(question: Question) -> Any:
    of = question.study if isinstance(question, DoseQuestion) else question
    runs.check_unchanged(of.model)
    model = models.open_model(of.model)
    if isinstance(question, StudyQuestion):
        return study_direction(model, set_of(of.prompts), of.settings, of.bos, host=runs.HOST)
    study = answer(of)
    return study_dose(
        model, study, question.layer, where=question.where, neutral=question.neutral, bos=of.bos, host=runs.HOST
    )


def seconds(question: Question, run: Run) -> float:
    """About how long a question takes, from the costs of its passes and fits."""
    of = question.study if isinstance(question, DoseQuestion) else question
    n_rows = len(set_of(of.prompts).rows)
    one = cost_of(run.model)(PROMPT_TOKENS).seconds
    if isinstance(question, DoseQuestion):
        n_factors = len(FACTORS)
        passes = min(n_rows, MAX_DOSE_ROWS) * (2 * n_factors + 1)
        neutral = sum(cost_of(run.model)(max(1, len(text) // 4)).seconds for text in question.neutral)
        return one * passes + neutral * n_factors
    fits = (run.cfg.n_layers + 1) * of.settings.folds * (1 + of.settings.draws)
    return one * n_rows + fits * FIT_SECONDS[of.settings.method]


def write(direction: Direction, suffix: str) -> bytes:
    """A direction's file as bytes.

    Raises:
        HeadlightError: it cannot be written in this format.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"direction{suffix}"
        save_direction(direction, path)
        return path.read_bytes()


def read(name: str, data: bytes) -> Direction:
    """An uploaded file's direction.

    Raises:
        HeadlightError: it holds none.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / PurePath(name).name
        path.write_bytes(data)
        return open_direction(path)
