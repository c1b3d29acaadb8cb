"""The pages' names in the header, with the current one marked.

Streamlit's own navigation has the whole page drawn again at a change of page, the prompt bar too, which takes a browser
30 ms. A change of this one draws again only what it stands in.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from headlight.app.components.shared.fetchable import Fetchable
from headlight.app.components.shared.mount import component_value, mount, register

_render = register(__file__)


def nav_bar(
    groups: Mapping[str, Mapping[str, str]],
    current: str,
    status: str,
    *,
    key: str,
    turn_to: Callable[[str], None],
    of_head: Mapping[str, str] = MappingProxyType({}),
    open_head: Callable[[str, tuple[int, int], str], None] = lambda slug, head, kind: None,
    picture: Fetchable | None = None,
) -> None:
    """Links to pages: of each group, slug -> title; those of the group without a name stand alone.

    A screen reader hears which page is gone to, and the `status` of what it shows when that has changed.
    `turn_to` is called with the slug of the page that the user has gone to, before the script runs again. `of_head`
    are the entries, slug -> title, of the menu that opens wherever a head is named; `open_head` is called with the
    chosen one, the head (layer, head) and the kind of its attention, "" where it was named without. The entry of no
    page is named by the key of the container in which the page answers, to which the browser scrolls. `picture` is the
    page as a png, light (0) or dark (1), for the clipboard.
    """

    def turn() -> None:
        slug, _, *heads = component_value(key, 0, (current, 0))
        if heads:
            if slug in of_head:
                layer, head, *kind = heads[0]
                open_head(slug, (int(layer), int(head)), kind[0] if kind else "")
        elif any(slug in pages for pages in groups.values()):
            turn_to(slug)

    props = {
        "groups": [[name, list(pages.items())] for name, pages in groups.items()],
        "current": current,
        "status": status,
        "ofHead": list(of_head.items()),
        "picture": None if picture is None else picture.name,
    }
    mount(_render, key=key, group="head menu", props=props, changed=turn)
