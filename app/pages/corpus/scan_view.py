"""State of the page *Corpus*: a scan, another beside it, the figures, and the chosen heads."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headlight.app.pages.corpus.choices import Choices
from headlight.app.runs import models, scans
from headlight.app.selection.chosen import Selection
from headlight.model.base.errors import HeadlightError
from headlight.model.corpus.tables import shared
from headlight.model.corpus.titles import Estimates, change, estimates
from headlight.model.corpus.tree import Dashboard, Head, Tree
from headlight.model.runs.comparison import Comparison

WIDTHS = 4, 3  # of the pictures, and of the tables beside them
BY = ("induction_score",)  # what stands first where nothing is chosen, if the scan has it
ACROSS = ("prev_token_score", "qk_distance")
COLOUR = ("loss_change", "pattern_entropy")


@dataclass(frozen=True, eq=False)
class ScanView:
    """Scan A and optionally scan B, the metric that heads are ranked by, and those of the other axis and the colour.

    `heads` are the chosen ones, of which the first has its dashboard. `own` says whether the scan is of the model that
    is open. `series` are the scans of the same model's training steps, A's among them if it is of one.
    """

    a: Tree
    b: Tree | None
    by: str
    across: str
    colour: str
    heads: tuple[Head, ...]
    own: bool
    series: tuple[Tree, ...]

    @property
    def head(self) -> Head:
        """The head of the dashboard."""
        return self.heads[0]

    @property
    def listed(self) -> list[Head]:
        """The heads that both scans have, in the order of the rows."""
        return [head for head in self.a.rows if self.b is None or head in self.b.rows]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The figures that both scans have."""
        return shared(self.a, self.b)

    @cached_property
    def ordering(self) -> Estimates:
        """The metric that heads are ranked by: its values in A, or its change from A to B."""
        return estimates(self.a, self.by) if self.b is None else change(self.a, self.b, self.by)

    def order(self) -> list[Head]:
        """The heads that have the figure, the largest first; of a change that with the largest size."""
        values = {head: float(self.ordering.values[head]) for head in self.listed}
        known = [head for head, value in values.items() if np.isfinite(value)]
        return sorted(known, key=lambda head: -(values[head] if self.b is None else abs(values[head])))

    def dashboard(self) -> Dashboard:
        """Scan A's results for the head.

        Raises:
            HeadlightError: its file cannot be read.
        """
        return scans.dashboard(self.a, self.head)


def names_heads(chosen: Selection) -> bool:
    """Whether the heads of the scan are those of the chosen model, so that their names lead to its pages."""
    try:
        name = scans.named(chosen.scan, chosen.model)
        cfg = models.open_model(chosen.model).cfg
        return bool(name) and _is_of(scans.tree(name), chosen.model, (cfg.n_layers, cfg.n_heads))
    except HeadlightError:  # which the page itself tells
        return False


def _is_of(scan: Tree, model: str, shape: tuple[int, int]) -> bool:
    return scans.is_of(scan, model) and (scan.n_layers, scan.n_heads) == shape


def find(comparison: Comparison, chosen: Selection) -> ScanView | None:
    """Resolve the choices, with defaults for those not made; None without any scan.

    Raises:
        HeadlightError: a scan is not offered here, or cannot be read.
    """
    model, own = comparison.a.source.name, chosen.choices_of(Choices)
    name = scans.named(chosen.scan, model)
    if not name:
        return None
    a, b = scans.tree(name), _beside(comparison, own, name)
    metrics = shared(a, b)
    is_own = _is_of(a, model, (comparison.a.cfg.n_layers, comparison.a.cfg.n_heads))
    by = _first(metrics, own.corpus_by, *BY)
    view = ScanView(
        a,
        b,
        by=by,
        across=_first([each for each in metrics if each != by] or metrics, own.corpus_across, *ACROSS),
        colour=_first(metrics, own.corpus_colour, *COLOUR),
        heads=(),
        own=is_own,
        series=scans.series(a),
    )
    return _with_heads(view, (chosen.heads if is_own else own.scan_heads) or ())


def _beside(comparison: Comparison, own: Choices, name: str) -> Tree | None:
    """The scan that is chosen to stand beside, or that of B's model where that is another."""
    beside = own.scan_b
    if not beside and comparison.b is not None and not comparison.b.same_model(comparison.a):
        beside = scans.of_model(comparison.b.source.name)
    if not beside or beside == name:
        return None
    return scans.tree(beside)


def _first(metrics: Sequence[str], *wanted: str) -> str:
    return next((each for each in wanted if each in metrics), metrics[0])


def _with_heads(view: ScanView, chosen: Sequence[Head]) -> ScanView:
    there = tuple(head for head in chosen if head in view.a.rows)
    first = view.order() or list(view.a.rows)
    return replace(view, heads=there or (first[0],))
