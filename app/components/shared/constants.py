"""Texts and colours that the scripts share with Python; `mount` inserts them into constants.js."""

from typing import get_args

from headlight.app.figures.colours import ANCHORS, TICKS
from headlight.app.figures.tokens import THEMES, colours, sizes, tokens
from headlight.model.attention.fields import TITLES, How, Sink, first_token_note, title

CONSTANTS = {
    "titles": {show: title(show) for show in TITLES},
    "firstToken": {show: {sink: first_token_note(How(show, sink)) for sink in get_args(Sink)} for show in TITLES},
    "ticks": TICKS,
    "anchors": ANCHORS,
    "colours": {theme: colours(theme) for theme in THEMES},
    "fonts": {"font": tokens()["sans"], "codeFont": tokens()["mono"], "sizes": sizes()},
}
