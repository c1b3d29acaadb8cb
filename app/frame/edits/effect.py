"""Effect of edits: the next token's distribution before and after, and the tokens and layers that they reach."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import CellAxis, CellMap, Column, Table, cell_map, row_table
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.parts.labels import nats, percent, quoted
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection import Selection
from headlight.model.attention.residual import stream_change
from headlight.model.attribution.parts import logits_at
from headlight.model.measure.likelihood import kl_divergence, probabilities
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits.cone import cone
from headlight.model.runs.run import Run


def draw(changes: Mapping[str, Mapping[str, str]]) -> None:
    """Draw a table: by the run's name, of an only run none, what each measure was before the edits and is after."""
    measures = list(dict.fromkeys(measure for of_run in changes.values() for measure in of_run))
    if not measures:
        return
    compared = list(changes) != [""]
    first = Column("Before → after" if compared else "Measure", measures)
    columns = [
        Column(side if compared else "Before → after", [of_run.get(measure) for measure in measures])
        for side, of_run in changes.items()
    ]
    table = Table([first, *columns], title="What the edits change")
    row_table(table, key=selection.widget_key("edits_effect"), choosable=False, whole=True)


def draw_reach(edited: Mapping[str, Comparison]) -> None:
    """Draw the maps of the changed states, folded: of each run, by its name, with its edited one."""
    if not edited:
        return
    with st.expander("What the edits reach"):
        for side, before_and_after in edited.items():
            _map(before_and_after, side)


def _map(edited: Comparison, side: str) -> None:
    a, b = edited.runs
    changed, reached = changes_of_stream(a, b)
    cell_map(
        CellMap(
            np.where(reached, changed, np.nan)[::-1],
            CellAxis("after", a.layer_labels[::-1]),
            CellAxis("token", a.labels, numbered=True),
            title=f"{side}: relative change of the residual stream".removeprefix(": "),
            caption=f"{side}: colour is the relative change of the residual stream, ‖edited − unedited‖ / ‖unedited‖; "
            "grey cannot be affected.".removeprefix(": "),
            ends=(0.0, max(LEAST_EFFECT, float(changed.max(initial=0.0)))),
            lacks="cannot be affected",
        ),
        key=selection.widget_key(f"cone {side}".strip()),
    )


def measured(comparison: Comparison, chosen: Selection, side: str, edited: Comparison) -> dict[str, str]:
    """The target's probability and its logit less the distractor's, before and after; none of an only output.

    Args:
        comparison: the page's runs, which say what is measured, and where.
        chosen: the choice of both tokens and their place.
        side: the page's run that is edited, A where it is empty.
        edited: that run and the same with edits.
    """
    before, after = edited.runs
    if before.cfg.output == "none" or before.cfg.has_one_output:
        return {}
    position = comparison.positions(comparison.sides[side or "A"])[place_of(comparison, chosen)]
    if position is None:
        return {}
    pair = pair_of(comparison, chosen)
    target, distractor = map(quoted, before.outputs.labels([pair.target, pair.distractor]))
    logits = [logits_at(run, position) for run in (before, after)]
    shares = [float(probabilities(each, before.cfg.multi_label)[pair.target]) for each in logits]
    gaps = [float(each[pair.target] - each[pair.distractor]) for each in logits]
    differences = [f"{gap:+.2f}".replace("-", "−") for gap in gaps]
    return {
        f"Probability of {target}": " → ".join(percent(share, 1) for share in shares),
        f"Logits {target} − {distractor}": " → ".join(differences),
    }


def of_output(before: Run, after: Run) -> dict[str, str]:
    """The most likely output before and after, and how far the distribution has moved; or a single output."""
    if before.cfg.output == "none":
        return {}
    if before.cfg.has_one_output:
        values = (float(run.next_logits[0]) for run in (before, after))
        return {before.label_names[0]: " → ".join(f"{value:.3f}" for value in values)}
    moved = float(kl_divergence(before.next_logits, after.next_logits[None], before.cfg.multi_label).values[0])
    return {
        f"Most likely {'label' if before.label_names else 'next token'}": " → ".join(map(_likeliest, (before, after))),
        "KL(before ‖ after)": f"{nats(moved)} nats",
    }


def _likeliest(run: Run) -> str:
    shares = probabilities(run.next_logits, run.cfg.multi_label)
    (label,) = run.outputs.labels([int(shares.argmax())])
    return f"{quoted(label)} {percent(float(shares.max()), 1)}"


def changes_of_stream(a: Run, b: Run) -> tuple[np.ndarray, np.ndarray]:
    """By state and position: how much the stream is changed, and whether the edits reach it at all."""
    changed = b.keep("change of the stream", lambda: stream_change(a.streams(), b.streams()).values.numpy())
    return changed, cone(b.edits, b.cfg, len(b.tokens)).numpy()
