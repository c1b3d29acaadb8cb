"""The colours of pictures, light and dark: the same in Plotly's figures, in the files for papers and on the canvas.

A colour map is a path through OKLab from the background over its anchors, in equal steps: why, says colour.js, which
draws the same paths from whatever background the page has. Source: Ottosson 2020, https://bottosson.github.io/posts/oklab/
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from headlight.app.figures.tokens import THEMES, Theme, colour, colours

Lch = tuple[float, float, float]  # OKLab's lightness, chroma, and hue in degrees

LEAST_EFFECT = 0.1  # a share, logits or nats: where nothing does more, nothing matters, and no colour is a strong one
LEAST_KL = 0.05  # nats: where no two distributions are farther apart, they hardly differ
LEAST_WRITTEN = 0.05  # of a scale's end: a smaller number is not printed in its cell
BLUE, ORANGE, GREY, FAINT = map(colour, ("more", "less", "other", "faint"))  # on either ground
VIOLET, TEAL = map(colour, ("attn", "mlp"))  # kinds of component
ON_DARK, ON_LIGHT = map(colour, ("on-dark", "on-light"))  # ink

# Shares of the way to a colour bar's end that are labelled.
TICKS = {
    "sqrt": {"positive": [0, 0.01, 0.1, 0.25, 0.5, 1], "signed": [-1, -0.25, 0, 0.25, 1]},
    "linear": {"positive": [0, 0.25, 0.5, 0.75, 1], "signed": [-1, -0.5, 0, 0.5, 1]},
}
ANCHORS: dict[Theme, dict[Literal["sequential", "less", "more"], list[Lch]]] = {
    "light": {
        "sequential": [
            (0.88, 0.065, 232),
            (0.72, 0.125, 243),
            (0.55, 0.165, 255),
            (0.4, 0.165, 268),
            (0.27, 0.11, 280),
        ],
        "less": [(0.86, 0.085, 72), (0.7, 0.145, 58), (0.54, 0.135, 48), (0.38, 0.095, 42)],
        "more": [(0.86, 0.075, 235), (0.7, 0.13, 245), (0.54, 0.16, 256), (0.38, 0.13, 264)],
    },
    "dark": {
        "sequential": [
            (0.32, 0.1, 280),
            (0.48, 0.155, 266),
            (0.65, 0.145, 243),
            (0.81, 0.115, 210),
            (0.96, 0.055, 180),
        ],
        "less": [(0.36, 0.08, 48), (0.53, 0.12, 54), (0.7, 0.14, 62), (0.87, 0.105, 80)],
        "more": [(0.36, 0.1, 262), (0.53, 0.14, 255), (0.7, 0.125, 244), (0.87, 0.075, 225)],
    },
}
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_OKLAB = np.array(
    [
        [0.2104542553, 0.793617785, -0.0040720468],
        [1.9779984951, -2.428592205, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.808675766],
    ]
)


@dataclass(frozen=True)
class Palette:
    """A theme's colours."""

    background: str
    text: str
    faded: str
    secondary: str
    border: str
    pin: str
    theme: Theme
    bars: tuple[str, str] = (BLUE, ORANGE)

    @cached_property
    def sequential(self) -> tuple[str, ...]:
        """From the background, nothing, to the most."""
        return _path(self.background, ANCHORS[self.theme]["sequential"], 17)

    @cached_property
    def diverging(self) -> tuple[str, ...]:
        """From orange (less) over the background to blue (more)."""
        less, more = (_path(self.background, ANCHORS[self.theme][arm], 9) for arm in ("less", "more"))
        return (*less[::-1], *more[1:])


def _path(background: str, anchors: Sequence[Lch], size: int) -> tuple[str, ...]:
    """Colours at equal distances along the way through OKLab from the background over the anchors."""
    lightness, chroma, hue = np.array(anchors).T
    polar = np.stack([lightness, chroma * np.cos(np.radians(hue)), chroma * np.sin(np.radians(hue))], 1)
    points = np.concatenate([[_oklab(background)], polar])
    lengths = np.cumsum([0, *np.linalg.norm(np.diff(points, axis=0), axis=1)])
    steps = np.linspace(0, lengths[-1], size)
    return tuple(map(_hex, np.stack([np.interp(steps, lengths, axis) for axis in points.T], 1)))


def _oklab(colour: str) -> np.ndarray:
    rgb = np.array([*bytes.fromhex(colour[1:])]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return TO_OKLAB @ np.cbrt(TO_CONES @ linear)


def _hex(oklab: np.ndarray) -> str:
    linear = np.clip(np.linalg.solve(TO_CONES, np.linalg.solve(TO_OKLAB, oklab) ** 3), 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return f"#{bytes(np.rint(255 * rgb).astype(np.uint8)).hex()}"


GROUNDS = ("bg", "text", "muted", "surface", "line", "pin")


def _palette(theme: Theme) -> Palette:
    background, text, faded, secondary, border, pin = (colours(theme)[name] for name in GROUNDS)
    return Palette(background, text, faded, secondary, border, pin, theme)


LIGHT, DARK = map(_palette, THEMES)
