"""Receiver heads: those whose attention from afar goes to a few sentences of a text, and which sentences these are.

Source: Bogdan, Macar, Nanda and Conmy 2025, "Thought Anchors: Which LLM Reasoning Steps Matter?".
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headlight.model.attention.axis import Group, Unit, grouping
from headlight.model.attention.folding import sums
from headlight.model.attention.vertical_scores import PROXIMITY, kurtosis, vertical_scores
from headlight.model.measure import Measure
from headlight.model.runs.edits import Head
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.run import Run

N_RECEIVERS = 20  # heads over which a sentence's score is averaged, as in the paper
MIN_SENTENCES = 2 * PROXIMITY  # of which half have a score


@dataclass(frozen=True, eq=False)
class ReceiverHeads:
    """Vertical score of every sentence in every head (NaN where it has none), and each head's kurtosis over them."""

    vertical: Measure
    kurtosis: Measure

    def most_read(self, head: Head) -> int:
        """The sentence of the head's highest vertical score."""
        return int(self.vertical.values[head].nan_to_num(-torch.inf).argmax())

    @property
    def ranked(self) -> list[Head]:
        """The heads by kurtosis, highest first; without those of equal scores, which have none."""
        values = self.kurtosis.values.flatten()
        order = values.nan_to_num(-torch.inf).argsort(descending=True, stable=True)
        known = int(values.isfinite().sum())
        return [divmod(index, self.kurtosis.values.shape[1]) for index in order[:known].tolist()]

    @property
    def receivers(self) -> list[Head]:
        """The heads of the highest kurtosis."""
        return self.ranked[:N_RECEIVERS]

    @property
    def mean(self) -> Float[Tensor, " sentence"]:
        """Each sentence's vertical score, averaged over the receiver heads."""
        layers, heads = zip(*self.receivers, strict=True) if self.receivers else ((), ())
        return self.vertical.values[list(layers), list(heads)].mean(0)


def no_receiver_heads(run: Run, unit: Unit) -> str:
    """Why there are no vertical scores, where there are none; a sentence for the user."""
    if unit not in ("sentence", "turn"):
        return "Group the tokens by sentences or turns for vertical scores."
    if (n_texts := len(_text_units(run, unit)[0])) < MIN_SENTENCES:
        return f"Vertical scores need at least {MIN_SENTENCES} {unit}s; this text has {n_texts}."
    return ""


@kept
@torch.inference_mode()
def receiver_heads(run: Run, unit: Unit) -> ReceiverHeads:
    """Vertical scores and receiver heads of a run.

    The first token, on which many heads rest, and special tokens are left out: a sentence's score is of its other
    tokens, and one without others is not counted.
    """
    (units, group), steps, scores = _text_units(run, unit), Steps(run.host, run.cfg.n_layers), list[Tensor]()
    n_units = int(grouping(run, unit)[-1]) + 1
    for layer in range(run.cfg.n_layers):  # each kept by itself: who breaks off goes on from there
        of_layer = partial(_scores_in_layer, run, layer, units, group, n_units)
        scores.append(run.keep(("vertical scores", unit, layer), of_layer))
        steps.add()
    vertical = torch.stack(scores)
    return ReceiverHeads(
        Measure("vertical score", "probability", ("layer", "head", "sentence"), vertical),
        Measure("kurtosis of vertical scores", "value", ("layer", "head"), kurtosis(vertical)),
    )


def _scores_in_layer(
    run: Run, layer: int, units: Int[Tensor, " text_unit"], group: Group, n_units: int
) -> Float[Tensor, "head sentence"]:
    """Vertical scores of all units in a layer's heads; NaN for those without text."""
    of_texts = vertical_scores(mean_weights(run, layer, group)[:, :-1, :-1])
    return of_texts.new_full((len(of_texts), n_units), torch.nan).index_copy_(1, units, of_texts)


def mean_weights(run: Run, layer: int, group: Group) -> Float[Tensor, "head unit unit"]:
    """Mean attention weight of each unit's tokens on each unit's tokens; a masked cell counts as 0."""
    sizes = group.bincount()
    return sums(run, layer, group) / sizes[:, None] / sizes


def _text_units(run: Run, unit: Unit) -> tuple[Int[Tensor, " text_unit"], Group]:
    """The units that have text, and each token's among these; all other tokens are in one more, the last."""
    is_text = torch.tensor([not run.tokenizer.is_special(token) for token in run.tokens.tolist()])
    is_text[0] = False
    units, places = grouping(run, unit)[is_text].unique(return_inverse=True)
    return units, torch.full((len(is_text),), len(units)).masked_scatter(is_text, places)
