"""The page: navigation, prompt bar, one run, one view, and an error boundary around them."""

from pathlib import Path

import streamlit as st

from app import about, boundary, notices, prompt_bar, prompts, runs, selection
from app.registry import VIEWS, View

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
        selection.arrive(slug, selection.Selection(runs.settings().model, example.prompt))
        if goto := selection.take_goto():
            st.switch_page(pages[goto])
        prompt_bar.draw()
        _show(view, _run())
    selection.write_url()


def _page(view: View) -> st.Page:
    def unused() -> None:
        """Streamlit wants a function for each page; here the navigation only tells which page it is."""

    return st.Page(unused, title=view.title, url_path=view.slug, default=view is VIEWS[0])


def _run() -> runs.Run | None:
    """The run of what is asked for; where that cannot be had, of what was shown before."""
    if (asked := selection.asked()) is not None:
        with boundary.guard(selection.refuse):
            run = _run_of(asked)
            selection.accept(selection.within(asked, run.cfg.n_layers, run.cfg.n_heads, len(run.tokens)))
    shown = selection.shown()
    return _run_of(shown) if shown else None


def _run_of(chosen: selection.Selection) -> runs.Run:
    with st.spinner("Running the model…", show_time=True):
        return runs.run(chosen.model, chosen.prompt, chosen.bos)


def _show(view: View, run: runs.Run | None) -> None:
    notices.draw(selection.unread(), selection.refusal(), run)
    if run is None:
        return
    prompt_bar.look_at(run.prompt)
    about.draw(run)
    if lacking := view.needs(run):
        st.info(lacking)
    else:
        view.render(run)


main()
