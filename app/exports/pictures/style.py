"""How the pictures look: the page's colours light and dark, fonts that know every token, and how they become files.

matplotlib's settings are the process's, and pages of several sessions draw at the same time: one draws, others wait.
"""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Kind = Literal["svg", "png"]
DPI = 200  # of a png
# The last one has a sign for every character, so that no token is without one; the others come first where they are.
FONTS: tuple[str, ...] = (
    "Arial",
    "Helvetica",
    "Liberation Sans",
    "DejaVu Sans",
    "Noto Sans Hebrew",
    "Noto Sans Arabic",
)
FONTS += ("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Emoji", "Last Resort High-Efficiency")


@dataclass(frozen=True)
class Palette:
    """A theme's colours. The maps are those of components/shared/colour.js at equal steps."""

    background: str
    text: str
    faded: str
    secondary: str
    border: str
    sequential: tuple[str, ...]
    less: tuple[str, ...]
    more: tuple[str, ...]
    bars: tuple[str, str] = ("#4f8fd0", "#cc7722")

    def colours(self, signed: bool) -> "Colormap":
        """From the background to the far end; signed from orange (less) over the background to blue (more)."""
        from matplotlib.colors import LinearSegmentedColormap

        stops = (*self.less, *self.more[1:]) if signed else self.sequential
        return LinearSegmentedColormap.from_list("headlight", stops, N=511)


LIGHT = Palette(
    background="#ffffff",
    text="#1b2430",
    faded="#6b7380",
    secondary="#eceff2",
    border="#cdd4dc",
    sequential=(
        *("#ffffff", "#e2f4fe", "#c4e9fd", "#a7ddfb", "#90cef7", "#77bff2", "#5db1ee", "#4ba1e7", "#3b90de"),
        *("#2b80d7", "#1c6fce", "#205ebe", "#224daf", "#233ba0", "#233088", "#222470", "#1f1a5a"),
    ),
    less=("#6b2e14", "#8b3f16", "#ac5218", "#c76c26", "#e18838", "#eba766", "#f4c791", "#fae3c8", "#ffffff"),
    more=("#ffffff", "#cfecfe", "#9ed8fb", "#77bef2", "#4fa5e9", "#398ada", "#226ec9", "#2054a7", "#1d3c86"),
)
DARK = Palette(
    background="#11161d",
    text="#e4e9ef",
    faded="#98a2ae",
    secondary="#222b36",
    border="#3a4552",
    sequential=(
        *("#11161d", "#191e35", "#23244f", "#2c2c69", "#2f3980", "#324799", "#3455b3", "#3268c0", "#2f7bcd"),
        *("#298dd9", "#2ca0e2", "#39b3e5", "#48c5e8", "#5bd7ea", "#85e4ee", "#a9f2f1", "#cbfff3"),
    ),
    less=("#f9cd82", "#ebaa5c", "#db8832", "#bb6d25", "#9c531a", "#7c4016", "#5b2d14", "#35231c", "#11161d"),
    more=("#11161d", "#182844", "#1e3a6f", "#255294", "#2a6cba", "#3d88d0", "#52a6e6", "#79c3f0", "#9edffa"),
)

_drawing = Lock()


def file(draw: Callable[[], "Figure"], palette: Palette, kind: Kind) -> bytes:
    """The figure that `draw` makes, as a file: svg with text as text, or png. The same figure gives the same bytes."""
    with _drawing, _settings(palette):
        figure, target = draw(), io.BytesIO()
        metadata = {"svg": {"Date": None, "Creator": "Headlight"}, "png": {"Software": "Headlight"}}[kind]
        figure.savefig(target, format=kind, dpi=DPI, metadata=metadata)
        return target.getvalue()


@contextmanager
def _settings(palette: Palette) -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "headlight",
        "text.parse_math": False,  # a token may hold $
        "font.family": _fonts(),
        "font.size": 8,
        "figure.facecolor": palette.background,
        "axes.facecolor": palette.background,
        "axes.edgecolor": palette.border,
        "axes.labelcolor": palette.faded,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlecolor": palette.text,
        "axes.titlelocation": "left",
        "axes.linewidth": 0.6,
        "text.color": palette.text,
        "xtick.color": palette.border,
        "ytick.color": palette.border,
        "xtick.labelcolor": palette.faded,
        "ytick.labelcolor": palette.faded,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "xtick.major.size": 2,
        "ytick.major.size": 2,
        "hatch.color": palette.border,
        "hatch.linewidth": 0.4,
        "legend.frameon": False,
        "legend.labelcolor": palette.text,
    }
    with matplotlib.rc_context(settings):
        yield


@cache
def _fonts() -> list[str]:
    """The fonts that this machine has."""
    from matplotlib import font_manager

    logging.getLogger(font_manager.__name__).setLevel(logging.ERROR)  # it remarks that the last one has no bold
    return [name for name in FONTS if name in font_manager.get_font_names()]
