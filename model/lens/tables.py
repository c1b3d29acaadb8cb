"""A lens: every layer's prediction at every place, one cell's best tokens, and a followed token's way to it.

It is the logit lens, a tuned lens or a Jacobian lens; beside it, what each lens of the model loses layer by layer, and
what another prompt makes of the cell's state.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headlight.model.base.errors import HeadlightError
from headlight.model.lens.kinds import LOGIT, TITLES, Kind, Lens
from headlight.model.lens.logit_lens import LogitLens
from headlight.model.lens.opening import beside, lens_of
from headlight.model.lens.patchscope import Scope, patchscopes
from headlight.model.lens.run_lens import followed_probabilities, followed_ranks, logit_lens, mean_divergences
from headlight.model.measure import Measure
from headlight.model.measure.alignment import on_axis
from headlight.model.measure.difference import DIFFERENCE
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
from headlight.model.runs.tables import Rows, Table, Tables, columns, known, number, tokens_of

MEASURES = ("probability", "entropy (nats)", "KL(final || layer) (nats)", "probability of the followed token")


@dataclass(frozen=True, eq=False)
class Reading:
    """A run's lens: summary measures, and the followed token's probability [layer, pos]."""

    run: Run
    by: Lens
    lens: LogitLens
    followed: Measure


def lens_tables(
    comparison: Comparison,
    token: int | None = None,
    layer: int | None = None,
    place: int | None = None,
    lens: Kind = "logit",
    lens_from: str = "",
    scope: Scope | None = None,
) -> Tables:
    """Tabulate a lens: every layer's prediction, one cell's top tokens, a followed token, and mean KL per layer.

    Args:
        comparison: one run, or two to compare.
        token: id of the followed token, by default A's prediction.
        layer: layer of the cell, 0 for the embedding; by default the last.
        place: place of the cell, by default the last that all runs have.
        lens: logit, tuned or Jacobian lens.
        lens_from: folder or hub name of the lens for A's model; by default the one beside each run's model.
        scope: a patchscope to run at the place as well.

    Raises:
        HeadlightError: no such lens, or one for another model.
    """
    token = int(comparison.a.next_logits.argmax()) if token is None else token
    layer = len(comparison.layer_labels) - 1 if layer is None else layer
    place = comparison.default_place if place is None else place
    lenses = {side: lens_of(run, lens, name_for(comparison, run, lens_from)) for side, run in comparison.sides.items()}
    by_side = readings(comparison, token, lenses)
    return {
        "tokens": tokens_of(comparison),
        title_of(lenses): _lens(comparison, by_side, measures_of(comparison, by_side)),
        "best": _best(comparison, by_side, layer, place),
        "followed": _followed(comparison, by_side, token, place),
        "divergence": divergence_table(
            comparison, {side: comparable_lenses(run, lenses[side]) for side, run in comparison.sides.items()}
        ),
        **({} if scope is None else {"patchscope": patchscope_table(comparison, place, scope)}),
    }


def title_of(lenses: Mapping[str, Lens]) -> str:
    """The lens's name in a table's title: lens, tuned lens or Jacobian lens."""
    (title,) = {lens.title for lens in lenses.values()}
    return title.removeprefix("logit ")


def name_for(comparison: Comparison, run: Run, name: str) -> str:
    """The folder or hub name of a run's lens: `name` is for A's model only."""
    return name if run.same_model(comparison.a) else ""


def comparable_lenses(run: Run, chosen: Lens, opened: Callable[[Run, Kind], Lens] = lens_of) -> tuple[Lens, ...]:
    """The lenses of a run's model to compare: the chosen one, and those beside the model.

    Of these one that cannot be opened is left out. `opened` opens them.
    """
    lenses = {chosen.kind: chosen}
    for kind in beside(run.source):
        with suppress(HeadlightError):
            lenses.setdefault(kind, chosen if kind == chosen.kind else opened(run, kind))
    return tuple(lenses[kind] for kind in TITLES if kind in lenses)


def readings(comparison: Comparison, token: int, lenses: Mapping[str, Lens] | None = None) -> dict[str, Reading]:
    """Every run's lens with a followed token; the logit lens by default."""
    by = lenses or dict.fromkeys(comparison.sides, LOGIT)
    return {
        side: Reading(run, by[side], logit_lens(run, by[side]), followed_probabilities(run, token, by[side]))
        for side, run in comparison.sides.items()
    }


def divergence_table(comparison: Comparison, lenses: Mapping[str, tuple[Lens, ...]]) -> Table:
    """Of each run and lens the mean of KL(final || layer) over the run's positions; empty where it reads nothing."""
    rows = Rows()
    for side, run in comparison.sides.items():
        for lens in lenses[side]:
            values = mean_divergences(run, lens).values.tolist()
            rows += [
                (side, lens.title, layer, number(value)) for layer, value in zip(run.layer_labels, values, strict=True)
            ]
    return columns(["run", "lens", "after layer", "mean KL(final || layer) (nats)"], rows)


def patchscope_table(comparison: Comparison, place: int, scope: Scope) -> Table:
    """Tabulate a patchscope: the prompt's continuation with each state of a place patched in, and unpatched.

    The likeliest next token with its probability, and the tokens that are written behind it, each the likeliest.
    """
    rows = Rows()
    for side, (run, position) in comparison.sides_at(place).items():
        scopes = patchscopes(run, position, scope)
        probabilities, best = scopes.logits.softmax(-1).max(-1)
        labels = run.tokenizer.labels(best)
        texts = [run.tokenizer.label_together(written) for written in scopes.written]
        names = (*run.layer_labels, "untouched")
        rows += [(side, *row) for row in zip(names, labels, probabilities.tolist(), texts, strict=True)]
    return columns(["run", "state after", "next token", "probability", "written"], rows)


def measures_of(comparison: Comparison, by_side: dict[str, Reading]) -> dict[str, dict[str, Measure]]:
    """Each of MEASURES [layer, place], of A, B and B - A."""
    by_run = {id(reading.run): _measures(reading) for reading in by_side.values()}

    def compared(name: str) -> dict[str, Measure]:
        return comparison.measured_by_place(lambda run: by_run[id(run)][name])

    return {name: compared(name) for name in MEASURES}


def _measures(reading: Reading) -> dict[str, Measure]:
    lens = reading.lens
    best = Measure("probability of the top token", "probability", ("layer", "pos"), lens.top_probs.values[..., 0])
    return dict(zip(MEASURES, (best, lens.entropy, lens.kl_from_final, reading.followed), strict=True))


def _lens(comparison: Comparison, by_side: dict[str, Reading], measures: dict[str, dict[str, Measure]]) -> Table:
    layers, rows = comparison.layer_labels, Rows()
    for side in measures[MEASURES[0]]:
        texts = [] if side == DIFFERENCE else _top_labels(comparison, by_side[side])
        for (layer, place), numbers in known(measures[name][side].values for name in MEASURES):
            text = texts[layer][place] if texts else None
            rows.append((side, layers[layer], place, text, *numbers))
    return columns(["run", "after layer", "place", "top token", *MEASURES], rows)


def _top_labels(comparison: Comparison, reading: Reading) -> list[list[str]]:
    best = on_axis(reading.lens.top_tokens.values[..., 0], comparison.positions(reading.run), 0)
    return [reading.run.tokenizer.labels(ids.clamp_min(0)) for ids in best]


def _best(comparison: Comparison, by_side: dict[str, Reading], layer: int, place: int) -> Table:
    rows = Rows()
    for side, (run, position) in comparison.sides_at(place).items():
        if layer < len(run.layer_labels):
            lens = by_side[side].lens
            tokens, probabilities = (
                each.values[layer, position].tolist() for each in (lens.top_tokens, lens.top_probs)
            )
            labels = ["" if token < 0 else run.tokenizer.labels([token])[0] for token in tokens]
            best = enumerate(zip(labels, probabilities, strict=True), 1)
            rows += [(side, rank, *row) for rank, row in best if row[0]]
    return columns(["run", "rank", "token", "probability"], rows)


def _followed(comparison: Comparison, by_side: dict[str, Reading], token: int, place: int) -> Table:
    rows = Rows()
    for side, (run, position) in comparison.sides_at(place).items():
        ranks = followed_ranks(run, token, by_side[side].by, range(position, position + 1)).values[:, 0].tolist()
        way = by_side[side].followed.values[:, position].tolist()
        for name, probability, rank in zip(run.layer_labels, way, ranks, strict=True):
            rows.append((side, name, number(probability), rank if rank > 0 else None))
    return columns(["run", "after layer", "probability", "rank"], rows)
