"""Tables of head roles: every head's scores and labels, and the effects of ablating heads."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.former_names import former_keywords
from headlight.model.measure import Measure
from headlight.model.measure.difference import DIFFERENCE, subtract, with_difference
from headlight.model.nn.transformer import Transformer
from headlight.model.roles import ablating, looking, sequences
from headlight.model.roles.ablating import ABLATIONS, Effects, Losses
from headlight.model.roles.copying import copying
from headlight.model.roles.detectors import KINDS, Estimate, Kind, ranks
from headlight.model.roles.looking import Detected, Seen
from headlight.model.runs.edits import Edit, Head, head_name
from headlight.model.runs.tables import Row, Tables, columns, number
from headlight.model.text.chat import Begin

HEADING = ("run", "score", "head", "mean", "95% from", "95% to", "rank")
LABELS = ("run", "head", "label", "ablation on repeats")
ABLATED = ("run", "head", "ablated by", "change of loss (nats)", "95% from", "95% to")
TITLES: dict[Kind, str] = {
    "induction": "Induction",
    "previous_token": "Previous token",
    "duplicate_token": "Same token",
    "first_token": "First token",
    "current_token": "Current token",
    "local_window": "Local window",
    "punctuation": "Punctuation",
}
COPYING = "Copying (OV)"

Ends = tuple[Float[Tensor, "layer head"], Float[Tensor, "layer head"], Float[Tensor, "layer head"]]


@dataclass(frozen=True, eq=False)
class Roles:
    """Scores and ablation effects of the heads of one side.

    `seen` are their scores on sequences, by number, so that those of two sides find each other; `losses` are those on
    every random repeat, of the heads that were ablated.
    """

    seen: Mapping[int, Seen]
    losses: Mapping[Head, Sequence[Losses]]
    copying: Measure

    @cached_property
    def detected(self) -> Detected:
        """Every head over all sequences."""
        known = looking.detected(self.seen.values())
        if known is None:
            raise InputError("There is nothing to look at the heads on.")
        return known

    @cached_property
    def effects(self) -> dict[Head, Effects]:
        """Effects of ablating each of the heads."""
        return {head: ablating.effects(losses) for head, losses in self.losses.items()}


def head_roles(
    model: Transformer,
    looked_at: Mapping[int, sequences.Sequence],
    repeats: Sequence[sequences.Sequence] = (),
    ablated: Sequence[Head] = (),
) -> Roles:
    """Scores of a model's heads on some sequences, and effects of ablating some of them on random repeats.

    Raises:
        HeadlightError: an edit that the model does not allow.
    """
    seen = {number: looking.look_at(sequence) for number, sequence in looked_at.items()}
    losses = {
        head: [ablating.ablation_losses(repeat, [head])[head] for repeat in repeats] for head in ablated if repeats
    }
    return Roles(seen, losses, copying(model))


@former_keywords(half="repeat_length")
def head_tables(
    model: Transformer,
    model_b: Transformer | None = None,
    edits_b: tuple[Edit, ...] = (),
    prepend_bos: Begin = True,
    seed: int = 0,
    count: int = 10,
    repeat_length: int = 25,
    prompts: Mapping[str, Mapping[int, str]] | None = None,
    ablated: Mapping[str, Sequence[Head]] | None = None,
) -> Tables:
    """Detect the roles of all heads, such as induction, on repeated random tokens or on prompts.

    Args:
        model: model A.
        model_b: model B to compare with; by default A where there are `edits_b`.
        edits_b: edits of B's runs.
        prepend_bos: how sequences begin.
        seed: of the random tokens.
        count: number of random sequences.
        repeat_length: number of random tokens, each sequence has them twice.
        prompts: prompts to use in place of random tokens, by side and number.
        ablated: heads to ablate on the random repeats, by side.

    Raises:
        HeadlightError: a prompt or an edit that the model does not allow, or a context too short for repeats.
    """
    sides = {"A": (model, ())} if model_b is None else {"A": (model, ()), "B": (model_b, edits_b)}
    roles = {}
    for side, (each, edits) in sides.items():
        drawn = range(count if sequences.fitting_repeat_length(each, prepend_bos, repeat_length) else 0)
        repeats = [sequences.random_repeat(each, prepend_bos, seed, number, repeat_length, edits) for number in drawn]
        looked_at = dict(enumerate(repeats))
        if prompts is not None:
            texts = prompts[side].items()
            looked_at = {number: sequences.prompt(each, text, prepend_bos, edits) for number, text in texts}
        roles[side] = head_roles(each, looked_at, repeats, (ablated or {}).get(side, ()))
    return role_tables(roles)


def role_tables(sides: Mapping[str, Roles]) -> Tables:
    """Tables of the results for A's heads, or for A's and B's."""
    labels = (
        (side, head_name(head), TITLES[kind], ablating.verdict(kind, roles.effects.get(head, {})))
        for side, roles in sides.items()
        for head, kinds in roles.detected.labels.items()
        for kind in kinds
    )
    return {
        "scores": columns(HEADING, _scores(sides)),
        "labels": columns(LABELS, labels),
        "ablations": columns(ABLATED, _ablations(sides)),
    }


def _scores(sides: Mapping[str, Roles]) -> Iterator[Row]:
    """Every head that has a score, with its interval and rank; changes are ranked by their size."""
    for kind in KINDS:
        by_side = {side: _ends(roles.detected.scores[kind]) for side, roles in sides.items()}
        if "B" in sides:
            by_side[DIFFERENCE] = _change(sides["A"], sides["B"], kind)
        for side, ends in by_side.items():
            yield from _score_rows(side, TITLES[kind], ends)
    copies = with_difference({side: roles.copying for side, roles in sides.items()})
    for side, measure in copies.items():
        yield from _score_rows(side, COPYING, _without_interval(measure))


def _ends(estimate: Estimate) -> Ends:
    return estimate.mean.values, estimate.low.values, estimate.high.values


def _without_interval(measure: Measure) -> Ends:
    absent = torch.full_like(measure.values, torch.nan)
    return measure.values, absent, absent


def _change(a: Roles, b: Roles, kind: Kind) -> Ends:
    """B - A over the sequences of both; without an interval where these have none in common."""
    both = [(a.seen[number], b.seen[number]) for number in a.seen if number in b.seen]
    if (estimate := looking.differences(both, kind)) is not None:
        return _ends(estimate)
    return _without_interval(subtract(a.detected.scores[kind].mean, b.detected.scores[kind].mean))


def _score_rows(side: str, title: str, ends: Ends) -> Iterator[Row]:
    mean = ends[0]
    order = ranks(Measure(title, "share", ("layer", "head"), mean.abs() if side == DIFFERENCE else mean)).values
    for layer, head in mean.isfinite().nonzero().tolist():
        values = (number(float(each[layer, head])) for each in ends)
        yield (side, title, head_name((layer, head)), *values, int(order[layer, head]))


def _ablations(sides: Mapping[str, Roles]) -> Iterator[Row]:
    by_side = {side: roles.effects for side, roles in sides.items()}
    if "B" in sides:
        a, b = (sides[side].losses for side in "AB")
        both = [head for head in a if head in b]
        by_side[DIFFERENCE] = {head: ablating.effect_differences(zip(a[head], b[head], strict=True)) for head in both}
    for side, effects in by_side.items():
        for head, by_mode in effects.items():
            for mode in ABLATIONS:
                each = by_mode[mode]
                values = (number(float(end.values)) for end in (each.mean, each.low, each.high))
                yield side, head_name(head), mode, *values
