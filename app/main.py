"""The page: navigation, prompt bar, one run or two, one view, and an error boundary around them."""

from pathlib import Path

import streamlit as st

from app import about, boundary, notices, prompt_bar, prompt_list, prompts, selection, shown, take_away
from app.registry import VIEWS, View
from app.settings import settings
from app.shown import Shown

ASSETS = Path(__file__).parent.parent / "assets"
STYLE = Path(__file__).parent / "style.css"
ABOUT = "What every attention head of a transformer does with your prompt. Nothing you type leaves the server."


def main() -> None:
    """Draw the page that the URL names."""
    icon = str(ASSETS / "icon.png")
    st.set_page_config(page_title="Headlight", page_icon=icon, layout="wide", menu_items={"About": ABOUT})
    st.logo(ASSETS / "logo.svg", size="large")
    st.html(STYLE)
    pages = {view.slug: _page(view) for view in VIEWS}
    slug = st.navigation(list(pages.values()), position="top").url_path or VIEWS[0].slug
    view = next(view for view in VIEWS if view.slug == slug)
    with boundary.guard(notices.refused):
        example = prompts.examples()[0]
        selection.arrive(slug, selection.Selection(settings().model, example.prompt))
        if goto := selection.take_goto():
            st.switch_page(pages[goto])
        prompt_bar.draw()
        _show(view, _shown())
    if (seen := selection.shown()) is not None:
        prompt_list.note(seen, slug)
    selection.write_url()


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


def _show(view: View, found: Shown | None) -> None:
    with st.container():  # a place of its own, empty or not, so that a notice does not make what is below anew
        notices.draw(selection.unread(), selection.refusal(), found)
    if found is None:
        return
    prompt_bar.look_at(found.a.prompt)
    about.draw(found)
    if lacking := view.needs(found):
        st.info(lacking)
    else:
        view.render(found)
        if view.export is not None:
            take_away.draw(view.export, found)


main()
