"""A selection from the names of the address's parameters, whichever page they belong to."""

from dataclasses import fields

from headlight.app.registry import VIEWS
from headlight.app.selection import Selection

PAGES = [view.choices for view in VIEWS if view.choices]


def selection_of(**values: object) -> Selection:
    """What all pages share, and the pages' own options."""
    made = Selection()
    for page in PAGES:
        own = {each.name: values.pop(each.name) for each in fields(page) if each.name in values}
        made = made.updated(page, **own)
    return made.updated(**values)
