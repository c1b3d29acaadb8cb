"""One feature in full: its activation, its sources, promoted tokens, neighbours, and the heads that read it."""

from functools import partial

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Column, Number, Option, Table, TokenValues, row_table, token_values
from headlight.app.frame.edits import drawer
from headlight.app.pages.features.feature_view import FeatureView
from headlight.app.parts import needs, options, unit_windows
from headlight.app.parts.labels import number
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import by_side, named
from headlight.model.attribution.parts import Part
from headlight.model.attribution.tables import promoted_columns
from headlight.model.features.single_feature import MadeBy, made_by, nearest, tokens_of
from headlight.model.features.tables import activations, heads_reading
from headlight.model.runs.edits import EditFeature, Head, head_name
from headlight.model.runs.run import Run

MAX_PARTS, MAX_HEADS = 10, 6
WIDTHS = 4, 5, 4  # of who made it, its tokens, and the heads that read it
PAGES = {"why": "Why", "inside": "Inside"}
ABLATE = (
    "Ablates this feature in A and shows that as B on every page. The edits' drawer can clamp it or steer along it."
)
NO_STREAM = "This dictionary does not write to the residual stream."


def draw(view: FeatureView) -> None:
    """The strip of tokens, and the tables under it."""
    with title_row(f"Feature {view.feature}", "feature", key="feature"):
        options.row(_number(view), _ablate(view), name="feature", whole=True)
    _strip(view)
    side, run, position = _looked_at(view)
    where = "" if view.comparison.b is None else f" in {side}"
    left, middle, right = st.columns(WIDTHS, gap="medium")
    with left:
        _made(view, where, run, position)
    with middle:
        _promoted(view, where, run, position)
    with right:
        _readers(view, run)
        _nearest(view)
    unit_windows.draw(run, "features", "features", view.layer, view.feature, dictionary=view.name)


def _looked_at(view: FeatureView) -> tuple[str, Run, int]:
    """The first run that has the token, and its position there."""
    sides = view.comparison.sides.items()
    return next(
        (side, run, at) for side, run in sides if (at := view.comparison.positions(run)[view.place]) is not None
    )


def _choose(view: FeatureView, feature: int) -> None:
    selection.choose(feature=(view.layer, feature))


def _number(view: FeatureView) -> Option:
    most, change = view.dictionary.n_features - 1, partial(_choose, view)
    return options.tie(Number, "feature_number", "Feature", view.feature, change, least=0, most=most, step=1)


def _ablate(view: FeatureView) -> Option:
    edit = EditFeature(view.name, view.dictionary.hook_in, view.feature)
    return drawer.ablating("ablate_feature", edit, ABLATE)


def _strip(view: FeatureView) -> None:
    sides = by_side(activations(view.comparison, view.opened, view.layer, [view.feature]))
    lines = named(view.comparison, {side: values[0] for side, values in sides.items()}, "")
    place = token_values(
        TokenValues(
            view.comparison.labels,
            lines,
            title=f"activation of feature {view.feature}",
            signed=view.comparison.b is not None,
            turns=view.comparison.turns,
        ),
        chosen=view.place,
        epoch=selection.epoch(),
        key=selection.widget_key("feature_strip"),
    )
    if place is not None and place != view.place:
        selection.choose(position=place)
        st.rerun()


def _made(view: FeatureView, where: str, run: Run, position: int) -> None:
    heading(f"Sources of this activation{where}", "feature_made", key="feature_made")
    reason = needs.split(view.comparison)
    made = None if reason else made_by(run, view.dictionary, view.feature, position)
    if made is None:
        st.caption(
            plain(
                reason
                or ("This dictionary does not read the residual stream, so its activations have no sources to list.")
            )
        )
        return
    order = (-made.values.values.abs()).argsort(stable=True).tolist()
    slot = row_table(
        Table(
            [
                Column("part", [made.parts[each].name for each in order[:MAX_PARTS]]),
                Column("activation", [float(made.values.values[each]) for each in order[:MAX_PARTS]], 3, signed=True),
            ],
            title=f"Sources of feature {view.feature} at {view.place}",
            caption=spelled(made, order, run.labels[position]),
        ),
        epoch=_epoch(view),
        key=selection.widget_key("feature_made_table"),
    )
    by_most = sorted(order[:MAX_PARTS], key=lambda each: -float(made.values.values[each]))
    heads = [_head(made.parts[each]) for each in ([] if slot is None else [order[slot]]) + by_most]
    if (head := next(filter(None, heads), None)) is not None:
        _links(view, head, "made", "wrote it")


def _head(part: Part) -> Head | None:
    return None if part.layer is None or part.head is None else (part.layer, part.head)


def spelled(made: MadeBy, order: list[int], label: str) -> str:
    """The sum, said so that it can be followed."""
    rest = float(made.values.values[order[MAX_PARTS:]].sum())
    others = f", {number(rest)} of it the other {len(order) - MAX_PARTS}" if len(order) > MAX_PARTS else ""
    before = float(made.before.values)
    end = "" if before > 0 else ", which is cut off"
    return f"At {label}: contributions sum to {number(before)}{end}{others}."


def _links(view: FeatureView, head: Head, name: str, what: str) -> None:
    """Links to the pages about a head at the selected token."""
    st.caption(plain(f"{head_name(head)} {what}:"))
    options.row(*options.to_head(PAGES, head, view.place), name=f"feature_{name}", whole=True)


def _epoch(view: FeatureView) -> int:
    return selection.epoch(view.name, view.layer, view.feature, view.place)


def _promoted(view: FeatureView, where: str, run: Run, position: int) -> None:
    heading(f"Tokens{where}", "feature_tokens", key="feature_tokens")
    reason = needs.sums(view.comparison)
    tokens = None if reason else tokens_of(run, view.dictionary, view.feature, position)
    if tokens is None:
        st.caption(plain(reason or NO_STREAM))
        return
    raised, raised_by, lowered, lowered_by = promoted_columns(tokens, run.outputs)
    row_table(
        Table(
            [
                Column("promotes", raised),
                Column("logits", raised_by, 3, signed=True),
                Column("suppresses", lowered),
                Column("logits ", lowered_by, 3, signed=True),
            ],
            title=f"Tokens that feature {view.feature} promotes and suppresses",
            caption="Direct effect at an activation of 1.",
        ),
        key=selection.widget_key("feature_tokens_table"),
        choosable=False,
    )


def _nearest(view: FeatureView) -> None:
    near = nearest(view.dictionary, view.feature)
    heading("Nearest features", "feature_nearest", key="feature_nearest")
    features = near.features.tolist()
    place = row_table(
        Table(
            [Column("feature", [str(each) for each in features]), Column("cosine", near.cosines.tolist(), 3)],
            title=f"Features nearest to {view.feature}",
            caption="Click a row to open the feature.",
        ),
        epoch=_epoch(view),
        key=selection.widget_key("feature_nearest_table"),
    )
    if place is not None:
        _choose(view, features[place])
        st.rerun()


def _readers(view: FeatureView, run: Run) -> None:
    heading("Heads that read it", "feature_readers", key="feature_readers")
    reading = heads_reading(run, view.opened, view.layer, view.feature)[:MAX_HEADS]
    if not reading:
        st.caption("No later head reads it.")
        return
    scores = np.array([each for _, each in reading])
    place = row_table(
        Table(
            [
                Column("head", [head_name(head) for head, _ in reading]),
                *(Column(through, scores[:, at].tolist(), 3) for at, through in enumerate(("query", "key", "value"))),
            ],
            title=f"Heads that read feature {view.feature}",
            caption=f"From the weights alone; chance is about {1 / np.sqrt(run.cfg.d_model):.2f}.",
        ),
        epoch=_epoch(view),
        key=selection.widget_key("feature_readers_table"),
    )
    _links(view, reading[place or 0][0], "readers", "reads it")
