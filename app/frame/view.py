"""Definition of a page: its place in the address, its drawing function, and its kind."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamlit.delta_generator import DeltaGenerator

from headlight.app.exports.export import Export
from headlight.app.frame import about, head_menu, prompt_bar
from headlight.app.frame.edits import drawer
from headlight.app.runs import comparisons
from headlight.app.selection import Selection
from headlight.app.selection.choices import PageChoices
from headlight.model.runs.edits import Head


@dataclass(frozen=True)
class Kind:
    """Common parts of the pages for one kind of model.

    `bar` is drawn above the page and asks for a selection, `menus` are the row under it; `runs_for` returns the runs of
    a selection, and `within` drops from the selection what they do not have. `about` says in a line what was run,
    `inputs` are the texts that it was run on, `look_at` says what to look at on the page, if what was run is an
    example. `on_default` is the same selection on the server's own model. `offer` draws an example, for a page that has
    nothing else as nothing could be run. `drawer` is what one of the menus opens. `awaited` is the text of the spinner
    while `runs_for` takes long. The menu of a head has entries `of_head`, key of the container that answers -> title,
    beside those of pages; `open_head` follows one (nav_bar/__init__.py).
    """

    bar: Callable[[], None]
    menus: Callable[[], DeltaGenerator]
    runs_for: Callable[[Selection], Any]
    within: Callable[[Selection, Any], Selection]
    about: Callable[[Any], None]
    inputs: Callable[[Any], tuple[str, ...]]
    look_at: Callable[[Any], str]
    on_default: Callable[[Selection], Selection]
    offer: Callable[[], None]
    drawer: Callable[[], None] = lambda: None
    awaited: Callable[[Selection], str] = lambda chosen: "Running the model…"
    of_head: Mapping[str, str] = field(default_factory=dict, hash=False)
    open_head: Callable[[str, Head, str], None] = lambda slug, head, kind: None


PROMPTED = Kind(
    prompt_bar.draw,
    prompt_bar.menus,
    comparisons.for_selection,
    comparisons.within,
    about.draw,
    lambda runs: tuple(dict.fromkeys(run.prompt for run in runs.runs)),
    prompt_bar.look_at,
    prompt_bar.on_default,
    prompt_bar.offer,
    drawer.draw,
    comparisons.waiting_text,
    head_menu.ENTRIES,
    head_menu.follow,
)
EXPLAIN, MODEL, WRITE = "Why & patching", "Heads & weights", "Generate & translate"
BELOW = "Below the head"


@dataclass(frozen=True)
class View:
    """A page: its place in the URL, its title, its drawing function, its files, and why it may be unavailable.

    Views of one `group` share an entry of the navigation. `export` is called when the page is drawn, in its session,
    and returns None where there is nothing to export. `needs` returns a sentence for the user (what is missing, and
    what to do), or nothing. `choices` is the type of the page's own options. `of_head` is its entry in the menu of a
    head, and it `names_heads` unless those on the page are another model's, which have no menu. `formerly` are earlier
    slugs, which older links use. `reading` says in three sentences how to read the page, with names of numbers that
    are filled in (frame/reading.py), and `reading_of_body` that of a model without a head.
    """

    slug: str
    title: str
    render: Callable[[Any], None]
    export: Callable[[], Export | None] = lambda: None
    needs: Callable[[Any], str] = lambda runs: ""
    kind: Kind = PROMPTED
    group: str = ""
    choices: type[PageChoices] | None = None
    of_head: str = ""
    names_heads: Callable[[Selection], bool] = lambda chosen: True
    formerly: tuple[str, ...] = ()
    reading: str = ""
    reading_of_body: str = ""


def head_entries(views: Iterable[View], view: View, chosen: Selection) -> dict[str, str]:
    """Entries by slug of a head's menu on the page of a view: the pages of its kind that show heads, and the kind's."""
    if not view.names_heads(chosen):
        return {}
    pages = {each.slug: each.of_head for each in views if each.of_head and each.kind is view.kind}
    return {**pages, **view.kind.of_head}
