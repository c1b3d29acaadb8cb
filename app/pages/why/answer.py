"""The answer of the page *Why*: the parts that made the difference, from which the head to be explained is chosen."""

from collections.abc import Mapping

import streamlit as st

from headlight.app import selection
from headlight.app.figures.colours import LEAST_EFFECT
from headlight.app.pages.why import figures as numbers
from headlight.app.pages.why import spelled
from headlight.app.parts import options, part_maps, part_plots
from headlight.app.parts.charts import choosable
from headlight.app.parts.labels import quoted, signed_cents
from headlight.app.parts.markdown import plain
from headlight.app.parts.pair import Pair
from headlight.app.parts.parts import heading
from headlight.app.parts.sides import DIFFERENCE, compared_parts
from headlight.model.attribution.explanation import Explained
from headlight.model.attribution.tables import effect_by_name
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import Head

NAMED = 3  # parts that the finding names
FALL = "why_fall"


def draw(comparison: Comparison, pair: Pair, sides: Mapping[str, Explained], side: str) -> None:
    """Draw the finding as a heading, and under it the parts' direct effects as bars, of which a head's is clicked."""
    effects = compared_parts(sides, effect_by_name)[side]
    heading(finding(comparison, pair, sides, side), "why_attribution", level=1, key="why_finding")
    plot = part_plots.fall(effects, f", {side}" if comparison.b is not None else "")
    names = [row.label for row in part_maps.fall_rows(effects, "")]
    heads = heads_by_name(sides)
    choosable(plot, "Direct logit attribution", FALL, lambda places: _explain([names[at] for at in places], heads), ())
    caption = "Click a head's bar to explain it below."
    if side != DIFFERENCE:
        caption = f"{caption} {spelled.effects(sides[side])}"
    st.caption(plain(caption))


def finding(comparison: Comparison, pair: Pair, sides: Mapping[str, Explained], side: str) -> str:
    """The difference of the two logits and the heads and MLPs with the largest effects on it, in two sentences."""
    target, distractor = map(quoted, comparison.a.outputs.labels([pair.target, pair.distractor]))
    effects = compared_parts(sides, effect_by_name)[side]
    total = sum(effects.values())
    moving = {name for at in sides.values() for name in moving_parts(at)}
    strongest = sorted(moving & set(effects), key=lambda name: -abs(effects[name]))[:NAMED]
    parts = [f"{name} ({signed_cents(effects[name])})" for name in strongest if abs(effects[name]) >= LEAST_EFFECT]
    largest = f"Largest effects: {', '.join(parts)}" if parts else f"No head or MLP moves it by {LEAST_EFFECT:g}"
    if side == DIFFERENCE:
        return f"From A to B the logit difference changes by {signed_cents(total)}. {largest}."
    if comparison.a.cfg.has_one_output:
        return f"{target} is {signed_cents(total)}. {largest}."
    verb = "leads" if total >= 0 else "trails"
    return f"{target} {verb} {distractor} by {abs(total):.2f} logits. {largest}."


def moving_parts(at: Explained) -> list[str]:
    """Names of the heads and MLPs, which are what the model computes of its embeddings."""
    return [part.name for part in at.effects.parts if part.layer is not None and numbers.BIAS not in part.name]


def heads_by_name(sides: Mapping[str, Explained]) -> dict[str, Head]:
    """The heads by the names of their effects."""
    return {
        part.name: (part.layer, part.head)
        for at in sides.values()
        for part in at.effects.parts
        if part.layer is not None and part.head is not None
    }


def _explain(names: list[str], heads: Mapping[str, Head]) -> None:
    head = next((heads[name] for name in names if name in heads), None)
    if head is not None:
        selection.choose(heads=options.with_first(head), keys=())
