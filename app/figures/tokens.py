"""Tokens of the visual system, as `tokens.css` has them, for canvases, plots and pictures, which no sheet reaches."""

import re
from functools import cache
from pathlib import Path
from typing import Literal

Theme = Literal["light", "dark"]

SHEET = Path(__file__).parents[1] / "tokens.css"
THEMES: tuple[Theme, Theme] = ("light", "dark")
_TOKEN = re.compile(r"^ *--([\w-]+): ([^;]+);", re.MULTILINE)
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_FONT = re.compile(r"(\d+) ([\d.]+)px/")


@cache
def tokens() -> dict[str, str]:
    """Values by name, as they are written."""
    everywhere, _, _ = SHEET.read_text(encoding="utf-8").partition("@media")
    return dict(_TOKEN.findall(everywhere))


@cache
def colours(theme: Theme) -> dict[str, str]:
    """All colours of a theme by name; those of both are written once."""
    pairs = {name: _COLOUR.findall(value) for name, value in tokens().items() if _COLOUR.search(value)}
    return {name: pair[THEMES.index(theme) if len(pair) > 1 else 0] for name, pair in pairs.items()}


def colour(name: str) -> str:
    """A colour that both themes have, as plots need, which are computed before their theme is known."""
    (value,) = {colours(theme)[name] for theme in THEMES}
    return value


def size(name: str) -> float:
    """Pixels of a font by the name of its token, such as "tick"."""
    return sizes()[name]


@cache
def sizes() -> dict[str, float]:
    """Pixels of all fonts by name."""
    return {
        name.removeprefix("font-"): float(each[2]) for name, value in tokens().items() if (each := _FONT.match(value))
    }


def pixels(name: str) -> float:
    """A length."""
    return float(tokens()[name].removesuffix("px"))
