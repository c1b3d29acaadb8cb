"""What the heads of a model do, found a sequence at a time: on random tokens that come twice, or on prompts.

Each sequence is a run of its own, so that the work can be shown and stopped, and never takes more than a run. What
comes of it is in the cache of runs under the sequence's name, which says everything.
"""

from app.detection.ablating import (
    ABLATIONS,
    AblationJob,
    Effects,
    ablate,
    ablating_seconds,
    ablation_jobs,
    effect_differences,
    effects,
    every_effect,
    supported_labels,
    verdict,
)
from app.detection.looking import Detected, Seen, detected, differences, look, looking_seconds, seen
from app.detection.sequences import SHORTEST, Fed, Repeats, edits_anywhere, half_of, most_half, repeats
from app.detection.weights import copying

__all__ = [
    "ABLATIONS",
    "SHORTEST",
    "AblationJob",
    "Detected",
    "Effects",
    "Fed",
    "Repeats",
    "Seen",
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
    "most_half",
    "repeats",
    "seen",
    "supported_labels",
    "verdict",
]


def do(job: Fed | AblationJob) -> None:
    """Do a job; what comes of it is in the cache.

    Raises:
        HeadlightError: it cannot be done.
    """
    if isinstance(job, Fed):
        look(job)
    else:
        ablate(job)
