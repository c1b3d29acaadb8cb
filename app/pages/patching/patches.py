"""State of the page *Patching*: the map, its question, the names of its cells, and the cells with most effect."""

from dataclasses import dataclass, replace

import numpy as np

from headlight.app.exports.csv_files import Cell
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.figures.text import named_place
from headlight.app.pages.patching.choices import Choices
from headlight.app.parts.first_heads import heads_of
from headlight.app.parts.matrix import Matrix
from headlight.app.parts.pair import Pair, pair_of
from headlight.app.runs import patching
from headlight.app.runs.patching import PatchQuestion
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import InputError
from headlight.model.measure.alignment import Matches
from headlight.model.patching import PATHS, LogitDifference, Parts, PatchMap, of_runs, rank_correlation
from headlight.model.patching.runs import Into
from headlight.model.patching.tables import cells_axes, cells_named
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head, head_name

TITLES: dict[PatchMap, str] = {
    "z": "Heads",
    "resid_pre": "Residual stream before each layer, by position",
    "attn_out": "Attention output, by position",
    "mlp_out": "MLP output, by position",
    "z_by_position": "Heads of one layer, by position",
    "path_q": "Paths to a head's query",
    "path_k": "Paths to a head's key",
    "path_v": "Paths to a head's value",
}
INTO = {"A": "B into A", "B": "A into B"}
MAX_LISTED = 12


@dataclass(frozen=True, eq=False)
class PatchedMap:
    """The known cells of a patching map, with the gradient estimate if that is on.

    Positions that are not matched have no share. `a` and `b` are the logit difference in the two runs; `complete` says
    whether every cell is known.
    """

    question: PatchQuestion
    exact: Matrix
    estimate: Matrix | None
    agreement: float | None
    a: float
    b: float
    complete: bool

    @property
    def unpatched(self) -> float:
        """The share of the run that is patched, before anything is."""
        return 0.0 if self.question.into == "A" else 1.0

    def limit(self, matrix: Matrix) -> float:
        """Limit of a map's colour scale, from the share with nothing patched."""
        return max(LEAST_EFFECT, float(np.nanmax(np.abs(matrix.values - self.unpatched), initial=0.0)))

    @property
    def order(self) -> list[tuple[int, int]]:
        """The cells that are known, that which moves the prediction most first."""
        moved = np.abs(self.exact.values - self.unpatched)
        places = np.argsort(-np.nan_to_num(moved, nan=-1.0), axis=None, kind="stable")[: int(np.isfinite(moved).sum())]
        return [divmod(int(place), moved.shape[1]) for place in places]


def obstacle(comparison: Comparison, chosen: Selection) -> str:
    """Reason why these runs cannot be patched into one another, and what to do; empty where they can."""
    if comparison.b is None:
        return (
            "Activation patching copies activations from one run into another. Press “Compare A | B” and give B the "
            "same prompt with one word changed, or edit run A."
        )
    return of_runs.mismatch(comparison.a, comparison.b, chosen.align)


def maps_of(comparison: Comparison, into: Into) -> list[PatchMap]:
    """The maps that there are: paths are followed into a run without edits, from the second layer on."""
    cfg = comparison.a.cfg
    edited = into == "B" and comparison.b is not None and bool(comparison.b.edits)
    without = {"mlp_out"} if cfg.attn_only else set()
    without |= set(PATHS) if edited or cfg.n_layers == 1 else set()
    return [each for each in TITLES if each not in without]


def matches_of(comparison: Comparison, chosen: Selection) -> Matches:
    """Matched positions of A and B."""
    assert comparison.b is not None
    return of_runs.matches_of(comparison.a, comparison.b, chosen.align)


def pair(comparison: Comparison, chosen: Selection) -> Pair:
    """Target and distractor: those typed, or the predictions of A and B, or else A's two most likely tokens."""
    position, position_b = measured_at(comparison, chosen)
    return pair_of(comparison, replace(chosen, position=comparison.place_of(comparison.a, position)), position_b)


def measured_at(comparison: Comparison, chosen: Selection) -> tuple[int, int]:
    """The positions in A and in B at which the prediction is measured: that of each, or a pair that is chosen.

    Only positions that belong together can be chosen.
    """
    assert comparison.b is not None
    own = comparison.a.prediction_position, comparison.b.prediction_position
    if chosen.position is None:
        return own
    a, b = (comparison.positions(run)[chosen.position] for run in comparison.runs)
    return next((pair for pair in matches_of(comparison, chosen) if pair[0] == a or (a is None and pair[1] == b)), own)


def layer_of(comparison: Comparison, chosen: Selection) -> int:
    """The layer whose heads are patched by position: the chosen one, or the last."""
    layer = chosen.choices_of(Choices).patch_layer
    return comparison.a.cfg.n_layers - 1 if layer is None else layer


def receiver_of(comparison: Comparison, chosen: Selection) -> Head:
    """The head that paths lead to: the one chosen here, or the first of the page's heads that a layer lies below.

    Without any it is the first of the last layer.
    """
    above = (head for head in heads_of(comparison, chosen) if head[0] > 0)
    return chosen.choices_of(Choices).patch_head or next(above, (comparison.a.cfg.n_layers - 1, 0))


def question_of(comparison: Comparison, chosen: Selection) -> PatchQuestion:
    """The map that is chosen.

    Raises:
        InputError: these runs cannot be patched into one another.
    """
    if comparison.b is None or obstacle(comparison, chosen):
        raise InputError(obstacle(comparison, chosen))
    tokens, (position, position_b) = pair(comparison, chosen), measured_at(comparison, chosen)
    own = chosen.choices_of(Choices)
    which = own.patch_map if own.patch_map in maps_of(comparison, own.patch_into) else "z"
    if which in PATHS:
        parts = Parts(which, receiver=receiver_of(comparison, chosen), through_mlps=own.patch_mlps)
    else:
        parts = Parts(which, layer_of(comparison, chosen) if which == "z_by_position" else 0)
    return PatchQuestion(
        comparison.a.source.name,
        comparison.a.prompt,
        comparison.b.prompt,
        comparison.a.bos,
        LogitDifference(tokens.target, tokens.distractor, position, position_b),
        comparison.b.source.name,
        comparison.b.edits,
        chosen.align,
        own.patch_into,
        parts,
    )


def patched_of(comparison: Comparison, chosen: Selection) -> PatchedMap:
    """The map as far as it has been done.

    Raises:
        HeadlightError: the runs do not differ in what is measured, or cannot be patched.
    """
    question = question_of(comparison, chosen)
    cells, exact = patching.cells_of(question), patching.known(question)
    rows, columns = (tuple(map(named_place, names)) for names in cells_named(comparison, cells))
    estimate = agreement = None
    if chosen.choices_of(Choices).patch_estimate and question.parts.what not in PATHS:
        estimated = patching.estimate(question)
        estimate = Matrix(rows, columns, estimated.values.numpy())
        agreement = rank_correlation(exact.values, estimated.values)
    complete = all(map(patching.is_done, patching.pieces_of(question)))
    a, b = cells.patching.a, cells.patching.b
    return PatchedMap(question, Matrix(rows, columns, exact.values.numpy()), estimate, agreement, a, b, complete)


def finished(comparison: Comparison, chosen: Selection) -> PatchedMap:
    """The whole map; missing cells are computed.

    Raises:
        HeadlightError: as `patched_of`.
    """
    for piece in patching.pieces_of(question_of(comparison, chosen)):
        patching.do(piece)
    return patched_of(comparison, chosen)


def said_after(comparison: Comparison, chosen: Selection) -> str:
    """After which token the prediction is measured."""
    a, b = (
        comparison.token_at(run, position)
        for run, position in zip(comparison.runs, measured_at(comparison, chosen), strict=True)
    )
    return a if a == b else f"{a} in A and {b} in B"


def said_of_b(comparison: Comparison, chosen: Selection) -> list[str]:
    """Say how B differs from A: in length, by edits, or by its model."""
    assert comparison.b is not None
    remarks, n_a, n_b = list[str](), len(comparison.a.tokens), len(comparison.b.tokens)
    if n_a != n_b:
        matches, how = matches_of(comparison, chosen), "tokens" if chosen.align == "tokens" else "position"
        changed = sum(int(comparison.a.tokens[a] != comparison.b.tokens[b]) for a, b in matches)
        remarks.append(
            f"{len(matches)} of A's {n_a} positions are matched with B's {n_b}, by {how}; {changed} of them have "
            "different tokens. Unmatched positions (−, +) are not patched."
        )
    if comparison.b.edits:
        remarks.append(
            "B is A with edits. A's activations are patched into the edited run, where later edits apply again, or "
            "the edited activations into A. Path patching works into A only."
        )
    if not comparison.b.same_model(comparison.a):
        remarks.append(
            f"B runs on {comparison.b.source.name}. Its activations have the same shapes, but correspond only if one "
            "of the two models was trained from the other."
        )
    return remarks


def title(question: PatchQuestion) -> str:
    """Patched part, in words."""
    into, parts = INTO[question.into], question.parts
    if parts.what in PATHS:
        through = ", through MLPs too" if parts.through_mlps else ""
        return f"{into}: from each head to the {_READ[parts.what]} of {head_name(parts.receiver)}{through}"
    where = f" of layer {parts.layer}" if parts.what == "z_by_position" else ""
    return f"{into}: {TITLES[parts.what].lower().replace(' of one layer', where)}"


_READ: dict[PatchMap, str] = {"path_q": "query", "path_k": "key", "path_v": "value"}


def table(patched: PatchedMap, most: int | None = None) -> dict[str, list[Cell]]:
    """The cells that move the prediction most, one row a cell."""
    cells, exact = patched.order[:most], patched.exact
    rows, columns = axes(patched.question)
    listed: dict[str, list[Cell]] = {
        rows: [exact.rows[row] for row, _ in cells],
        columns: [exact.columns[column] for _, column in cells],
        "share": [float(exact.values[cell]) for cell in cells],
    }
    if patched.estimate is not None:
        listed["estimate"] = [float(patched.estimate.values[cell]) for cell in cells]
    return listed


def axes(question: PatchQuestion) -> tuple[str, str]:
    """Names of the map's rows and columns."""
    return cells_axes(patching.cells_of(question))
