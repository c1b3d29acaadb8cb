"""What the heads of a model do, found a sequence at a time: on random tokens that come twice, or on prompts.

Each sequence is a run of its own, so that the work can be shown and stopped, and never takes more than a run. What
comes of it is in the cache of runs under the sequence's name, which says everything.
"""

from headlight.app.analyses.detection.ablating import (
    AblationJob,
    ablate,
    ablating_seconds,
    ablation_jobs,
    effect_differences,
    effects,
    every_effect,
    losses_of,
    supported_labels,
)
from headlight.app.analyses.detection.looking import detected, differences, look, looking_seconds, seen
from headlight.app.analyses.detection.sequences import Input, Repeats, half_of, most_half, repeats
from headlight.app.analyses.detection.weights import copying
from headlight.model.roles.ablating import ABLATIONS, Effects, verdict
from headlight.model.roles.looking import Detected
from headlight.model.roles.sequences import edits_anywhere

__all__ = [
    "ABLATIONS",
    "AblationJob",
    "Detected",
    "Effects",
    "Input",
    "Repeats",
    "ablate",
    "ablating_seconds",
    "ablation_jobs",
    "copying",
    "detected",
    "differences",
    "do",
    "edits_anywhere",
    "effect_differences",
    "effects",
    "every_effect",
    "half_of",
    "look",
    "looking_seconds",
    "losses_of",
    "most_half",
    "repeats",
    "seen",
    "supported_labels",
    "verdict",
]


def do(job: Input | AblationJob) -> None:
    """Do a job; what comes of it is in the cache.

    Raises:
        HeadlightError: it cannot be done.
    """
    if isinstance(job, Input):
        look(job)
    else:
        ablate(job)
