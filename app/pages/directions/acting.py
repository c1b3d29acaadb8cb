"""Acting with a direction: the edit that adds it, projects it out or caps it, put into the drawer."""

from headlight.app import selection
from headlight.app.components import Listed, Number
from headlight.app.frame.edits import drawer
from headlight.app.pages.directions.choices import Choices
from headlight.app.pages.directions.direction_view import DirectionView
from headlight.app.parts import options
from headlight.app.parts.parts import heading
from headlight.app.runs import directions
from headlight.model.directions.dosing import WHERE
from headlight.model.runs.edits import MAX_EDITS, MAX_FACTOR, Action, EditDirection

ACTIONS: dict[Action, str] = {"add": "add it, times", "project_out": "project it out", "cap": "cap its part at"}
BESIDE = "B is then run A with the edit, on every page and in Generate."


def draw(view: DirectionView) -> None:
    """How it acts, and a button that makes an edit of it."""
    own = selection.current().choices_of(Choices)
    heading("Apply as an edit", "dir_edit", key="dir_edit")

    def apply() -> None:
        now = selection.current()
        drawer.change((*now.edits, edit_of(view, now.choices_of(Choices))), now.edits_off)

    full = len(selection.current().edits) >= MAX_EDITS
    options.row(
        options.bind(Listed, "dir_action", "Then", page=Choices, options=ACTIONS, width=170),
        None
        if own.dir_action == "project_out"
        else options.bind(Number, "dir_factor", "Factor", page=Choices, least=-MAX_FACTOR, most=MAX_FACTOR, step=0.25),
        options.bind(Listed, "dir_where", "At", page=Choices, options=WHERE, width=140),
        options.button("dir_apply", "Apply as an edit", apply, BESIDE, disabled=full),
        name="dir_edit",
        whole=True,
    )


def edit_of(view: DirectionView, own: Choices) -> EditDirection:
    """The edit, at the chosen layer; the direction is kept for it."""
    run = view.comparison.a
    positions = (len(run.tokens) - 1,) if own.dir_where == "end" else ()
    return EditDirection(directions.keep(view.direction), (view.layer,), own.dir_action, own.dir_factor, positions)
