"""Direct effect of each active feature on the difference of two logits."""

from dataclasses import dataclass

import torch

from headlight.model.attribution import direct_effects
from headlight.model.attribution.logits import Question, read_of
from headlight.model.attribution.parts import Part, stream_at
from headlight.model.features.effects import feature_parts, layer_after, strongest
from headlight.model.features.single_feature import direction_of
from headlight.model.measure import Measure
from headlight.model.runs.dictionary import Dictionary
from headlight.model.runs.host import kept
from headlight.model.runs.linear import check_reading
from headlight.model.runs.run import Run


@dataclass(frozen=True, eq=False)
class Carried:
    """Each active feature's direct effect on target minus distractor at a position (logits).

    `parts` and `values` [part] are the active features, the most active first. Of a stream between layers they are
    followed by the decoder's bias and the dictionary's error, and together are what that stream adds; `whole` says
    whether they do.
    """

    parts: tuple[Part, ...]
    values: Measure
    whole: bool

    def strongest(self, count: int) -> list[int]:
        """The features with the largest effects, whichever their sign."""
        order = self.values.values.abs().argsort(descending=True, stable=True).tolist()
        features = (self.parts[slot].feature for slot in order)
        return [feature for feature in features if feature is not None][:count]


@kept
@torch.inference_mode()
def carried(run: Run, dictionary: Dictionary, question: Question) -> Carried | None:
    """Features' direct effects on a logit difference at the run's final scale; None where they write to no stream.

    Raises:
        InputError: the model's logits are no sums over what wrote to the stream.
    """
    check_reading(run.model)
    read, stream = read_of(run, question), stream_at(run, question.position)
    if layer_after(dictionary) is not None:
        stream_parts = feature_parts(run, dictionary, question.position)
        parts, vectors, whole = stream_parts.parts, stream_parts.vectors, True
    else:
        features, acts = strongest(run, dictionary, question.position)
        rows = [direction_of(run, dictionary, each) for each in features]
        directions = [row for row in rows if row is not None]
        if len(directions) < max(1, len(features)):
            return None
        parts, whole = tuple(Part(f"feature {each}", dictionary.layer, feature=each) for each in features), False
        vectors = torch.stack(directions) * acts[:, None]
    return Carried(parts, direct_effects.direct_effects(vectors, stream, read.norm, read.direction), whole)
