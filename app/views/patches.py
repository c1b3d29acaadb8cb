"""What the page *Patching* shows: which map, of which question, its cells' names, and the cells that matter most."""

from dataclasses import dataclass, replace

import numpy as np

from app import patching
from app.csv_files import Cell
from app.explained import logits_at
from app.patching import PATHS, Asked
from app.selection.chosen import Head, PatchMap, Selection
from app.shown import Shown
from app.views.head_tables import name
from app.views.reasons.chosen import Pair, pair_of
from app.views.reasons.numbers import Matrix
from model.errors import InputError

TITLES: dict[PatchMap, str] = {
    "z": "Heads",
    "resid_pre": "Stream before each layer, by position",
    "attn_out": "Attention's output, by position",
    "mlp_out": "MLP's output, by position",
    "z_by_position": "Heads of one layer, by position",
    "path_q": "Paths to a head's query",
    "path_k": "Paths to a head's key",
    "path_v": "Paths to a head's value",
}
INTO = {"A": "B into A", "B": "A into B"}
MOST_LISTED = 12


@dataclass(frozen=True, eq=False)
class Patched:
    """A map of shares as far as it is known, with its estimate where that was asked for.

    `a` and `b` are the logit difference in the two runs.
    """

    asked: Asked
    exact: Matrix
    estimate: Matrix | None
    agreement: float | None
    a: float
    b: float

    @property
    def complete(self) -> bool:
        """Whether every cell is known."""
        return not np.isnan(self.exact.values).any()

    @property
    def unpatched(self) -> float:
        """The share of the run that is patched, before anything is."""
        return 0.0 if self.asked.into == "A" else 1.0

    @property
    def order(self) -> list[tuple[int, int]]:
        """The cells that are known, that which moves the prediction most first."""
        moved = np.abs(self.exact.values - self.unpatched)
        places = np.argsort(-np.nan_to_num(moved, nan=-1.0), axis=None, kind="stable")[: int(np.isfinite(moved).sum())]
        return [divmod(int(place), moved.shape[1]) for place in places]


def lacking(shown: Shown) -> str:
    """Why these runs cannot be patched into one another, and what to do; nothing where they can."""
    a, b = shown.a, shown.b
    if b is None:
        return (
            "Patching puts a part of one prompt's run into another's. Press “Compare A | B” and give B a prompt of as "
            "many tokens, in which one word is another."
        )
    if b.edits:
        return "B is A with edits. Patching takes from another prompt: press “Compare A | B” and give B one of its own."
    if a.model is not b.model:
        return "A and B are runs of two models. A part of one means nothing to the other: choose one model for both."
    if len(a.tokens) != len(b.tokens):
        return (
            f"A has {len(a.tokens)} tokens and B {len(b.tokens)}: position by position, one can stand in for the other "
            "only where they have as many. Add or leave out words until they do."
        )
    return ""


def maps_of(shown: Shown) -> list[PatchMap]:
    """The maps that the model has."""
    cfg = shown.a.cfg
    without = {"mlp_out"} if cfg.attn_only else set()
    return [each for each in TITLES if each not in without and (each not in PATHS or cfg.n_layers > 1)]


def pair(shown: Shown, chosen: Selection) -> Pair:
    """Target and distractor: those typed, or what A and B say at the position, or else A's two likeliest."""
    position = position_of(shown, chosen)
    found = pair_of(shown, replace(chosen, position=shown.positions(shown.a).index(position)))
    if chosen.distractor or shown.b is None:
        return found
    said = int(logits_at(shown.b, position).argmax())
    return found if said == found.target else replace(found, distractor=said)


def position_of(shown: Shown, chosen: Selection) -> int:
    """The position after which the prediction is measured, the same in both runs: the last unless a place is chosen."""
    if chosen.position is None:
        return len(shown.a.tokens) - 1
    positions = (shown.positions(run)[chosen.position] for run in shown.runs)
    return next(position for position in positions if position is not None)


def layer_of(shown: Shown, chosen: Selection) -> int:
    """The layer whose heads are shown by position: the one chosen, or the last."""
    return shown.a.cfg.n_layers - 1 if chosen.patch_layer is None else chosen.patch_layer


def receiver_of(shown: Shown, chosen: Selection) -> Head:
    """The head that paths lead to: the one chosen, or the first of the last layer."""
    return chosen.patch_head or (shown.a.cfg.n_layers - 1, 0)


def asked_of(shown: Shown, chosen: Selection) -> Asked:
    """The map that is chosen.

    Raises:
        InputError: these runs cannot be patched into one another.
    """
    if shown.b is None or lacking(shown):
        raise InputError(lacking(shown))
    found = pair(shown, chosen)
    which = chosen.patch_map if chosen.patch_map in maps_of(shown) else "z"
    return Asked(
        shown.a.source.name,
        shown.a.prompt,
        shown.b.prompt,
        shown.a.bos,
        found.target,
        found.distractor,
        position_of(shown, chosen),
        chosen.patch_into,
        which,
        layer_of(shown, chosen) if which == "z_by_position" else 0,
        receiver_of(shown, chosen) if which in PATHS else (0, 0),
        chosen.patch_mlps and which in PATHS,
    )


def patched_of(shown: Shown, chosen: Selection) -> Patched:
    """The map as far as it has been done.

    Raises:
        HeadlightError: the runs do not differ in what is measured, or cannot be patched.
    """
    asked = asked_of(shown, chosen)
    runs, exact = patching.patching_of(asked), patching.known(asked, shown.a)
    rows, columns = (
        _labels(shown, asked, axis, size) for axis, size in zip(exact.axes, exact.values.shape, strict=True)
    )
    estimate = agreement = None
    if chosen.patch_estimate and asked.map not in PATHS:
        estimated = patching.estimate(asked)
        estimate = Matrix(rows, columns, estimated.values.numpy())
        agreement = patching.agreement(exact, estimated)
    return Patched(asked, Matrix(rows, columns, exact.values.numpy()), estimate, agreement, runs.a, runs.b)


def finished(shown: Shown, chosen: Selection) -> Patched:
    """The whole map; what of it has not been done is done.

    Raises:
        HeadlightError: as `patched_of`.
    """
    for piece in patching.pieces_of(asked_of(shown, chosen), shown.a):
        patching.do(piece)
    return patched_of(shown, chosen)


def _labels(shown: Shown, asked: Asked, axis: str, size: int) -> tuple[str, ...]:
    if axis == "layer":
        return tuple(f"L{layer}" for layer in range(size))
    if axis == "head":
        layer = f"L{asked.layer}" if asked.map == "z_by_position" else ""
        return tuple(f"{layer}H{head}" for head in range(size))
    assert shown.b is not None  # refused before
    pairs = zip(shown.a.labels[:size], shown.b.labels[:size], strict=True)
    return tuple(f"{place} {a}" if a == b else f"{place} {a}→{b}" for place, (a, b) in enumerate(pairs))


def title(asked: Asked) -> str:
    """What is patched, in words."""
    into = INTO[asked.into]
    if asked.map in PATHS:
        through = ", through MLPs too" if asked.through_mlps else ""
        return f"{into}: from each head to the {_READ[asked.map]} of {name(asked.receiver)}{through}"
    where = f" of layer {asked.layer}" if asked.map == "z_by_position" else ""
    return f"{into}: {TITLES[asked.map].lower().replace(' of one layer', where)}"


_READ: dict[PatchMap, str] = {"path_q": "query", "path_k": "key", "path_v": "value"}


def table(found: Patched, most: int | None = None) -> dict[str, list[Cell]]:
    """The cells that move the prediction most, one row a cell."""
    cells, exact = found.order[:most], found.exact
    rows, columns = _AXES[found.asked.map]
    listed: dict[str, list[Cell]] = {
        rows: [exact.rows[row] for row, _ in cells],
        columns: [exact.columns[column] for _, column in cells],
        "share": [float(exact.values[cell]) for cell in cells],
    }
    if found.estimate is not None:
        listed["estimate"] = [float(found.estimate.values[cell]) for cell in cells]
    return listed


def axes(asked: Asked) -> tuple[str, str]:
    """What the map's rows and columns are."""
    return _AXES[asked.map]


_AXES: dict[PatchMap, tuple[str, str]] = {
    "z": ("layer", "head"),
    "resid_pre": ("layer", "position"),
    "attn_out": ("layer", "position"),
    "mlp_out": ("layer", "position"),
    "z_by_position": ("head", "position"),
    "path_q": ("layer", "head"),
    "path_k": ("layer", "head"),
    "path_v": ("layer", "head"),
}
