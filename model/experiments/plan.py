"""What an experiment measures: the rows and places that it takes, and by what parts are replaced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import torch
from jaxtyping import Int
from torch import Tensor

from headlight.model.base.errors import InputError
from headlight.model.experiments.changes import n_heads
from headlight.model.experiments.places import Places, places_of
from headlight.model.experiments.reading import pairs_of
from headlight.model.experiments.settings import CHANGES, HEAD_PARTS, NEEDS_CORRUPTED, ExperimentSettings, Side
from headlight.model.nn.config import TransformerConfig
from headlight.model.nn.transformer import Transformer
from headlight.model.prompt_sets.encoding import TokenRow, TokenSet
from headlight.model.prompt_sets.performance import performance
from headlight.model.runs.edits import Head
from headlight.model.runs.edits.interventions import check_head
from headlight.model.runs.host import HERE, Host

DLA_PARTS = ("all", "z", "attn_out", "mlp_out")


@dataclass(frozen=True, eq=False)
class Plan:
    """An experiment that can be run: any batch of its rows by itself.

    Attributes:
        settings: the settings.
        rows: the rows that are measured. In a resample ablation the corrupted prompt is the other row's.
        places: the axis of positions.
        pairs: query and key, as places, of each pair between which patterns are measured.
        left_out: row number to the reason why the row is not measured.
        means: of a mean ablation, the part's means by layer: at each place, at each position, or over all.
    """

    settings: ExperimentSettings
    rows: tuple[TokenRow, ...]
    places: Places
    pairs: tuple[tuple[int, int], ...] = ()
    left_out: Mapping[int, str] = field(default_factory=dict)
    means: Mapping[int, Tensor] = field(default_factory=dict)

    @classmethod
    def of_results(cls, settings: ExperimentSettings, left_out: Mapping[int, str]) -> "Plan":
        """The plan of an experiment that was run, of which no more is known."""
        return cls(settings, (), Places("names", ()), left_out=left_out)

    @property
    def base_side(self) -> Side:
        """Which prompt is run, and changed."""
        if self.settings.measure in NEEDS_CORRUPTED:
            return "corrupted" if self.settings.direction == "denoise" else "clean"
        return "clean" if self.is_resampled else self.settings.prompt

    @property
    def is_resampled(self) -> bool:
        """Whether the rows' corrupted prompts are those of other rows."""
        return self.settings.measure == "ablation" and self.settings.ablation == "resample"

    @property
    def by_place(self) -> bool:
        """Whether parts are replaced at one place at a time."""
        settings = self.settings
        return settings.by == "position" or (settings.measure != "path" and settings.part not in HEAD_PARTS)

    @property
    def receiver(self) -> Head:
        """The receiving head of path patching.

        Raises:
            InputError: it is not written as a head is.
        """
        layer, _, head = self.settings.receiver.upper().removeprefix("L").partition("H")
        if not (layer.isdecimal() and head.isdecimal()):
            raise InputError(f"The receiver is {self.settings.receiver!r}. Give a head, such as L5H1.")
        return int(layer), int(head)

    def axes(self, cfg: TransformerConfig) -> dict[str, tuple[str, ...] | None]:
        """The axes of the map with their labels; None for plain counts."""
        places = {"position": self.places.labels} if self.by_place else {}
        match self.settings.measure:
            case "patterns":
                labels = tuple(f"{self.places.labels[query]}→{self.places.labels[key]}" for query, key in self.pairs)
                return {"layer": None, "head": None, "pair": labels}
            case "lens":
                layers = (*(f"L{layer}" for layer in range(cfg.n_layers)), "final")
                return {"layer": layers, **({"position": self.places.labels} if self.settings.by == "position" else {})}
            case "dla":
                return self._axes_of_dla()
        if self.settings.measure == "path" or self.settings.part in HEAD_PARTS:
            return {"layer": None, "head": self._head_labels(cfg), **places}
        return {"layer": None, **places}

    def _axes_of_dla(self) -> dict[str, tuple[str, ...] | None]:
        if self.settings.part == "all":
            return {"component": None}
        if self.settings.part != "z":
            return {"layer": None}
        other = ("others",) if self.places.kind == "names" else ()
        return {"layer": None, "head": None} | ({"position": (*self.places.labels, *other)} if self.by_place else {})

    def _head_labels(self, cfg: TransformerConfig) -> tuple[str, ...] | None:
        part = "z" if self.settings.measure == "path" else self.settings.part
        if n_heads(part, cfg) == cfg.n_heads:
            return None
        size = cfg.n_heads // cfg.n_shared
        return tuple(f"H{size * group}-H{size * group + size - 1}" for group in range(cfg.n_shared))


def plan_of(model: Transformer, token_set: TokenSet, settings: ExperimentSettings, host: Host = HERE) -> Plan:
    """Choose the rows and places of an experiment; mean ablations still lack their means.

    Raises:
        InputError: the model or the set has not what is measured.
    """
    token_set.check_usable()
    cfg = model.cfg
    rows, left_out = _rows(model, token_set, settings, host)
    if settings.measure == "ablation" and settings.ablation == "resample":
        rows = _resampled(rows, settings)
    chosen = token_set.only([row.number for row in rows])
    plan = Plan(settings, rows, Places("names", ()), left_out=left_out)
    plan = replace(plan, places=places_of(chosen, settings.positions, plan.base_side))
    _check(plan, cfg)
    if settings.measure == "patterns":
        where = torch.cat([plan.places.of_rows([row], plan.base_side) for row in rows])
        plan = replace(plan, pairs=pairs_of(where, cfg.attention_dir == "causal"))
    return plan


def _rows(
    model: Transformer, token_set: TokenSet, settings: ExperimentSettings, host: Host
) -> tuple[tuple[TokenRow, ...], dict[int, str]]:
    rows, left_out = list(token_set.rows), dict(token_set.refused)
    needs_corrupted = settings.measure in NEEDS_CORRUPTED or _base_is_corrupted(settings)
    if needs_corrupted:
        left_out |= {row.number: "It has no corrupted prompt." for row in rows if row.corrupted is None}
        rows = [row for row in rows if row.corrupted is not None]
        if not rows:
            raise InputError(
                "No row has a corrupted prompt, of which this measure needs one. Add a column of them, or choose "
                "ablation, direct logit attribution, the lens or patterns."
            )
    if settings.measure != "patterns":
        left_out |= {row.number: "It has no answer." for row in rows if not row.answers}
        rows = [row for row in rows if row.answers]
        if not rows:
            raise InputError("No row has an answer, so that nothing can be measured. Add a column of answers.")
    if settings.only_correct:
        right = set(
            performance(model, token_set.only([row.number for row in rows]), settings.metric, host).correct_numbers
        )
        left_out |= {row.number: "The model answers it wrongly." for row in rows if row.number not in right}
        rows = [row for row in rows if row.number in right]
        if not rows:
            raise InputError(
                "The model answers no row correctly, so that none is left. Measure all rows, or choose another set."
            )
    return tuple(rows[: settings.rows or None]), left_out


def _base_is_corrupted(settings: ExperimentSettings) -> bool:
    return settings.measure not in NEEDS_CORRUPTED and settings.prompt == "corrupted"


def _resampled(rows: Sequence[TokenRow], settings: ExperimentSettings) -> tuple[TokenRow, ...]:
    """The rows with another row's prompt in the place of the corrupted one, of the same length where there is one.

    Raises:
        InputError: there is only one row.
    """
    if len(rows) < 2:
        raise InputError("To resample from other rows there have to be at least two. Choose zero or mean.")
    draw, side = Random(settings.seed), 0 if settings.prompt == "clean" else 1
    prompts = [row.clean if side == 0 or row.corrupted is None else row.corrupted for row in rows]
    resampled = []
    for place, row in enumerate(rows):
        others = [at for at in range(len(rows)) if at != place]
        alike = [at for at in others if len(prompts[at]) == len(prompts[place])]
        at = draw.choice(alike or others)
        positions = {
            name: (own, rows[at].positions[name][side] if name in rows[at].positions else None)
            for name, here in row.positions.items()
            if (own := here[side]) is not None
        }
        resampled.append(replace(row, clean=prompts[place], corrupted=prompts[at], positions=positions))
    return tuple(resampled)


def _check(plan: Plan, cfg: TransformerConfig) -> None:
    settings, part = plan.settings, plan.settings.part
    changes = settings.measure in CHANGES
    if settings.measure == "path":
        check_head(cfg, *plan.receiver)
        if plan.receiver[0] == 0:
            raise InputError("No head comes before the first layer. Choose a receiver in a later one.")
    if part == "mlp_out" and cfg.attn_only and settings.measure in (*CHANGES, "dla"):
        raise InputError("This model has no MLPs, so that their outputs cannot be measured. Choose another part.")
    if settings.measure == "dla" and part not in DLA_PARTS:
        raise InputError(
            f"Direct logit attribution is of {', '.join(DLA_PARTS)}, and not of {part}. Choose one of these."
        )
    if settings.measure == "dla" and settings.metric == "prob_diff":
        raise InputError("Parts add up to logits, and not to probabilities. Choose the logit difference.")
    if changes and settings.measure != "path" and part == "all":
        raise InputError("One part is replaced at a time. Choose one, such as z.")
    one_length = len({_length(row, plan.base_side) for row in plan.rows}) == 1
    aligned = all(row.is_aligned for row in plan.rows)
    averaged = settings.measure == "ablation" and settings.ablation == "mean"
    if changes and part == "pattern" and settings.measure != "path" and not (one_length if averaged else aligned):
        raise InputError(
            "A pattern can be put in the place of one of another length for no row. Choose q and k, or give prompts of "
            "one length."
        )


def _length(row: TokenRow, side: Side) -> int:
    prompt = row.clean if side == "clean" or row.corrupted is None else row.corrupted
    return len(prompt)


def tokens_of(rows: Sequence[TokenRow], side: Side) -> Int[Tensor, "row pos"]:
    """The prompts of rows of one length."""
    prompts = [row.clean if side == "clean" else row.corrupted for row in rows]
    return torch.stack([prompt for prompt in prompts if prompt is not None])
