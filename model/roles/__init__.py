"""Detection of head types on repeated random tokens or on prompts, a sequence at a time."""

from headlight.model.roles.ablating import ABLATIONS, Effects, Losses, ablation_losses, effect_differences, effects
from headlight.model.roles.copying import copying
from headlight.model.roles.looking import Detected, Seen, detected, differences, look_at
from headlight.model.roles.sequences import (
    Sequence,
    edits_anywhere,
    fitting_repeat_length,
    max_repeat_length,
    prompt,
    random_repeat,
)

__all__ = [
    "ABLATIONS",
    "Detected",
    "Effects",
    "Losses",
    "Seen",
    "Sequence",
    "ablation_losses",
    "copying",
    "detected",
    "differences",
    "edits_anywhere",
    "effect_differences",
    "effects",
    "fitting_repeat_length",
    "look_at",
    "max_repeat_length",
    "prompt",
    "random_repeat",
]
