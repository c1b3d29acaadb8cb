"""Every head's statistics over many prompts, as jobs."""

from collections.abc import Sequence

from app import jobs, runs
from app.jobs import Jobs

Inputs = tuple[str, str, bool]
"""A model's name, a prompt, and whether the beginning-of-sequence token is fed: what `runs.head_statistics` takes."""


def current() -> Jobs:
    """What the session has asked for over its list of prompts."""
    return jobs.of("prompts")


def start(wanted: Sequence[Inputs]) -> None:
    """Run those whose statistics are not known yet."""
    current().start([inputs for inputs in wanted if runs.known_head_statistics(*inputs) is None])


def stop() -> None:
    """Run no more; what was run stays."""
    current().stop()


def step() -> None:
    """Run what is waiting for one slice of time."""
    current().step(lambda inputs: runs.head_statistics(*inputs))
