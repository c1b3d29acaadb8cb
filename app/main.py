"""The page: navigation, prompt bar, one run or two, one view, and an error boundary around them."""

from pathlib import Path

import streamlit as st

from app import about, boundary, memory, notices, prompt_bar, prompt_list, prompts, selection, shown, take_away
from app.registry import VIEWS, View
from app.settings import settings
from app.shown import Shown

ASSETS = Path(__file__).parent.parent / "assets"
STYLE = Path(__file__).parent / "style.css"
ABOUT = "What every attention head of a transformer does with your prompt. Nothing you type leaves the server."


def main() -> None:
    """Draw the page that the URL names."""
    memory.spare_modules()
    icon = str(ASSETS / "icon.png")
    st.set_page_config(page_title="Headlight", page_icon=icon, layout="wide", menu_items={"About": ABOUT})
    st.logo(ASSETS / "logo.svg", size="large")
    st.html(STYLE)
    pages = {view.slug: _page(view) for view in VIEWS}
    slug = st.navigation(list(pages.values()), position="top").url_path or VIEWS[0].slug
    with boundary.guard(notices.refused):
        example = prompts.examples()[0]
        selection.arrive(slug, selection.Selection(settings().model, example.prompt))
        if goto := selection.take_goto():
            st.switch_page(pages[goto])
        prompt_bar.draw()
        _say(_shown())
    if selection.shown() is not None:
        _content(slug)


def _page(view: View) -> st.Page:
    def unused() -> None:
        """Streamlit wants a function for each page; here the navigation only tells which page it is."""

    return st.Page(unused, title=view.title, url_path=view.slug, default=view is VIEWS[0])


def _shown() -> Shown | None:
    """The runs of what is asked for; where they cannot be had, of what was shown before."""
    if (asked := selection.asked()) is not None:
        with boundary.guard(selection.refuse):
            found = _runs_of(asked)
            selection.accept(shown.within(asked, found))
    before = selection.shown()
    return _runs_of(before) if before else None


def _runs_of(chosen: selection.Selection) -> Shown:
    with st.spinner("Running the model…", show_time=True):
        return shown.of(chosen)


def _say(found: Shown | None) -> None:
    """What there is to say of what was asked for and of what is shown."""
    with st.container():  # a place of its own, empty or not, so that a notice does not make what is below anew
        notices.draw(selection.unread(), selection.refusal(), found)
    if found is not None:
        prompt_bar.look_at(found.a.prompt)
        about.draw(found)


@st.fragment
def _content(slug: str) -> None:
    """The view. What is chosen in it draws it alone again, not the rest of the page, unless it asks for another run."""
    seen = selection.shown()
    if seen is None or selection.asked() is not None:
        st.rerun()
    with boundary.guard(lambda reason: notices.refused(reason, "view")):
        _draw(next(view for view in VIEWS if view.slug == slug), _runs_of(seen))
    prompt_list.note(selection.current(), slug)
    selection.write_url()


def _draw(view: View, found: Shown) -> None:
    if lacking := view.needs(found):
        st.info(lacking)
        return
    view.render(found)
    if (export := view.export()) is not None:
        take_away.draw(export, found)


main()
