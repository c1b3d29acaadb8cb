"""Edges scored over a set of prompts, each row by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.circuits.preparing import Baseline, Means, batch_runs, check_edges, check_rows, mean_writes
from headlight.model.circuits.running import EdgeRuns, Edges
from headlight.model.circuits.scoring import (
    DEFAULT_STEPS,
    Method,
    Rule,
    Scores,
    Unit,
    check_affordable,
    check_method,
    score,
)
from headlight.model.circuits.wiring import Wiring, wiring
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches
from headlight.model.prompt_sets.metric import Metric
from headlight.model.runs.host import HERE, Host, Steps

Rows = TokenRow | Sequence[TokenRow] | TokenSet
MAX_BATCH_BYTES = 2**28  # that the activations and gradients of a batch may take


@dataclass(frozen=True, eq=False)
class EdgeScores:
    """The scores of a model's edges, nodes or neurons for each row of a set.

    Attributes:
        wires: the model's edges.
        by_row: the scores, in units of the metric.
        numbers: the rows' numbers in the set.
        method: how they were scored.
        baseline: against what.
        unit: of what they are.
    """

    wires: Wiring
    by_row: Scores
    numbers: tuple[int, ...]
    method: Method
    baseline: Baseline
    unit: Unit = "edges"

    @property
    def mean(self) -> Edges | Float[Tensor, " sender"] | Float[Tensor, "sender d_model"]:
        """The mean over the rows."""
        return self.by_row.mean(0)


def edge_scores(
    model: Transformer,
    rows: Rows,
    method: Method = "eap_ig_inputs",
    baseline: Baseline = "pair",
    *,
    steps: int = DEFAULT_STEPS,
    kind: Metric = "logit_diff",
    unit: Unit = "edges",
    rule: Rule = "midpoint",
    mean_over: Rows | None = None,
    host: Host = HERE,
) -> EdgeScores:
    """Score every edge of a model over one pair of prompts or a set; a negative score means that the edge helps.

    Args:
        model: the model.
        rows: rows of a set in tokens, the set, or one row.
        method: see `model.circuits.scoring.score`.
        baseline: what comes along an edge that is left out: what the row's corrupted prompt has there ("pair"), its
            mean over all clean prompts and positions ("mean") or over the prompts at each position
            ("mean_by_position"), or nothing ("zero").
        steps: points of the two methods of integrated gradients.
        kind: what is measured at the end of each prompt.
        unit: "edges", "nodes" (what a head or MLP writes) or "neurons" (its dimensions).
        rule: where the points of integrated gradients lie.
        mean_over: the rows that means are taken over; by default `rows`.
        host: whom to tell of progress.

    Raises:
        InputError: a row without the baseline or an answer, or a method that does not fit.
    """
    check_method(method, steps, unit)
    return score_prepared(PreparedSet(model, rows, baseline, kind, mean_over), method, steps, unit, rule, host)


def score_prepared(
    prepared: "PreparedSet",
    method: Method,
    steps: int = DEFAULT_STEPS,
    unit: Unit = "edges",
    rule: Rule = "midpoint",
    host: Host = HERE,
) -> EdgeScores:
    """The same of rows that are ready with their baseline.

    Raises:
        InputError: more exact runs than can be afforded, or a row without an answer.
    """
    wires = wiring(prepared.model.cfg)
    if method == "exact":
        check_affordable(wires, len(prepared.rows), unit)
    by_row: dict[int, Tensor] = {}
    counted = Steps(host, len(prepared.rows))
    for places, runs in prepared.batches():
        with host.turn():
            scores = score(runs, method, steps, unit, rule).cpu()
        by_row |= dict(zip(places, scores, strict=True))
        counted.add(len(places))
    stacked = torch.stack([by_row[place] for place in range(len(by_row))])
    return EdgeScores(wires, stacked, prepared.numbers, method, prepared.baseline, unit)


def join_scores(parts: Sequence[EdgeScores]) -> EdgeScores:
    """The scores of several parts of a set, in the order of the rows' numbers."""
    numbers = [number for part in parts for number in part.numbers]
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    by_row = torch.cat([part.by_row for part in parts])[order]
    return replace(parts[0], by_row=by_row, numbers=tuple(numbers[place] for place in order))


class PreparedSet:
    """Rows with their baseline, in batches of one length; `means` of a baseline that are known are not taken anew.

    Raises:
        InputError: a model without edges, or a row without the baseline or an answer.
    """

    def __init__(
        self,
        model: Transformer,
        rows: Rows,
        baseline: Baseline = "pair",
        kind: Metric = "logit_diff",
        mean_over: Rows | None = None,
        means: Means | None = None,
    ) -> None:
        check_edges(model)
        self.model, self.rows, self.baseline, self.kind = model, as_rows(rows), baseline, kind
        over = self.rows if mean_over is None else as_rows(mean_over)
        check_rows(self.rows, baseline)
        check_rows([*self.rows, *over], baseline)
        self.means = means
        if means is None:
            self.means = mean_writes(model, list(batches(over, self.at_most(over))), baseline)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The rows' numbers in the set."""
        return tuple(row.number for row in self.rows)

    def at_most(self, rows: Sequence[TokenRow]) -> int:
        """How many of such rows are run at once."""
        cfg = self.model.cfg
        n_senders = 1 + cfg.n_layers * (cfg.n_heads + 1)
        n_pos = max(len(row.clean) for row in rows)
        return max(1, MAX_BATCH_BYTES // (4 * n_pos * cfg.d_model * 10 * n_senders))

    def batches(self) -> Iterator[tuple[list[int], EdgeRuns]]:
        """The rows' places, and these rows made ready to be run."""
        places: dict[int, list[int]] = {}
        for place, row in enumerate(self.rows):
            places.setdefault(id(row), []).append(place)
        for batch in batches(self.rows, self.at_most(self.rows)):
            yield (
                [places[id(row)].pop(0) for row in batch],
                batch_runs(self.model, batch, self.baseline, self.means, self.kind),
            )


def as_rows(rows: Rows) -> Sequence[TokenRow]:
    """The rows of a set, or one row, as a sequence."""
    if isinstance(rows, TokenRow):
        return [rows]
    return list(rows.rows if isinstance(rows, TokenSet) else rows)


def split_rows(rows: Rows, share: float = 0.5, seed: int = 0) -> tuple[list[TokenRow], list[TokenRow]]:
    """Split rows at random into those that edges are scored on and those that are held out.

    Args:
        rows: the rows.
        share: how many of them are held out.
        seed: of the draw.

    Raises:
        InputError: too few rows, or a share that leaves one side empty.
    """
    every = as_rows(rows)
    n_held_out = round(share * len(every))
    if not 0 < n_held_out < len(every):
        raise InputError(
            f"A share of {share} of {len(every)} rows held out leaves {len(every) - n_held_out} to score edges on and "
            f"{n_held_out} to evaluate on. Each needs at least one: give more rows, or a share between 0 and 1."
        )
    order = torch.randperm(len(every), generator=torch.Generator().manual_seed(seed)).tolist()
    held_out = set(order[:n_held_out])
    return [row for at, row in enumerate(every) if at not in held_out], [every[at] for at in sorted(held_out)]
