"""Encoder and decoder: the translation, the beam search, and self- and cross-attention."""

from headlight.app.exports.export import Export
from headlight.app.frame.view import WRITE, Kind, View
from headlight.app.pages.translate import choices, exports, head_menu, source_bar, view
from headlight.app.runs import translations

TRANSLATED = Kind(
    source_bar.draw,
    source_bar.menus,
    translations.for_selection,
    choices.within,
    source_bar.about,
    lambda pair: tuple(dict.fromkeys(each.source_text for each in pair.sides.values())),
    source_bar.look_at,
    source_bar.on_default,
    source_bar.offer,
    of_head=head_menu.ENTRIES,
    open_head=head_menu.follow,
)
EXPORT = Export("translate", exports.script, exports.data, exports.drawings)

READING = (
    "A line leads from a token of the target to the source token that it was read from most: {source} source tokens, "
    "{target} of the target. The first of the target is {first}; each of the others reads all that stand before it. "
    "Where lines cross, the two languages have another order."
)
VIEW = View(
    "translate",
    "Translate",
    view.render,
    lambda: EXPORT,
    kind=TRANSLATED,
    group=WRITE,
    choices=choices.Choices,
    reading=READING,
)
