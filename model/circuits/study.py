"""A circuit of a set of prompts: scored, measured on held-out rows, and resampled; and its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool
from torch import Tensor

from headlight.model.circuits.evaluation import (
    SHARES,
    Evaluation,
    check_difference,
    circuits_by_share,
)
from headlight.model.circuits.files import CircuitFile
from headlight.model.circuits.selection import EdgeMask
from headlight.model.circuits.set_scores import EdgeScores
from headlight.model.circuits.settings import CircuitSettings
from headlight.model.circuits.stability import MIN_ROWS, Stability, overlap, stability
from headlight.model.circuits.study_plan import StudyPlan, measure_rows, plan_study, score_rows, with_means
from headlight.model.circuits.units import UnitMask, choose_units, count_units, unit_mask
from headlight.model.circuits.wiring import Wiring
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenSet, to_tokens
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.host import HERE, Host
from headlight.model.runs.run import tokenizer_of
from headlight.model.runs.tables import Cell, Tables, columns
from headlight.model.text.chat import Begin, as_literal, is_literal, prepends

CURVE = ("share", "edges", "faithfulness", "95% from", "95% to", "completeness")
OVERLAPS = ("circuits", "overlap (Jaccard)")
UNIT_COLUMNS = {
    "edges": ("from", "to", "score", "share of resamples"),
    "nodes": ("node", "score", "share of resamples"),
    "neurons": ("node", "dimension", "score", "share of resamples"),
}


@dataclass(frozen=True, eq=False)
class CircuitStudy:
    """A circuit over a set: its scores, its curve on held-out rows, and how sure it is.

    Attributes:
        settings: how it was scored and measured.
        scores: the scores of all units, by row.
        chosen: the units of the circuit, [*unit].
        mask: the circuit as it is run.
        evaluation: circuits of growing size on the held-out rows.
        stability: how sure each unit is; None of fewer rows than can be resampled.
        left_out: why each other row of the set is not used, by its number.
        others: circuits that it is compared with, by name: of other methods, sets or files.
    """

    settings: CircuitSettings
    scores: EdgeScores
    chosen: Bool[Tensor, "*unit"]
    mask: UnitMask
    evaluation: Evaluation
    stability: Stability | None
    left_out: Mapping[int, str] = field(default_factory=dict)
    others: Mapping[str, EdgeMask] = field(default_factory=dict)

    @property
    def wires(self) -> Wiring:
        """The model's edges."""
        return self.scores.wires

    @property
    def n_units(self) -> int:
        """How many edges, nodes or neurons the model has."""
        return count_units(self.wires, self.scores.mean, self.scores.unit)

    @property
    def place(self) -> int:
        """The circuit's place among the sizes of the curve."""
        return self.evaluation.shares.index(self.settings.share)


def study_circuit(
    model: Transformer,
    prompt_set: PromptSet | TokenSet,
    settings: CircuitSettings | None = None,
    bos: Begin = True,
    others: Mapping[str, EdgeMask] | None = None,
    host: Host = HERE,
) -> CircuitStudy:
    """Score edges on some rows of a set, measure circuits of all sizes on the others, and resample the rows.

    Args:
        model: the model.
        prompt_set: the set, as it is written or in tokens.
        settings: how it is scored and measured.
        bos: how a prompt begins, where the model has a token for that.
        others: circuits to compare with, by name.
        host: whom to tell of progress.

    Raises:
        InputError: what the parts refuse: too few rows, no baseline, a circuit of another model.
    """
    tokens = prompt_set if isinstance(prompt_set, TokenSet) else _in_tokens(model, prompt_set, bos)
    running = host.on_device(model)
    plan = with_means(running, plan_study(running, tokens, settings or CircuitSettings()), host)
    scores = score_rows(running, plan, plan.train, host)
    circuits = circuits_by_share(scores, SHARES, plan.settings.selection)
    evaluation = measure_rows(running, plan, circuits, plan.held_out, host)
    return assemble_study(plan, scores, evaluation, resample(plan.settings, scores), others)


def _in_tokens(model: Transformer, prompt_set: PromptSet, bos: Begin) -> TokenSet:
    tokenizer = tokenizer_of(model)
    if prepends(bos) and tokenizer.bos_token_id is None and not tokenizer.adds_special:
        bos = as_literal(False, is_literal(bos))
    return to_tokens(prompt_set, tokenizer, bos, cfg=model.cfg)


def assemble_study(
    plan: StudyPlan,
    scores: EdgeScores,
    evaluation: Evaluation,
    sure: Stability | None,
    others: Mapping[str, EdgeMask] | None = None,
) -> CircuitStudy:
    """The study of the rows' scores, of what circuits do on the held-out rows, and of resampled rows.

    Raises:
        InputError: the prompts' mean metric is the baseline's.
    """
    check_difference(evaluation)
    chosen = chosen_units(plan.settings, scores)
    mask = unit_mask(scores.wires, chosen, scores.unit)
    return CircuitStudy(plan.settings, scores, chosen, mask, evaluation, sure, plan.left_out, others or {})


def resample(settings: CircuitSettings, scores: EdgeScores) -> Stability | None:
    """How sure the circuit is; None of fewer rows than can be resampled."""
    if len(scores.numbers) < MIN_ROWS:
        return None
    return stability(scores, _size(settings, scores), selection=settings.selection, seed=settings.seed)


def chosen_units(settings: CircuitSettings, scores: EdgeScores) -> Bool[Tensor, "*unit"]:
    """The units of the circuit that has the chosen share of all."""
    return choose_units(scores.wires, scores.mean, _size(settings, scores), scores.unit, settings.selection)


def _size(settings: CircuitSettings, scores: EdgeScores) -> int:
    return int(settings.share * count_units(scores.wires, scores.mean, scores.unit))


def as_file(study: CircuitStudy) -> CircuitFile:
    """The circuit as EAP-IG and MIB write it."""
    scores, chosen, unit = study.scores.mean, study.chosen, study.scores.unit
    edges = study.mask.edges
    if unit == "edges":
        return CircuitFile(edges, scores, edges.any(0))
    none = torch.zeros(edges.shape)
    if unit == "nodes":
        return CircuitFile(edges, none, chosen, scores)
    return CircuitFile(edges, none, chosen.any(-1), None, chosen, scores)


def circuit_study_tables(study: CircuitStudy) -> Tables:
    """The curve, the circuit with how often a resample has its parts, the overlaps, and the rows."""
    result = study.evaluation
    low, high = result.interval(result.alone)
    curve = zip(
        result.shares,
        result.n_edges,
        *(each.tolist() for each in (result.faithfulness, low, high, result.completeness)),
        strict=True,
    )
    return {
        "curve": columns(CURVE, list(curve)),
        "areas": columns(("area", "value"), [("CPR", result.cpr), ("CMD", result.cmd)]),
        "circuit": columns(UNIT_COLUMNS[study.scores.unit], unit_rows(study)),
        "overlaps": columns(OVERLAPS, overlap_rows(study)),
        "rows": columns(("row", "used to"), _row_uses(study)),
    }


def unit_places(study: CircuitStudy) -> list[tuple[int, ...]]:
    """The places of the circuit's units among all, those with the largest scores first."""
    sizes = (study.scores.mean.abs() * study.chosen).flatten()
    order = sizes.argsort(descending=True, stable=True)[: int(study.chosen.sum())].tolist()
    width = study.chosen.shape[-1]
    return [divmod(place, width) if study.chosen.ndim == 2 else (place,) for place in order]


def unit_rows(study: CircuitStudy) -> list[tuple[Cell, ...]]:
    """The circuit's edges, nodes or neurons, the largest first, with score and share of resamples."""
    senders, receivers, sure = study.wires.senders, study.wires.receivers, study.stability

    def named(at: tuple[int, ...]) -> tuple[Cell, ...]:
        if study.scores.unit == "edges":
            return senders[at[1]].name, receivers[at[0]].name
        return senders[at[0]].name, *at[1:]

    return [
        (*named(at), float(study.scores.mean[at]), None if sure is None else float(sure.frequency[at]))
        for at in unit_places(study)
    ]


def overlap_rows(study: CircuitStudy) -> list[tuple[str, float]]:
    """The overlap with resamples' circuits, of two halves', by chance, and with each other circuit's edges."""
    rows: list[tuple[str, float]] = []
    if (sure := study.stability) is not None:
        rows = [
            ("resampled rows, mean", float(sure.resamples.mean())),
            ("two halves of the rows, mean", float(sure.halves.mean())),
            ("two random ones", sure.by_chance),
        ]
    return rows + [(name, float(overlap(study.mask.edges, edges))) for name, edges in study.others.items()]


def _row_uses(study: CircuitStudy) -> Sequence[tuple[int, str]]:
    uses = dict.fromkeys(study.scores.numbers, "score") | dict.fromkeys(study.evaluation.numbers, "measure")
    return sorted((uses | {number: f"not used: {why}" for number, why in study.left_out.items()}).items())
