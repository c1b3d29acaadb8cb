"""Studies of directions on the server: sets that are offered, what is known of a question, and its files as bytes."""

import hashlib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from headlight.app.runs import models, prompt_sets, runs
from headlight.app.runs.cost import cost_of
from headlight.app.runs.limits import GIB, ByteCache
from headlight.app.runs.prompt_sets import KnownSet, ReadSet
from headlight.model.base.errors import InputError
from headlight.model.directions.dosing import FACTORS, MAX_DOSE_ROWS, Where
from headlight.model.directions.files import open_direction, save_direction
from headlight.model.directions.finding import Method
from headlight.model.directions.sets import shipped_sets
from headlight.model.directions.study import DirectionSettings, study_direction, study_dose
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.direction import MARK, Direction
from headlight.model.runs.run import Run
from headlight.model.text.chat import Begin

MAX_BYTES = GIB // 8  # of uploaded sets
MAX_ROWS = 2000
ANSWER = "answer"
SETS = "directions.sets"  # of the session
PROMPT_TOKENS = 16  # of a prompt, for an estimate
FIT_SECONDS: dict[Method, float] = {"difference": 0.0003, "pca": 0.002, "logistic": 0.02}


@dataclass(frozen=True)
class StudyQuestion:
    """A study by name: the model, the set, and how the direction is found and tested."""

    model: str
    bos: Begin
    known: KnownSet
    settings: DirectionSettings


@dataclass(frozen=True)
class DoseQuestion:
    """A dose curve by name: of a study, before a layer, at which tokens, with a neutral text."""

    study: StudyQuestion
    layer: int
    where: Where
    neutral: tuple[str, ...]


Question = StudyQuestion | DoseQuestion


def add_set(name: str, data: bytes, columns: str = "") -> str:
    """Read an uploaded set of prompts, and list it for this session; return its name.

    Raises:
        InputError: the file holds none; the message names the row.
    """
    prompts = replace(prompt_sets.uploaded(name, data, columns), name=PurePath(name).stem)
    key = f"{name}{MARK}{hashlib.sha256(data).hexdigest()[:12]}"
    known = _of_a_size(prompt_sets.known(_with_classes(prompts)))
    _uploaded().get(key, lambda: known)
    names: list[str] = st.session_state.setdefault(SETS, [])
    if key not in names:
        names.append(key)
    return key


def _of_a_size(known: KnownSet) -> KnownSet:
    if (n_rows := len(known.prompt_set.rows)) > MAX_ROWS:
        raise InputError(
            f"The set {known.prompt_set.name} has {n_rows:,} rows; this page takes at most {MAX_ROWS:,}. Give a part "
            "of it, or call direction_tables of headlight.model, which takes more."
        )
    return known


def _with_classes(prompts: PromptSet) -> PromptSet:
    """The set; one that has neither labels nor corrupted prompts, with its answers as a column of labels."""
    if prompts.label_names or any(row.corrupted is not None or len(row.answers) != 1 for row in prompts.rows):
        return prompts
    rows = (replace(row, labels={ANSWER: str(row.answers[0]).strip()}) for row in prompts.rows)
    return replace(prompts, rows=tuple(rows))


def offered() -> dict[str, str]:
    """The sets on offer, by name with what each is called: labelled ones, the session's, and pairs of prompts."""
    uploaded = [key for key in st.session_state.get(SETS, []) if _uploaded().find(key) is not None]
    return {
        **{name: name for name in shipped_sets()},
        **{key: key.partition(MARK)[0] for key in uploaded},
        **prompt_sets.offered(),
    }


def set_of(name: str) -> KnownSet:
    """A set by name: on offer, uploaded, or any file, folder or data set of the hub where that is allowed.

    Raises:
        HeadlightError: it is not there, as an upload after a restart, or cannot be read.
    """
    if name in shipped_sets():
        return _shipped(name)
    if MARK not in name:
        known = prompt_sets.named(name, "")
        return _of_a_size(prompt_sets.known(_with_classes(known.prompt_set)))
    known = _uploaded().find(name)
    if known is None:
        raise InputError(
            f"{name.partition(MARK)[0][:80]!r} is not open on this server. Upload the prompts again, or open the "
            "direction's file again."
        )
    return known


@cache
def _shipped(name: str) -> KnownSet:
    return prompt_sets.known(shipped_sets()[name])


def first_for(run: Run) -> str:
    """The first set that comes with the project of which a model can use half the rows; empty where there is none."""
    return next((name for name in (*shipped_sets(), *prompt_sets.offered()) if _is_usable(name, run)), "")


def _is_usable(name: str, run: Run) -> bool:
    tokens = prompt_sets.tokens_of(ReadSet(run.source.name, run.bos, set_of(name)))
    return len(tokens.rows) >= len(tokens.refused)


@lru_cache(1)
def _uploaded() -> ByteCache:
    return ByteCache(MAX_BYTES, lambda known: 500 * len(known.prompt_set.rows))


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
    study_question = question.study if isinstance(question, DoseQuestion) else question
    runs.check_unchanged(study_question.model)
    model = models.open_model(study_question.model)
    if isinstance(question, StudyQuestion):
        return study_direction(
            model, study_question.known.prompt_set, study_question.settings, study_question.bos, host=runs.HOST
        )
    study = answer(study_question)
    return study_dose(
        model,
        study,
        question.layer,
        where=question.where,
        neutral=question.neutral,
        bos=study_question.bos,
        host=runs.HOST,
    )


def seconds(question: Question, run: Run) -> float:
    """About how long a question takes, from the costs of its passes and fits."""
    study_question = question.study if isinstance(question, DoseQuestion) else question
    n_rows = len(study_question.known.prompt_set.rows)
    one = cost_of(run.model)(PROMPT_TOKENS).seconds
    if isinstance(question, DoseQuestion):
        n_factors = len(FACTORS)
        passes = min(n_rows, MAX_DOSE_ROWS) * (2 * n_factors + 1)
        neutral = sum(cost_of(run.model)(max(1, len(text) // 4)).seconds for text in question.neutral)
        return one * passes + neutral * n_factors
    fits = (run.cfg.n_layers + 1) * study_question.settings.folds * (1 + study_question.settings.draws)
    return one * n_rows + fits * FIT_SECONDS[study_question.settings.method]


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
