"""Every head's statistics over many prompts, in slices that leave the page free to be used, and to stop, in between."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from app import runs
from app.limits import BusyError
from model.errors import HeadlightError

SLICE_SECONDS = 0.5  # so long, and one prompt longer at most, until a click is heard

Inputs = tuple[str, str, bool]
"""A model's name, a prompt, and whether the beginning-of-sequence token is fed: what `runs.head_statistics` takes."""


@dataclass
class Batch:
    """What a session has asked for over its list of prompts.

    `waiting` are the inputs still to be run; `refused` says why others cannot be; `halted` says why the batch itself
    came to an end before it was through.
    """

    waiting: tuple[Inputs, ...] = ()
    total: int = 0
    refused: dict[Inputs, str] = field(default_factory=dict)
    halted: str = ""

    @property
    def done(self) -> int:
        """How many inputs of this batch have been run or refused."""
        return self.total - len(self.waiting)


def current() -> Batch:
    """The session's batch."""
    if "batch" not in st.session_state:
        st.session_state["batch"] = Batch()
    return st.session_state["batch"]


def start(wanted: Sequence[Inputs]) -> None:
    """Run those whose statistics are not known yet, each once."""
    batch = current()
    new = [inputs for inputs in dict.fromkeys(wanted) if runs.known_head_statistics(*inputs) is None]
    batch.waiting = tuple(inputs for inputs in new if inputs not in batch.refused)
    batch.total, batch.halted = len(batch.waiting), ""


def stop() -> None:
    """Run no more; what was run stays."""
    current().waiting = ()


def step() -> None:
    """Run what is waiting for one slice of time; what cannot be run is noted, and the rest goes on."""
    batch, end = current(), time.monotonic() + SLICE_SECONDS
    while batch.waiting:
        inputs, *rest = batch.waiting
        batch.waiting = tuple(rest)
        try:
            runs.head_statistics(*inputs)
        except BusyError as error:
            batch.waiting, batch.halted = (), str(error)
            return
        except HeadlightError as error:
            batch.refused[inputs] = str(error)
        if time.monotonic() >= end:
            return
