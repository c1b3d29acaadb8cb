"""Maps of patches as jobs: some variants at a time, so that the work can be shown and stopped.

What comes of a piece is in the cache of runs under the map's name, which says everything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from app import models, runs
from app.limits import GIB
from app.run import FLOPS, Run
from app.selection.chosen import Align, Head, PatchInto, PatchMap
from app.settings import settings
from model.analysis import Measure
from model.analysis.alignment import match_positions
from model.editing import tap
from model.edits import Edit
from model.errors import InputError
from model.hooks import NO_TAP
from model.patching import (
    AT_ONCE,
    Kind,
    LogitDifference,
    Patching,
    ReadAs,
    Variant,
    attribution_map,
    differing,
    grid,
    operations,
    path_differences,
    rank_correlation,
)

PIECE_SECONDS = 0.4  # by estimate, so that a click is heard soon
PATHS: dict[PatchMap, ReadAs] = {"path_q": "q", "path_k": "k", "path_v": "v"}
KINDS: dict[PatchMap, Kind] = {
    "resid_pre": "resid_pre",
    "attn_out": "attn_out",
    "mlp_out": "mlp_out",
    "z": "z",
    "z_by_position": "z_by_position",
}


@dataclass(frozen=True)
class Asked:
    """A map by name: two prompts, the logit difference at a position of each, and what is patched into which.

    B is run by `model_b` and with `edits`; prompts of different length are matched by `align`. `layer` counts for heads
    by position, `receiver` and `through_mlps` for paths; where they do not count they are 0.
    """

    model: str
    a: str
    b: str
    bos: bool
    target: int
    distractor: int
    position: int
    position_b: int
    model_b: str
    edits: tuple[Edit, ...] = ()
    align: Align = "tokens"
    into: PatchInto = "A"
    map: PatchMap = "z"
    layer: int = 0
    receiver: Head = (0, 0)
    through_mlps: bool = False


@dataclass(frozen=True)
class Piece:
    """Cells of a map that follow one another, row by row."""

    asked: Asked
    start: int
    stop: int


@dataclass(frozen=True)
class Cells:
    """What a map's rows and columns run over, and how many there are of each."""

    axes: tuple[str, str]
    shape: tuple[int, int]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]


def patching_of(asked: Asked) -> Patching:
    """The two runs, ready to be patched.

    Raises:
        HeadlightError: they cannot be run, have not as many tokens, or do not differ in what is measured.
    """
    pair = replace(asked, map="z", layer=0, receiver=(0, 0), through_mlps=False)
    return runs.remembered(("patching", pair), lambda: _patching_anew(pair))


def _patching_anew(asked: Asked) -> Patching:
    model, a, bos = runs.fed(asked.model, asked.a, asked.bos)
    model_b, b, _ = runs.fed(asked.model_b, asked.b, asked.bos)
    difference = LogitDifference(asked.target, asked.distractor, asked.position, asked.position_b)
    matches = match_positions(a.tolist(), b.tolist(), asked.align)
    means = runs.means_of(asked.edits, asked.model_b, asked.bos)
    with runs.turn(), torch.no_grad():  # and not in inference mode: gradients go through what edits hold
        device = settings().device
        running, running_b = models.on_device(model), models.on_device(model_b)
        edits = tap(running_b, b[None].to(device), asked.edits, bos, means=means) if asked.edits else NO_TAP
        return Patching(running, a[None], b[None], difference, asked.into, matches, running_b, edits)


def lacking(a: Run, b: Run, align: Align) -> str:
    """Why no part of one run can stand in for the other's, and what to do; nothing where it can."""
    if reason := differing(a.cfg, b.cfg):
        return reason
    if match_positions(a.tokens.tolist(), b.tokens.tolist(), align):
        return ""
    return (
        f"None of A's {len(a.tokens)} tokens is matched with one of B's {len(b.tokens)}, so there is nothing to patch. "
        "Match tokens by position, in the prompt bar, or give B a prompt that has more in common with A."
    )


def cells_of(asked: Asked, run: Run) -> Cells:
    """The map's sides.

    Raises:
        InputError: the model has no such map.
    """
    if asked.map in PATHS:
        if asked.receiver[0] == 0:
            raise InputError("No head comes before the first layer. Choose a receiver in a later one.")
        return Cells(("layer", "head"), (asked.receiver[0], run.cfg.n_heads))
    found = grid(KINDS[asked.map], run.cfg, patching_of(asked).reach, asked.layer)
    return Cells(found.axes, found.shape)


def pieces_of(asked: Asked, run: Run) -> tuple[Piece, ...]:
    """The map in pieces, each quick and within the memory that a run may take.

    Raises:
        InputError: the model has no such map, or not even one variant fits.
    """
    most = patching_of(asked).most_at_once(_at_once())
    found, start, planned = list[Piece](), 0, 0.0
    costs = [_seconds(asked, run, variant) for variant in _variants(asked, run)]
    for place, cost in enumerate(costs):
        if place > start and (planned + cost > PIECE_SECONDS or place - start >= most):
            found.append(Piece(asked, start, place))
            start, planned = place, 0.0
        planned += cost
    return (*found, Piece(asked, start, len(costs)))


def seconds(pieces: Sequence[Piece], run: Run) -> float:
    """How long these are estimated to take."""
    return sum(
        _seconds(piece.asked, run, variant)
        for piece in pieces
        for variant in _variants(piece.asked, run)[piece.start : piece.stop]
    )


def _variants(asked: Asked, run: Run) -> Sequence[Variant]:
    """The map's variants; a path's costs what one of the receiver's layer does."""
    if asked.map in PATHS:
        return [Variant("resid_pre", asked.receiver[0])] * cells_of(asked, run).count
    return grid(KINDS[asked.map], run.cfg, patching_of(asked).reach, asked.layer).variants


def _seconds(asked: Asked, run: Run, variant: Variant) -> float:
    return operations(run.cfg, [variant], patching_of(asked).n_pos) / FLOPS


def _at_once() -> int:
    return min(AT_ONCE, int(settings().run_gib * GIB))


def do(piece: Piece) -> Float[Tensor, " cell"]:
    """The shares of a piece's cells; the cache keeps them.

    Raises:
        HeadlightError: as `patching_of`.
    """
    return runs.remembered(("patched", piece), lambda: _do(piece))


def is_done(piece: Piece) -> bool:
    """Whether a piece's cells are known."""
    return runs.recalled(("patched", piece)) is not None


def _do(piece: Piece) -> Float[Tensor, " cell"]:
    asked, patching = piece.asked, patching_of(piece.asked)
    with runs.turn():
        if asked.map in PATHS:
            n_heads = patching.model.cfg.n_heads
            senders = [divmod(cell, n_heads) for cell in range(piece.start, piece.stop)]
            differences = path_differences(
                patching, senders, asked.receiver, PATHS[asked.map], asked.through_mlps, _at_once()
            )
        else:
            variants = grid(KINDS[asked.map], patching.model.cfg, patching.reach, asked.layer).variants
            differences = patching.differences(variants[piece.start : piece.stop], _at_once())
    return patching.share(differences).cpu()


def known(asked: Asked, run: Run) -> Measure:
    """The map as far as it has been done; NaN for the rest, and at positions that are not matched."""
    cells = cells_of(asked, run)
    shares = torch.full((cells.count,), torch.nan)
    for piece in pieces_of(asked, run):
        if (found := runs.recalled(("patched", piece))) is not None:
            shares[piece.start : piece.stop] = found.float()
    matched = patching_of(asked).only_matched(shares.reshape(cells.shape), cells.axes)
    return Measure("share of the logit difference", "share", cells.axes, matched)


def estimate(asked: Asked) -> Measure:
    """The map by attribution patching: from one run's gradients.

    Raises:
        HeadlightError: as `patching_of`.
    """
    patching = patching_of(asked)

    def made() -> Measure:
        with runs.turn():
            return attribution_map(patching, KINDS[asked.map], asked.layer)

    return runs.remembered(("attribution patching", asked), made)


def agreement(exact: Measure, estimated: Measure) -> float:
    """The rank correlation of a map with its estimate."""
    return rank_correlation(exact.values, estimated.values)
