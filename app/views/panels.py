"""Heads as the browser draws them: their weights as codes, laid on the page's axis."""

import numpy as np

from app import fields
from app import shown as pages
from app.axis import Axis, Group
from app.components import HeadPanel, HeadPattern, encode_weights
from app.run import Run
from app.selection.chosen import Head, Unit
from app.shown import Shown


def panel(shown: Shown, head: Head, axis: Axis, unit: Unit) -> HeadPanel:
    """One head in A, or in A and B."""
    if shown.b is None:
        return HeadPanel(coded(shown, 0, head, axis, unit))
    a, b = (coded(shown, index, head, axis, unit).on_axis(axis.positions[index]) for index in (0, 1))
    return HeadPanel(a, b)


def coded(shown: Shown, index: int, head: Head, axis: Axis, unit: Unit) -> HeadPattern:
    """One head of run number `index` on that run's own tokens, words or sentences."""
    group = axis.groups[index]
    return pages.kept(shown, ("head", index, head, unit), lambda: of_run(shown.runs[index], head, group))


def of_run(run: Run, head: Head, group: Group | None = None) -> HeadPattern:
    """One head of a run on its own tokens, or on the units that `group` makes of them."""
    attended = fields.attention_of(run, head, group)
    return HeadPattern(
        *head,
        weights=encode_weights(attended.weights.numpy(), attended.scores.isneginf().numpy()),
        logsumexp=attended.logsumexp.numpy().astype(np.float32),
        write_norms=attended.write_norms.numpy().astype(np.float32),
    )
