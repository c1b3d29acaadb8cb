"""Every head's statistics over many prompts, as jobs."""

from collections.abc import Sequence

from headlight.app.runs import jobs, runs
from headlight.app.runs.jobs import Jobs
from headlight.model.text.chat import Begin

Inputs = tuple[str, str, Begin]
"""A model's name, a prompt, and whether it begins with a BOS token: what `runs.head_statistics` takes."""


def current() -> Jobs:
    """What the session has asked for over its list of prompts."""
    return jobs.of("prompts")


def unknown(wanted: Sequence[Inputs]) -> list[Inputs]:
    """Those whose statistics are not known yet."""
    return [inputs for inputs in wanted if runs.head_statistics_or_none(*inputs) is None]


def do(inputs: Inputs) -> None:
    """Run one prompt, for its statistics."""
    runs.head_statistics(*inputs)
