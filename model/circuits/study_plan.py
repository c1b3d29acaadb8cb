"""Which rows of a set a circuit is scored on, which it is measured on, and what that takes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from headlight.model.base.errors import InputError
from headlight.model.circuits.evaluation import SHARES, Evaluation, run_circuits
from headlight.model.circuits.preparing import Means, check_edges, check_rows, mean_writes
from headlight.model.circuits.scoring import check_affordable, check_method, n_runs
from headlight.model.circuits.set_scores import EdgeScores, PreparedSet, score_prepared, split_rows
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.units import UnitMask
from headlight.model.circuits.wiring import wiring
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet, batches
from headlight.model.prompt_sets.performance import performance
from headlight.model.runs.host import HERE, Host

MAX_SCORE_BYTES = 2**30  # of all rows' scores, which resampling needs together
GRADIENT = 3.0  # a run and its gradients, in runs
PER_LAYER = 2.0  # a run in which each reader has a stream of its own, in passes of the model


@dataclass(frozen=True, eq=False)
class StudyPlan:
    """The rows of a study of a circuit.

    Attributes:
        settings: how it is scored and measured.
        train: the rows that edges are scored on.
        held_out: the rows that circuits are measured on.
        left_out: why each other row is not used, by its number.
        means: what each sender writes on average over `train`, if the baseline is a mean; `with_means` takes them.
    """

    settings: CircuitSettings
    train: tuple[TokenRow, ...]
    held_out: tuple[TokenRow, ...]
    left_out: Mapping[int, str]
    means: Means | None = None

    def prepared(self, model: Transformer, rows: Sequence[TokenRow]) -> PreparedSet:
        """Some of the rows, ready to be run."""
        settings = self.settings
        return PreparedSet(model, rows, settings.baseline, settings.metric, mean_over=self.train, means=self.means)


def plan_study(
    model: Transformer, token_set: TokenSet, settings: CircuitSettings, correct: Collection[int] | None = None
) -> StudyPlan:
    """Choose the rows of a study; means still lack.

    Args:
        model: the model.
        token_set: the set.
        settings: how it is scored and measured.
        correct: the numbers of the rows that the model answers correctly, if they are known.

    Raises:
        InputError: the model has no edges, the set lacks what the settings need, or they ask for too much.
    """
    token_set.check_usable()
    check_edges(model)
    check_method(settings.method, settings.steps, settings.unit)
    rows, left_out = _usable(token_set, settings)
    if settings.only_correct:
        known = token_set.only([row.number for row in rows])
        right = set(performance(model, known, settings.metric).correct_numbers if correct is None else correct)
        left_out |= {row.number: "The model answers it wrongly." for row in rows if row.number not in right}
        rows = [row for row in rows if row.number in right]
        if not rows:
            raise InputError("The model answers no row correctly, so that none is left. Take all rows or another set.")
    if settings.rows:
        left_out |= {row.number: f"Only {settings.rows:,} rows are used." for row in rows[settings.rows :]}
        rows = rows[: settings.rows]
    check_rows(rows, settings.baseline)
    train, held_out = split_rows(rows, settings.held_out, settings.seed)
    _check_size(model.cfg, settings, len(train))
    return StudyPlan(settings, tuple(train), tuple(held_out), left_out)


def _usable(token_set: TokenSet, settings: CircuitSettings) -> tuple[list[TokenRow], dict[int, str]]:
    """The rows that have what is needed, and why not the others."""
    rows, left_out = list(token_set.rows), dict(token_set.refused)
    left_out |= {row.number: "It has no answer." for row in rows if not row.answers}
    rows = [row for row in rows if row.answers]
    if not rows:
        raise InputError("No row has an answer, so that nothing can be measured. Add a column of answers.")
    if settings.baseline == "pair":
        left_out |= {row.number: "It has no corrupted prompt." for row in rows if row.corrupted is None}
        uneven = "Its two prompts differ in their number of tokens."
        left_out |= {row.number: uneven for row in rows if not row.is_aligned}
        rows = [row for row in rows if row.corrupted is not None and row.is_aligned]
        if not rows:
            raise InputError(
                "No row has a corrupted prompt of as many tokens as the clean one, which the baseline 'pair' takes. "
                "Add a column of them, or choose the baseline 'mean' or 'zero'."
            )
    return rows, left_out


def _check_size(cfg: TransformerConfig, settings: CircuitSettings, n_rows: int) -> None:
    wires = wiring(cfg)
    if settings.method == "exact":
        check_affordable(wires, n_rows, settings.unit)
    of_unit = {"edges": wires.before.numel(), "nodes": len(wires.senders), "neurons": len(wires.senders) * cfg.d_model}
    n_bytes = 4 * n_rows * of_unit[settings.unit]
    if n_bytes > MAX_SCORE_BYTES:
        most = MAX_SCORE_BYTES // (4 * of_unit[settings.unit])
        raise InputError(
            f"The scores of {n_rows:,} rows take {n_bytes / 2**30:.1f} GiB, and at most {MAX_SCORE_BYTES / 2**30:.0f} "
            f"GiB are kept. Use at most {int(most / (1 - settings.held_out)):,} rows of the set, or score nodes."
        )


def with_means(model: Transformer, plan: StudyPlan, host: Host = HERE) -> StudyPlan:
    """The plan with the means that its baseline needs; the host may stop it."""
    prepared = PreparedSet(model, plan.train, "zero", plan.settings.metric)
    of_batches = list(batches(plan.train, prepared.at_most(plan.train)))
    return replace(plan, means=mean_writes(model, of_batches, plan.settings.baseline, host))


def score_rows(model: Transformer, plan: StudyPlan, rows: Sequence[TokenRow], host: Host = HERE) -> EdgeScores:
    """Score some of the rows that edges are scored on."""
    settings = plan.settings
    return score_prepared(plan.prepared(model, rows), settings.method, settings.steps, settings.unit, host=host)


def measure_rows(
    model: Transformer, plan: StudyPlan, circuits: Sequence[UnitMask], rows: Sequence[TokenRow], host: Host = HERE
) -> Evaluation:
    """Measure circuits of all sizes on some of the rows that were held out."""
    return run_circuits(plan.prepared(model, rows), circuits, SHARES, host)


def score_passes(cfg: TransformerConfig, settings: CircuitSettings) -> float:
    """How many passes of the model scoring a row takes, about."""
    n_units = wiring(cfg).n_edges if settings.unit == "edges" else len(wiring(cfg).senders)
    each = PER_LAYER if settings.method in ("exact", "flow") else PER_LAYER * GRADIENT
    return 2.0 + each * n_runs(n_units, 1, cfg.n_layers, settings.method, settings.steps)


def measure_passes() -> float:
    """How many passes of the model measuring all circuits on a row takes, about."""
    return 2.0 + PER_LAYER * (2 + 2 * len(SHARES))
