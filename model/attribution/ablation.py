"""Causal effect on a prediction of cutting an edge or replacing a head, with the rest of the model recomputed."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.attribution.logits import Question, effects_of
from headlight.model.attribution.parts import before_cap_at, z_of
from headlight.model.attribution.resume import end_of, resume_from
from headlight.model.attribution.score import Cell
from headlight.model.measure import Measure
from headlight.model.measure.alignment import Matches
from headlight.model.measure.contrast import contrast, measured_outputs
from headlight.model.measure.likelihood import kl_divergence
from headlight.model.runs.edits.interventions import ablate_head, cut_edge
from headlight.model.runs.head import attend, head_weights
from headlight.model.runs.host import Steps, kept
from headlight.model.runs.linear import written
from headlight.model.runs.run import Run
from headlight.model.runs.stream_norms import at_the_end

CUTS = ("edge cut", "edge cut, row renormalised")
ZERO, MEAN, RESAMPLED = "head zero-ablated", "head mean-ablated", "head resample-ablated"


@dataclass(frozen=True, eq=False)
class Replacements:
    """Replacements for a head's output, besides zero.

    `other` is the run that it is resampled from, at the positions of the run and of the other that are in `matches`.
    `mean_over` are the prompts over whose positions its mean is taken; without any it is the run's own.
    """

    other: Run | None = None
    matches: Matches = ()
    mean_over: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[Hashable, ...]:
        """A hashable identity."""
        return self.other and self.other.key, tuple(self.matches), self.mean_over

    def can_resample(self, run: Run) -> bool:
        """Whether the other run has something in a head's place: the same model, and positions that match."""
        return self.other is not None and self.other.same_model(run) and bool(self.matches)


DEFAULT_REPLACEMENTS = Replacements()


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The effect of each intervention: target minus distractor (logits), and the whole distribution (nats) [variant].

    `direct` is what it changes through the final LayerNorm alone, at the run's own scale and with all else fixed;
    `total` is measured, by running the model on from there. Both are of logits before any soft cap. `top` are the
    tokens predicted then.
    """

    names: tuple[str, ...]
    direct: Measure
    total: Measure
    kl: Measure
    top: Measure


@kept
@torch.inference_mode()
def ablation_effects(
    run: Run, cell: Cell, question: Question, replacements: Replacements = DEFAULT_REPLACEMENTS
) -> Outcomes:
    """Measure how cutting the edge or ablating the head changes the prediction.

    Raises:
        HeadlightError: too many runs at once, or a prompt that the mean is over cannot be run.
    """
    own = before_cap_at(run, question.position)
    replaced = _replacements(run, cell, replacements)
    steps = Steps(run.host, (len(CUTS) + len(replaced)) * (run.cfg.n_layers - cell.layer))
    # Interventions on the whole head do not depend on the cell.
    key = "ablated", replacements.identity, cell.layer, cell.head, question.position
    ablated = run.keep(key, lambda: _ablated(run, cell, question, replaced, steps))
    logits = torch.cat([_cut(run, cell, question, own, steps), ablated])
    pair = measured_outputs(len(own), question.target, question.distractor)
    total = contrast(logits[:, pair].double() - own[pair].double())
    names = (*CUTS, *replaced)
    axes = ("variant",)
    return Outcomes(
        names,
        direct=Measure("direct effect", "logits", axes, _direct(run, cell, question, replaced)),
        total=Measure("total effect", "logits", axes, total),
        kl=kl_divergence(run.model.capped(own), run.model.capped(logits), run.cfg.multi_label),
        top=Measure("top token", "token id", axes, logits.argmax(-1)),
    )


def _replacements(run: Run, cell: Cell, replacements: Replacements) -> dict[str, Float[Tensor, "#pos d_value"]]:
    """The replacements of the head's z, by the intervention's name."""
    z = _own_z(run, cell)
    mean = z.mean(0, keepdim=True)
    if replacements.mean_over:
        over = run.host.mean_z(run.model, replacements.mean_over, run.bos)
        mean = over[cell.layer, cell.head][None].to(z)
    outputs = {ZERO: torch.zeros_like(z[:1]), MEAN: mean}
    if replacements.other is not None and replacements.can_resample(run):
        here, there = (list(positions) for positions in zip(*replacements.matches, strict=True))
        outputs[RESAMPLED] = z.clone()
        outputs[RESAMPLED][here] = _own_z(replacements.other, cell)[there]
    return outputs


def _own_z(run: Run, cell: Cell) -> Float[Tensor, "pos d_value"]:
    return z_of(run, cell.layer, list(range(len(run.tokens))))[:, cell.head]


def _direct(
    run: Run, cell: Cell, question: Question, replaced: Mapping[str, Float[Tensor, "#pos d_value"]]
) -> Float[Tensor, " variant"]:
    """The change of the head's writes where the logits are read; none if it only cut elsewhere."""
    layer, W_O = cell.layer, head_weights(run, cell.layer, cell.head).W_O

    def changed(position: int) -> Float[Tensor, "variant d_model"]:
        change = _changes(run, cell, position, replaced) @ W_O
        return at_the_end(run, layer, written(run, layer, change, position), position)

    return effects_of(run, question, changed)


def _changes(
    run: Run, cell: Cell, position: int, replaced: Mapping[str, Float[Tensor, "#pos d_value"]]
) -> Float[Tensor, "variant d_value"]:
    """By how much each intervention changes the head's z at a position."""
    z = z_of(run, cell.layer, [position])[0, cell.head]
    weight = attend(run, cell.layer, cell.head).pattern[cell.query, cell.key]
    without = z - weight * run.values_of(cell.layer, cell.head)[cell.key]
    rest = 1 - weight
    cut = [without, without / rest if rest > 0 else torch.zeros_like(z)] if cell.query == position else [z, z]
    outputs = [rows[min(position, len(rows) - 1)] for rows in replaced.values()]
    return torch.stack([*cut, *outputs]) - z


def _cut(
    run: Run, cell: Cell, question: Question, own: Float[Tensor, " d_vocab"], steps: Steps
) -> Float[Tensor, "variant d_vocab"]:
    """Logits with the edge cut; only the query and the positions after it are computed again."""
    causal = run.cfg.attention_dir == "causal"
    if causal and cell.query > question.position:
        return own.expand(2, -1)
    n_past = cell.query if causal and not run.edits else 0
    where = (cell.layer, cell.head, cell.query, cell.key)
    taps = [cut_edge(*where, renormalise=renormalise, n_past=n_past) for renormalise in (False, True)]
    return resume_from(run, cell.layer, taps, question.position, n_past, steps)


def _ablated(
    run: Run, cell: Cell, question: Question, replaced: Mapping[str, Float[Tensor, "#pos d_value"]], steps: Steps
) -> Float[Tensor, "variant d_vocab"]:
    end = end_of(run, question.position)
    outputs = [rows[:end].to(run.host.device) for rows in replaced.values()]
    taps = [ablate_head(cell.layer, cell.head, "resample", rows) for rows in outputs]
    return resume_from(run, cell.layer, taps, question.position, 0, steps)
