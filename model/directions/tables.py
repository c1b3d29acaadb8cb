"""Tables of a direction: how well it predicts, what it is near to, where a prompt lies along it, and what it causes."""

from collections.abc import Mapping, Sequence

from headlight.model.attribution.tables import promoted_rows
from headlight.model.directions.dosing import DoseCurve, Where, mean_of, verdict
from headlight.model.directions.examples import Examples
from headlight.model.directions.held_out import HeldOut
from headlight.model.directions.reading import cosines, fitting_sides, nearest_tokens, projections
from headlight.model.directions.study import DirectionSettings, DirectionStudy, study_direction, study_dose
from headlight.model.features.effects import layer_after
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.lens.tables import comparable_lenses
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionaries
from headlight.model.runs.direction import Direction
from headlight.model.runs.linear import no_reading
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Table, Tables, columns, number


def held_out_table(tested: HeldOut, layers: tuple[str, ...]) -> Table:
    """Held-out accuracy and AUROC by state, with the means of the controls and the best that they came to."""
    rows = [
        (
            layer,
            *(number(float(values[state])) for values in (tested.accuracy, tested.auroc)),
            number(float(tested.shuffled[state].mean())),
            number(float(tested.shuffled[state].max())),
            number(float(tested.random[state].mean())),
            number(float(tested.random[state].max())),
        )
        for state, layer in enumerate(layers)
    ]
    heads = ("accuracy", "AUROC", "shuffled labels", "shuffled, best", "random vectors", "random, best")
    return columns(("after", *heads), rows)


def dose_table(curve: DoseCurve) -> Table:
    """What was measured by factor, with its interval, the random vector's, and the cost."""
    rows = []
    for place, factor in enumerate(curve.factors):
        own, random = mean_of(curve.values[place]), mean_of(curve.random[place])
        cost = (None, None) if curve.cost is None else (float(curve.cost.kl[place]), float(curve.cost.loss[place]))
        rows.append((factor, own.mean, number(own.low), number(own.high), random.mean, *cost))
    names = ("logit difference", "low", "high", "random vector", "KL (nats)", "loss (nats)")
    return columns(("factor", *names), rows)


def reading_tables(
    comparison: Comparison,
    direction: Direction,
    layer: int,
    place: int,
    others: Mapping[str, Direction] | None = None,
    opened: Dictionaries | None = None,
    lenses: Sequence[Lens] | None = None,
) -> Tables:
    """A direction on the prompts of a comparison: every token's projection, the nearest tokens, and cosines.

    Args:
        comparison: the runs that are read.
        direction: the direction.
        layer: the layer before which it is read.
        place: the token at which heads and MLPs write.
        others: other directions by name, whose cosines are listed.
        opened: dictionaries, of which the one of this stream is compared.
        lenses: the lenses that read its nearest tokens; by default the logit lens and those beside the model.
    """
    sides = fitting_sides(comparison, direction)
    projected = {side: projections(run, direction).values[layer] for side, run in sides.items()}
    positions = {side: comparison.positions(run) for side, run in sides.items()}
    rows = [
        (
            at,
            token,
            *(
                None if positions[side][at] is None else number(float(projected[side][positions[side][at]]))
                for side in projected
            ),
        )
        for at, token in enumerate(comparison.labels)
    ]
    tables: Tables = {"projection": columns(("place", "token", *projected), rows)}
    run, position = comparison.a, position_of(comparison.a, comparison, place)
    if not no_reading(run.model):
        for lens in comparable_lenses(run, LOGIT) if lenses is None else lenses:
            if lens.kind == LOGIT.kind or _carries(lens, layer, run):
                promoted = nearest_tokens(run, direction, layer, position, lens)
                heads = ("rank", "raised", "by (logits)", "lowered", "by (logits) ")
                tables[nearest_title(lens)] = columns(heads, promoted_rows(promoted, run.outputs))
    of_stream = (each for each in (opened or {}).values() if layer_after(each) == layer)
    near = cosines(run, direction, layer, position, others, next(of_stream, None))
    tables["cosines"] = columns(("kind", "name", "cosine"), near)
    return tables


def nearest_title(lens: Lens) -> str:
    """The name of a lens's table of nearest tokens."""
    return f"nearest tokens, {lens.title}"


def _carries(lens: Lens, layer: int, run: Run) -> bool:
    """Whether a lens has a map for this state: after the last layer all read as the logit lens does."""
    return layer < run.cfg.n_layers and layer in lens.reads(run.cfg.n_layers)


def position_of(run: Run, comparison: Comparison, place: int) -> int:
    """A run's position at a place of the common axis; its prediction's where it has none there."""
    position = comparison.positions(run)[place]
    return run.prediction_position if position is None else position


def direction_tables(
    comparison: Comparison,
    prompt_set: PromptSet,
    settings: DirectionSettings,
    layer: int | None = None,
    place: int | None = None,
    where: Where | None = "every",
    neutral: tuple[str, ...] = (),
    others: Mapping[str, Direction] | None = None,
    opened: Dictionaries | None = None,
) -> Tables:
    """Find a direction in a set, test it, read the comparison's prompts by it, and measure what it causes.

    Args:
        comparison: the runs that are read; the model of the first is the one that the direction is found in.
        prompt_set: the set.
        settings: what is compared, where and how.
        layer: the layer before which it is read and added; by default the one that tells the classes best.
        place: the token at which heads and MLPs write; by default the one that is predicted from.
        where: at which tokens it is added; None to leave the dose curve out.
        neutral: texts on which the cost is measured.
        others: other directions by name, whose cosines are listed.
        opened: dictionaries, of which the one of this stream is compared.

    Raises:
        HeadlightError: the set has no two classes with enough rows, or cannot be split or measured.
    """
    run = comparison.a
    study = study_direction(run.model, prompt_set, settings, run.bos, host=run.host)
    at = study.best_layer if layer is None else layer
    curve = None
    if where is not None and study.examples.has_answers:
        curve = study_dose(run.model, study, at, where=where, neutral=neutral, bos=run.bos, host=run.host)
    place = comparison.default_place if place is None else place
    return study_tables(comparison, study, study.direction, at, place, curve, others, opened)


def study_tables(
    comparison: Comparison,
    study: DirectionStudy | None,
    direction: Direction,
    layer: int,
    place: int,
    curve: DoseCurve | None = None,
    others: Mapping[str, Direction] | None = None,
    opened: Dictionaries | None = None,
    lenses: Sequence[Lens] | None = None,
) -> Tables:
    """All tables of a direction, of a study or of a file."""
    tables: Tables = {}
    if study is not None:
        tables["held out"] = held_out_table(study.held_out, comparison.a.layer_labels)
    tables |= reading_tables(comparison, direction, layer, place, others, opened, lenses)
    if curve is not None and study is not None:
        tables["dose"] = dose_table(curve)
        tables["verdict"] = {"sentence": conclusion(curve, study.examples, study.accuracies[layer])}
    return tables


def conclusion(curve: DoseCurve, examples: Examples, accuracy: float) -> list[str]:
    """Whether the direction causes what it predicts, in sentences."""
    return verdict(curve, examples.classes, accuracy)
