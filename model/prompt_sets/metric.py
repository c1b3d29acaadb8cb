"""What is measured of the logits at the end of a prompt."""

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.checks import check_choice
from headlight.model.base.errors import InputError
from headlight.model.prompt_sets.encoding import TokenRow

Metric = Literal["logit_diff", "prob_diff"]
METRICS: tuple[Metric, ...] = get_args(Metric)


def metric(
    logits: Float[Tensor, "row d_vocab"], rows: Sequence[TokenRow], kind: Metric = "logit_diff"
) -> Float[Tensor, " row"]:
    """How much more the answers are expected than the wrong answers, for each row; differentiable.

    Args:
        logits: the logits at each row's end.
        rows: the rows, each with at least one answer.
        kind: "logit_diff" is the answers' mean logit less the wrong answers', or less the mean of all logits where
            there are none; "prob_diff" is the answers' summed probability less the wrong answers'.

    Raises:
        InputError: a row has no answer.
    """
    check_choice("The metric", kind, METRICS)
    if empty := [row.number for row in rows if not row.answers]:
        raise InputError(f"Row {empty[0]} has no answer, so that nothing can be measured. Give one, or leave it out.")
    values = logits if kind == "logit_diff" else logits.softmax(-1)
    right, wrong = _sums(values, [row.answers for row in rows]), _sums(values, [row.wrong_answers for row in rows])
    if kind == "prob_diff":
        return right - wrong
    n_right, n_wrong = (
        torch.tensor(counts, device=logits.device)
        for counts in ([len(row.answers) for row in rows], [len(row.wrong_answers) for row in rows])
    )
    others = wrong / n_wrong.clamp(min=1)
    if (n_wrong == 0).any():
        others = torch.where(n_wrong == 0, logits.mean(-1), others)
    return right / n_right - others


def _sums(values: Float[Tensor, "row d_vocab"], outputs: Sequence[Sequence[int]]) -> Float[Tensor, " row"]:
    """The sum over each row's own outputs."""
    rows = [row for row, chosen in enumerate(outputs) for _ in chosen]
    chosen = [output for row in outputs for output in row]
    at = torch.tensor(rows, device=values.device, dtype=torch.long)
    picked = values[at, torch.tensor(chosen, device=values.device, dtype=torch.long)]
    return values.new_zeros(len(outputs)).index_add(0, at, picked)
