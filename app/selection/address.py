"""Session and URL: a URL that the user opens, or goes back to, replaces the selection."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from headlight.app.selection.choices import PageChoices
from headlight.app.selection.chosen import Selection
from headlight.app.selection.links import from_query, to_query
from headlight.app.selection.session import READ, _session, ask

_PAGE = "page"  # the URL's parameter


class Page(Protocol):
    """A page as the address knows it: its names there, and the options that are its own, if any."""

    @property
    def slug(self) -> str:
        """The value of the parameter `page`."""

    @property
    def formerly(self) -> tuple[str, ...]:
        """Its values in older links."""

    @property
    def choices(self) -> type[PageChoices] | None:
        """The type of its own options."""


def arrive(
    pages: Sequence[Page],
    model: str,
    first_prompt: Callable[[str], str],
    unasked: Callable[[Selection], Selection] = lambda linked: linked,
) -> None:
    """Take over the URL where the user opened one or moved to one by Back or Forward.

    One without a model is of `model`, and one without a prompt has the `first_prompt` of its model.

    What a link names may have to be agreed to: it then is withheld, and `unasked` is requested in its place.

    A text that was left out of the URL for its length is empty: what was chosen for it waits until the user pastes it.

    No other is a URL that the user chose: a widget's change may come with that from before the last answer, which the
    browser has yet to hear. The first of the `pages` is that of a URL which names none.
    """
    session, query = _session(), st.query_params.to_dict()
    session.pages = [page.slug for page in pages]
    opened = session.active is None and session.pending is None and not session.refusal
    if opened or (query and moved_in_history()):
        selection, unread = from_query(query, [page.choices for page in pages if page.choices])
        linked, selection = selection, unasked(selection)
        is_withheld = selection != linked
        selection = replace(selection, model=selection.model or model)
        if "prompt" not in query and "prompt" not in unread:
            selection = replace(selection, prompt=first_prompt(selection.model))
        waiting: dict[str, Any] = {name: "" for name in READ if name in unread}
        selection = replace(selection, **waiting)
        slugs = {name: page.slug for page in pages for name in (page.slug, *page.formerly)}
        page = slugs.get(query.get(_PAGE, session.pages[0]))
        turned = session.page if opened else ""  # by the click after which the session was gone
        first = Selection(model=model, prompt=first_prompt(model)), session.pages[0]
        session.by_link |= opened and (selection, page) != first
        ask(selection, turned or page or session.pages[0])
        session.linked, session.unread = not is_withheld, unread if page else (*unread, _PAGE)
        if is_withheld:
            whole = replace(linked, **(waiting | {"model": linked.model or model, "prompt": selection.prompt}))
            session.withheld = whole, session.page


def moved_in_history() -> bool:
    """Whether this run answers the browser's Back or Forward, which says so.

    The URL alone does not tell: a run that Back began, and that Forward stops before it wrote its own URL, leaves the
    one before, which is just the one that Forward comes with. Where a click follows before the script has begun,
    Streamlit makes one run of both and says so no more: the click wins.
    """
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def write_url(besides: Mapping[str, str]) -> None:
    """Write the active selection into the page's URL, with these parameters besides.

    After Back or Forward it is written even where it is this one already: the URL of the run that it stopped may have
    been on its way, and the browser then has put that in the place of the one that the user went to.
    """
    session = _session()
    if session.active is not None:
        written = {**to_query(session.active), **besides}
        if session.page != session.pages[0]:
            written[_PAGE] = session.page
        if moved_in_history() or written != st.query_params.to_dict():
            st.query_params.from_dict(written)
