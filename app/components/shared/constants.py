"""Texts and colours that the scripts share with Python; `mount` inserts them into constants.js."""

from typing import get_args

from headlight.app.figures.colours import ANCHORS, TICKS
from headlight.app.figures.tokens import THEMES, colours, sizes, tokens
from headlight.model.attention.axis import Places
from headlight.model.attention.fields import TITLES, How, Sink, sink_note, title

CONSTANTS = {
    "titles": {show: title(show) for show in TITLES},
    "sinkNotes": {
        unit: {show: {sink: sink_note(How(show, sink), unit) for sink in get_args(Sink)} for show in TITLES}
        for unit in get_args(Places)
    },
    "ticks": TICKS,
    "anchors": ANCHORS,
    "colours": {theme: colours(theme) for theme in THEMES},
    "fonts": {"font": tokens()["sans"], "codeFont": tokens()["mono"], "sizes": sizes()},
}
