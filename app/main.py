"""The page: prompt bar, one run or two, navigation, one view, and an error boundary around them."""

from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headlight.app import selection
from headlight.app.components import nav_bar
from headlight.app.frame import (
    copied_picture,
    hint,
    link,
    notices,
    progress,
    prompt_list,
    reading,
    script_turns,
    take_away,
)
from headlight.app.frame.lessons import pane, state
from headlight.app.frame.view import PROMPTED, Kind, View, head_entries
from headlight.app.parts.markdown import plain
from headlight.app.parts.parts import heading
from headlight.app.registry import VIEWS
from headlight.app.runs import prompts, trusted
from headlight.app.runs.seen import ModelChangedError
from headlight.app.server import boundary, manual, memory
from headlight.app.server.settings import settings

APP = Path(__file__).parent
ASSETS = APP.parent / "assets"
STYLES = APP / "tokens.css", APP / "style.css", APP / "frame" / "frame.css"
STOPPED = "Stopped. Run it again, or shorten the prompt."
MAX_MODELS = 2  # A's and B's
ABOUT = "What every attention head of a transformer does with your prompt. Nothing you type leaves the server."


@script_turns.in_turn()
def main() -> None:
    """Draw the page that the URL names."""
    memory.spare_modules()
    icon = str(ASSETS / "icon.png")
    st.set_page_config(
        page_title="Headlight",
        page_icon=icon,
        layout="wide",
        menu_items={"About": ABOUT, **manual.menu_item(st.context.url)},
    )
    st.logo(ASSETS / "logo.svg", size="large")
    for sheet in STYLES:
        st.html(sheet)
    status, changed = "", list[str]()
    with boundary.guard(notices.refused):
        selection.arrive(VIEWS, settings().model, prompts.first_prompt, trusted.unasked)
        pane.arrive(VIEWS)
        kind = _view().kind
        kind.bar()
        notes = st.container()  # a place of its own, empty or not, so that a notice does not make what is below anew
        beginning = kind.menus()
        with beginning:
            runs = _shown(kind, changed)
        with notes:
            link.draw()
            status = _say(kind, runs, changed)
        if runs is not None:
            with beginning:
                kind.about(runs)
            kind.drawer()
    if selection.arrived():  # or else the URL has not been read, and would be overwritten
        _content(_view().kind, selection.pending(), status)
        pane.draw(VIEWS)


def _view() -> View:
    return next((view for view in VIEWS if view.slug == selection.page()), VIEWS[0])


def _shown(kind: Kind, changed: list[str]) -> Any:
    """The runs of the pending selection; of the active one where that fails; None before the first.

    That files of a model have changed is added to `changed`: the runs are of the current ones.
    """
    place = st.container()  # of its own, empty or not, so that what is below it is not made anew
    if (pending := selection.pending()) is not None:
        with boundary.guard(selection.refuse), place:
            with progress.of_steps(kind.awaited(pending), lambda: selection.refuse(STOPPED)):
                runs = _runs(kind, pending, changed)
            selection.accept(kind.within(pending, runs))
    before = selection.active()
    return _runs(kind, before, changed) if before else None


def _runs(kind: Kind, chosen: selection.Selection, changed: list[str]) -> Any:
    """Runs of a selection, all repeated where a model's files have changed, so that they are of the same files."""
    for _ in range(MAX_MODELS):
        try:
            return kind.runs_for(chosen)
        except ModelChangedError as error:
            changed.append(str(error))
    return kind.runs_for(chosen)


def _say(kind: Kind, runs: Any, changed: list[str]) -> str:
    """Show notices about the request; return the text for screen readers."""
    inputs = None if runs is None else kind.inputs(runs)
    instead = kind.on_default(refused) if (refused := selection.refused()) is not None else None
    for number, reason in enumerate(changed):
        notices.refused(reason, f"model-{number}")
    notices.draw(selection.unread(), selection.refusal(), inputs, instead)
    return selection.refusal() or ("" if runs is None else f"Shown: {' and '.join(kind.inputs(runs))}")


@st.fragment
def _content(bar: Kind, unanswered: selection.Selection | None, status: str) -> None:
    """Draw the navigation and the view, as a fragment.

    A choice in them redraws only them, unless it needs another run or a page with another bar. A selection that failed
    is not requested again.
    """
    _navigation(status)
    view, seen = _view(), selection.active()
    if view.kind is not bar or selection.pending() is not unanswered or not selection.arrived():
        st.rerun()
    notices.of_lost_list()
    if seen is not None:
        with _place(view), boundary.guard(lambda reason: notices.refused(reason, "view")):
            _draw(view, view.kind.runs_for(seen))
        if view.kind is PROMPTED:
            prompt_list.note(selection.current(), view.slug, view.title)
        trusted.trust(selection.current())
    elif selection.refused() is not None and not notices.missing_texts(selection.unread()):
        with _place(view):
            view.kind.offer()
    selection.write_url(prompt_list.in_address() | state.in_address())


def _navigation(status: str) -> None:
    groups: dict[str, dict[str, str]] = {}
    for view in VIEWS:
        groups.setdefault(view.group, {})[view.slug] = view.title
    nav_bar(
        groups,
        _view().slug,
        status,
        key=selection.widget_key("navigation"),
        turn_to=selection.turn_to,
        of_head={} if (now := selection.active()) is None else head_entries(VIEWS, _view(), now),
        open_head=_view().kind.open_head,
        picture=copied_picture.of_session().fetchable,
    )


def _place(view: View) -> DeltaGenerator:
    """Container of a view: at each change of page the other one of two, and the one that is left is hidden.

    What stood there would else be seen below the next page's heading until that page has been computed.
    """
    key = selection.widget_key("drawn")
    slug, place = st.session_state.get(key, (view.slug, 0))
    place = place if slug == view.slug else 1 - place
    st.session_state[key] = view.slug, place
    return [st.container(key=f"headlight-{'view' if each == place else 'left'}") for each in range(2)][place]


def _draw(view: View, runs: Any) -> None:
    hint.draw(view.kind.look_at(runs))
    if obstacle := view.needs(runs):
        heading(view.title)
        st.info(plain(obstacle))
        return
    view.render(runs)
    if view.reading:
        reading.draw(view.slug, view.reading, runs, view.reading_of_body)
    export = view.export()
    copied_picture.of_session().offer(export, view.kind.runs_for)
    if export is not None:
        take_away.draw(export, runs, view.kind.runs_for)


main()
