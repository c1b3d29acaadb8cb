"""Head internals: every step from the stream to the head's write, with one number followed through all of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st

from headlight.app import selection
from headlight.app.components import Choice, Followed, HeadSteps, Listed, Option, StepKeys, followed, head_steps
from headlight.app.exports.drawings import Drawing, on_screen
from headlight.app.glossary import TERMS
from headlight.app.pages.inside.choices import Choices, Convention, Inside, on_common_keys, query_of, sides_of
from headlight.app.pages.inside.equations import difference, steps_of
from headlight.app.parts import options, tables
from headlight.app.parts.first_heads import head_of
from headlight.app.parts.labels import number
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading, title_row
from headlight.app.parts.sides import DIFFERENCE, as_shown, compared, is_there, side_of
from headlight.model.attention.inside_tables import by_component, by_entry, by_key
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.edits import head_name, touches

CONVENTIONS: dict[Convention, str] = {"row": "a row: q = x W", "column": "a column: q = Wᵀ x"}


def render(comparison: Comparison) -> None:
    """The choices, and the steps of A, of B or of their difference."""
    side = side_of(comparison, selection.current())
    _take_click(comparison, side)
    sides = sides_of(comparison, selection.current())
    _options(comparison, sides.get(side) or sides.get("A") or sides.get("B"))
    if not is_there(sides, side):
        without = " and ".join(sorted(set(comparison.sides) - set(sides)))
        st.info(plain(f"{without} has no token at the query's place. Choose another query, or show the other run."))
        return
    if any(touches(edit, each.head, each.run.cfg) for each in sides.values() for edit in each.run.edits):
        st.caption(
            "B has edits inside this head. Below are the steps with the queries, keys and values that they leave; what "
            "they put in place of scores, pattern or output is not one of these steps."
        )
    table = selection.current().table
    if not table:
        steps, following = described(comparison, sides, side, selection.current().choices_of(Choices).convention)
        head_steps(steps, value=following, epoch=selection.epoch(), key=_key(side))
        _say_which_keys(sides, side)
    if comparison.b is not None and len(sides) == 2:
        _compared(comparison, sides)
    if table:
        _tables(comparison, sides, side)


def described(
    comparison: Comparison, sides: Mapping[str, Inside], side: str, convention: Convention, title: str = ""
) -> tuple[HeadSteps, Followed]:
    """The steps of one side, of the difference those of the keys in both windows, and the number followed."""
    if side == DIFFERENCE:
        at, b = on_common_keys(comparison, sides["A"], sides["B"])
        steps = difference(steps_of(at, convention), steps_of(b, convention))
    else:
        at = sides[side]
        steps = steps_of(at, convention)
    places = [_place(comparison, at, position) for position in at.window]
    labels = [comparison.labels[place] for place in places]
    keys = StepKeys(places, labels, len(at.run.tokens), _place(comparison, at, at.query))
    entry = None if side == DIFFERENCE else at.entry
    return HeadSteps(steps, keys, title, entry), _followed(comparison, at)


def for_file(comparison: Comparison, sides: Mapping[str, Inside], side: str, convention: Convention) -> Drawing:
    """Steps of one side with the details of every key, since a file can ask no server."""
    steps, following = described(comparison, sides, side, convention, "" if comparison.b is None else side)
    at = on_common_keys(comparison, sides["A"], sides["B"])[0] if side == DIFFERENCE else sides[side]
    return on_screen(replace(steps, spelled=_for_each_key(at, steps.keys.places, side)), following)


def _for_each_key(at: Inside, places: Sequence[int], side: str) -> dict[int, list[tuple[str, ...]]]:
    """Each step's lines by the place of the key that is followed; a difference has none."""
    if side == DIFFERENCE:
        return {}
    following = (replace(at, key=position) for position in at.window)
    return {
        place: [step.spelled for step in steps_of(each, "row")] for place, each in zip(places, following, strict=True)
    }


def _key(side: str) -> str:
    return selection.widget_key(f"steps_{side}")


def _place(comparison: Comparison, at: Inside, position: int) -> int:
    return comparison.place_of(at.run, position)


def _followed(comparison: Comparison, at: Inside) -> Followed:
    return Followed(_place(comparison, at, at.key), at.component)


def _take_click(comparison: Comparison, side: str) -> None:
    """Apply a click in the matrices before anything is drawn from it."""
    sides = sides_of(comparison, selection.current())
    at = sides.get("A" if side == DIFFERENCE else side)
    if at is None:
        return
    before = _followed(comparison, at)
    clicked = followed(before, selection.epoch(), _key(side))
    if clicked != before and clicked.key < len(comparison.labels) and clicked.component < len(at.steps.q.values):
        selection.choose(Choices, keys=(clicked.key,), component=clicked.component)


def _options(comparison: Comparison, at: Inside | None) -> None:
    now = selection.current()
    query = query_of(comparison, now)
    with title_row(f"Inside {head_name(head_of(comparison, now))}", "inside", "head", level=1, key="inside"):
        options.row(
            options.first_head("inside_head", comparison, head_of(comparison, now)),
            options.place(
                "inside_query",
                "Query token",
                comparison.labels,
                query,
                lambda at: selection.choose(queries=(at,)),
                groups=comparison.turns,
            ),
            *(_to_follow(comparison, at) if at is not None else ()),
            options.side(comparison.b is not None, "Steps of", help=TERMS["inside_side"]),
            options.as_tables(),
            _convention(),
        )


def _to_follow(comparison: Comparison, at: Inside) -> Iterator[Option]:
    """The key and the component whose numbers are spelled out."""
    key, component = _followed(comparison, at)
    components = {each: str(each) for each in range(len(at.steps.q.values))}

    def change(new: int) -> None:
        selection.choose(Choices, component=new)

    yield options.place(
        "inside_key",
        "Follow key",
        comparison.labels,
        key,
        lambda at: selection.choose(keys=(at,)),
        groups=comparison.turns,
    )
    yield options.tie(Listed, "inside_component", "and component", component, change, options=components, width=80)


def _convention() -> Choice:
    help = TERMS["inside_convention"]
    return options.bind(Choice, "convention", "One token is", page=Choices, options=CONVENTIONS, help=help, folded=True)


def _say_which_keys(sides: Mapping[str, Inside], side: str) -> None:
    """One line where there is no room for all keys, or only some have a difference."""
    if side == DIFFERENCE:
        st.caption(f"The result of each step, {DIFFERENCE}, at the keys that both have.")
        return
    at = sides[side]
    n_keys = len(at.run.tokens)
    if len(at.window) < n_keys:
        masked = "the first that are masked, " if at.query < n_keys - 1 else ""
        st.caption(
            plain(
                f"The matrices show {len(at.window)} of {n_keys:,} keys: the one followed, the query itself, {masked}"
                "and the strongest. All sums are over all keys."
            )
        )


def _compared(comparison: Comparison, sides: Mapping[str, Inside]) -> None:
    """The followed number of A beside that of B; a run without that key follows its own strongest."""
    rows = ("dots", "scores", "exponentials", "weights")
    names = [getattr(sides["A"].steps, row).name for row in rows]
    values = compared(sides, lambda at: np.array([float(getattr(at.steps, row).values[at.key]) for row in rows]))
    titles = {side: f"{side}: key {comparison.token_at(at.run, at.key)}" for side, at in sides.items()}
    st.dataframe(
        {"The followed key": names, **{titles.get(side, side): list(map(number, row)) for side, row in values.items()}},
        hide_index=True,
        width="content",
        alt="The followed key's numbers in A, in B, and B minus A",
    )


def _tables(comparison: Comparison, sides: Mapping[str, Inside], side: str) -> None:
    """Every step, key, component and entry in numbers."""
    at = sides.get(side)
    for step in [] if at is None else steps_of(at, selection.current().choices_of(Choices).convention):
        st.text(f"{step.title}:  {step.formula}\n" + "\n".join(step.spelled))
    by_rows = (by_key(comparison, sides), by_component(sides), by_entry(sides))
    of_side = (as_shown(each).get(side, {}) for each in by_rows)
    keys, components, entries = ({name: values.numpy() for name, values in each.items()} for each in of_side)
    labels = {"Place": range(len(comparison.labels)), "Token": comparison.labels}
    for title, names, columns in (
        ("Every key", labels, keys),
        ("Every component, of the followed key", {"Component": None}, components),
        ("Every entry of the query's stream", {"Entry": None}, entries),
    ):
        heading(title)
        rows = range(len(next(iter(columns.values()), ())))
        own = {name: rows if values is None else values for name, values in names.items()}
        tables.draw({**own, **columns}, f"{title} {side if comparison.b is not None else ''}".strip())
