"""Tables of a direction: how well it predicts, what it is near to, where a prompt lies along it, and what it causes."""

from collections.abc import Mapping

from headlight.model.attribution.tables import promoted_rows
from headlight.model.directions.dosing import DoseCurve, Where, mean_of, verdict
from headlight.model.directions.examples import Examples
from headlight.model.directions.held_out import HeldOut
from headlight.model.directions.reading import cosines, nearest_tokens, projections
from headlight.model.directions.study import DirectionSettings, DirectionStudy, study_direction, study_dose
from headlight.model.lens.kinds import LOGIT, Lens
from headlight.model.prompt_sets.prompt_set import PromptSet
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.dictionary import Dictionary
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
    dictionary: Dictionary | None = None,
    lens: Lens = LOGIT,
) -> Tables:
    """A direction on the prompts of a comparison: every token's projection, the nearest tokens, and cosines."""
    projected = {side: projections(run, direction).values[layer] for side, run in comparison.sides.items()}
    positions = {side: comparison.positions(run) for side, run in comparison.sides.items()}
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
        promoted = nearest_tokens(run, direction, layer, position, lens)
        heads = ("rank", "raised", "by (logits)", "lowered", "by (logits) ")
        tables["nearest tokens"] = columns(heads, promoted_rows(promoted, run.outputs))
    near = cosines(run, direction, layer, position, others, dictionary)
    tables["cosines"] = columns(("kind", "name", "cosine"), near)
    return tables


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

    Raises:
        HeadlightError: the set has no two classes with enough rows, or cannot be split or measured.
    """
    run = comparison.a
    study = study_direction(run.model, prompt_set, settings, run.bos, host=run.host)
    at = study.best_layer if layer is None else layer
    curve = None
    if where is not None and study.examples.has_answers:
        curve = study_dose(run.model, study, at, where=where, neutral=neutral, bos=run.bos, host=run.host)
    return study_tables(
        comparison, study, study.direction, at, comparison.default_place if place is None else place, curve
    )


def study_tables(
    comparison: Comparison,
    study: DirectionStudy | None,
    direction: Direction,
    layer: int,
    place: int,
    curve: DoseCurve | None = None,
    others: Mapping[str, Direction] | None = None,
    dictionary: Dictionary | None = None,
    lens: Lens = LOGIT,
) -> Tables:
    """All tables of a direction, of a study or of a file."""
    tables: Tables = {}
    if study is not None:
        tables["held out"] = held_out_table(study.held_out, comparison.a.layer_labels)
    tables |= reading_tables(comparison, direction, layer, place, others, dictionary, lens)
    if curve is not None and study is not None:
        tables["dose"] = dose_table(curve)
        tables["verdict"] = {"sentence": conclusion(curve, study.examples, study.accuracies[layer])}
    return tables


def conclusion(curve: DoseCurve, examples: Examples, accuracy: float) -> list[str]:
    """Whether the direction causes what it predicts, in sentences."""
    return verdict(curve, examples.classes, accuracy)
