"""Effect of edits: the next token's distribution before and after, and the tokens and layers that they reach."""

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import CellAxis, CellMap, cell_map
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.parts.labels import quoted
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import pair_of, place_of
from headlight.app.selection import Selection
from headlight.model.attention.residual import stream_change
from headlight.model.attribution.parts import logits_at
from headlight.model.measure.likelihood import kl_divergence, probabilities
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits.cone import cone
from headlight.model.runs.run import Run


def draw(comparison: Comparison, line: str = "", side: str = "") -> None:
    """Draw lines about the measured tokens and the next one, and the map of the changed states, folded."""
    if comparison.b is None:
        return
    lines = " ".join(filter(None, [line, *said(comparison.a, comparison.b)]))
    st.text(f"{side}: {lines}" if side else lines)
    changed, reached = changes(comparison.a, comparison.b)
    with st.expander(plain(" in ".join(filter(None, ["What the edits reach", side])))):
        cell_map(
            CellMap(
                np.where(reached, changed, np.nan)[::-1],
                CellAxis("after", comparison.a.layer_labels[::-1]),
                CellAxis("token", comparison.a.labels, numbered=True),
                title="relative change of the residual stream",
                caption="Grey: cannot be affected. Colour: relative change of the residual stream, ‖B − A‖ / ‖A‖.",
                ends=(0.0, max(LEAST_EFFECT, float(changed.max(initial=0.0)))),
                lacks="cannot be affected",
            ),
            key=selection.widget_key(f"cone {side}".strip()),
        )


def measured(comparison: Comparison, chosen: Selection, side: str, edited: Comparison) -> str:
    """The target's probability and its logit less the distractor's, before and after; empty of an only output.

    Args:
        comparison: the page's runs, which say what is measured, and where.
        chosen: the choice of both tokens and their place.
        side: the page's run that is edited, A where it is empty.
        edited: that run and the same with edits.
    """
    before, after = edited.a, edited.b
    if after is None or before.cfg.output == "none" or before.cfg.has_one_output:
        return ""
    position = comparison.positions(comparison.sides[side or "A"])[place_of(comparison, chosen)]
    if position is None:
        return ""
    pair = pair_of(comparison, chosen)
    target, distractor = before.outputs.labels([pair.target, pair.distractor])
    logits = [logits_at(run, position) for run in (before, after)]
    shares = [float(probabilities(each, before.cfg.multi_label)[pair.target]) for each in logits]
    gaps = [float(each[pair.target] - each[pair.distractor]) for each in logits]
    differences = [f"{gap:+.2f}".replace("-", "−") for gap in gaps]
    return (
        f"{quoted(target)} {shares[0]:.1%} → {shares[1]:.1%}; logit difference to {quoted(distractor)} "
        f"{differences[0]} → {differences[1]}."
    )


def said(a: Run, b: Run) -> list[str]:
    """Describe the change of the output distribution and of its most likely output, or of a single output."""
    if a.cfg.output == "none":
        return []
    if a.cfg.has_one_output:
        return [f"{a.label_names[0]}: {float(a.next_logits[0]):.3f} → {float(b.next_logits[0]):.3f}."]
    moved = float(kl_divergence(a.next_logits, b.next_logits[None], a.cfg.multi_label).values[0])
    before, after = (probabilities(run.next_logits, run.cfg.multi_label) for run in (a, b))
    first, then = int(before.argmax()), int(after.argmax())
    own, other = a.outputs.labels([first, then])
    change = f"{quoted(own)}, {before[first]:.1%} → {after[first]:.1%}"
    if first == then:
        line = f"Top prediction unchanged: {change}."
    else:
        line = f"Top prediction changed: {quoted(other)}, {before[then]:.1%} → {after[then]:.1%}; before: {change}."
    distribution = "Distribution of labels" if a.label_names else "Next-token distribution"
    return [f"{distribution}: KL(A ‖ B) = {moved:.3g} nats.", line]


def changes(a: Run, b: Run) -> tuple[np.ndarray, np.ndarray]:
    """By state and position: how much the stream is changed, and whether the edits reach it at all."""
    changed = b.keep("change of the stream", lambda: stream_change(a.streams(), b.streams()).values.numpy())
    return changed, cone(b.edits, b.cfg, len(b.tokens)).numpy()
