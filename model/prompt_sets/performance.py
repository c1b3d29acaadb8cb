"""How well a model does the task of a set: the metric, the answer's rank and whether it is right, for each row."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches
from headlight.model.prompt_sets.metric import Metric, metric
from headlight.model.runs.host import HERE, Host, Steps

MAX_TOKENS = 2**13  # in one pass: enough for fast products, little enough for any memory


@dataclass(frozen=True, eq=False)
class Performance:
    """A model's answers to the rows of a set, in the set's order.

    Attributes:
        kind: the metric.
        numbers: the rows' numbers.
        clean: the metric of the clean prompts.
        corrupted: the metric of the corrupted prompts; NaN where a row has none.
        rank: the best answer's rank among all outputs for the clean prompt, from 1.
        is_correct: whether every answer's mean lead is positive (`clean` > 0) or, without wrong answers, whether an
            answer ranks first.
    """

    kind: Metric
    numbers: tuple[int, ...]
    clean: Float[Tensor, " row"]
    corrupted: Float[Tensor, " row"]
    rank: Int[Tensor, " row"]
    is_correct: Bool[Tensor, " row"]

    @property
    def accuracy(self) -> float:
        """The share of rows that are right."""
        return float(self.is_correct.double().mean())

    @property
    def mean_clean(self) -> float:
        """The mean metric of the clean prompts."""
        return float(self.clean.double().mean())

    @property
    def mean_corrupted(self) -> float:
        """The mean metric of the corrupted prompts, over the rows that have one."""
        return float(self.corrupted.double().nanmean())

    @property
    def correct_numbers(self) -> tuple[int, ...]:
        """The numbers of the rows that are right, with which `TokenSet.only` leaves out the others."""
        return tuple(number for number, right in zip(self.numbers, self.is_correct.tolist(), strict=True) if right)


@torch.inference_mode()
def performance(
    model: Transformer,
    token_set: TokenSet,
    kind: Metric = "logit_diff",
    host: Host = HERE,
) -> Performance:
    """Measure how well a model does a set; rows of one length are run together, and logits computed at the end alone.

    Args:
        model: the model.
        token_set: the set in the model's tokens, each row with an answer.
        kind: what is measured of the logits.
        host: where it is run; receives the progress in rows.

    Raises:
        InputError: a row has no answer, or the set no row that can be used.
    """
    token_set.check_usable()
    rows = token_set.rows
    place = {row.number: at for at, row in enumerate(rows)}
    clean, corrupted = torch.empty(len(rows)), torch.full((len(rows),), torch.nan)
    rank = torch.empty(len(rows), dtype=torch.long)
    longest = max(token_set.lengths)
    steps = Steps(host, len(rows))
    for batch in batches(rows, max(1, MAX_TOKENS // longest)):
        at = [place[row.number] for row in batch]
        logits = end_logits(model, [row.clean for row in batch], host)
        clean[at], rank[at] = metric(logits, batch, kind), _best_rank(logits, batch)
        prompts = [row.corrupted for row in batch if row.corrupted is not None]
        if prompts:
            corrupted[at] = metric(end_logits(model, prompts, host), batch, kind)
        steps.add(len(batch))
    has_wrong = torch.tensor([bool(row.wrong_answers) for row in rows])
    is_correct = torch.where(has_wrong, clean > 0, rank == 1)
    return Performance(kind, tuple(place), clean, corrupted, rank, is_correct)


def end_logits(
    model: Transformer, prompts: Sequence[Int[Tensor, " pos"]], host: Host = HERE
) -> Float[Tensor, "row d_vocab"]:
    """The logits at the last token of prompts of one length, in float32 on the processor."""
    with host.turn():
        runs = host.on_device(model)
        tokens = torch.stack(list(prompts)).to(host.device)
        resid = runs(tokens, stop_at_layer=runs.cfg.n_layers)
        return runs.to_logits(runs.read_from(resid, tokens.shape[1] - 1))[:, -1].float().cpu()


def _best_rank(logits: Float[Tensor, "row d_vocab"], rows: Sequence[TokenRow]) -> Int[Tensor, " row"]:
    """One more than the number of outputs above the best answer."""
    best = torch.stack([row_logits[list(row.answers)].max() for row_logits, row in zip(logits, rows, strict=True)])
    return (logits > best[:, None]).sum(-1) + 1
