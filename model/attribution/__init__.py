"""Explanation of an attention cell: its score and write, the sources of a prediction, and ablations.

Everything is computed from what a run kept, but for the ablations, for which the model runs on.
"""

from headlight.model.attribution.ablation import Outcomes, Replacements, ablation_effects
from headlight.model.attribution.logits import Effects, Question, attribution_by_source, logit_attribution
from headlight.model.attribution.score import Cell, Why, explain_cell
from headlight.model.attribution.write import Written, explain_write

__all__ = [
    "Cell",
    "Effects",
    "Outcomes",
    "Question",
    "Replacements",
    "Why",
    "Written",
    "ablation_effects",
    "attribution_by_source",
    "explain_cell",
    "explain_write",
    "logit_attribution",
]
