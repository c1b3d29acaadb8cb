"""The files that each session has seen a model of, so that it can be notified when they change."""

from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headlight.app.runs import models, stamps
from headlight.app.runs.stamps import Stamps
from headlight.model.base.errors import CheckpointError
from headlight.model.checkpoints.tensors import listed


class ModelChangedError(CheckpointError):
    """A model's files have changed since the session saw results of it; raised once, then the session goes on."""


def check(name: str, closed: list[str]) -> None:
    """Compare a model's files with those from which this session has seen results.

    `closed` are those for which the model has just been closed.

    Raises:
        ModelChangedError: they are others; once, since they are then compared with the current ones.
    """
    before = _seen().pop(name, {})
    if files := closed or stamps.changed_on_disk(before):
        raise ModelChangedError(
            f"{Path(models.base_name(name)).name} was closed: {listed(files)} changed on disk or disappeared since it "
            "was opened. Results now come from the current files."
        )
    _seen()[name] = models.stamps_when_opened(name) or before


def note(name: str) -> None:
    """Keep from which files a model is open, of which this session is about to see something."""
    _seen()[name] = models.stamps_when_opened(name)


def _seen() -> dict[str, Stamps]:
    """The files of each model, for this session; outside of a session none."""
    in_session = get_script_run_ctx(suppress_warning=True) is not None
    return st.session_state.setdefault("models_seen", {}) if in_session else {}
