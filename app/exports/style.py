"""Style of the pictures: colour maps, fonts that have every token's characters, and file formats.

matplotlib's settings are the process's, and pages of several sessions draw at the same time: one draws, others wait.
"""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from headlight.app.figures.colours import DARK as DARK
from headlight.app.figures.colours import LIGHT as LIGHT
from headlight.app.figures.colours import Palette as Palette

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

Kind = Literal["svg", "pdf", "png"]
DPI = 200  # of a png
PAPER_DPI = 300  # of one that is as wide as a paper's column or page
METADATA: dict[Kind, dict[str, str | None]] = {  # without a date: the same figure is the same file
    "svg": {"Date": None, "Creator": "Headlight"},
    "pdf": {"CreationDate": None, "Creator": "Headlight"},
    "png": {"Software": "Headlight"},
}
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


_drawing = Lock()


def colour_map(palette: Palette, signed: bool) -> "Colormap":
    """From the background to the far end; signed from orange (less) over the background to blue (more)."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = palette.diverging if signed else palette.sequential
    return LinearSegmentedColormap.from_list("headlight", stops, N=511)


def file(draw: Callable[[], "Figure"], palette: Palette, kind: Kind, dpi: int | None = None) -> bytes:
    """The figure that `draw` makes, as a file, svg or pdf with text as text, or png; the same bytes each time."""
    with _drawing, _settings(palette):
        figure, target = draw(), io.BytesIO()
        figure.savefig(target, format=kind, dpi=dpi or DPI, metadata=METADATA[kind])
        return target.getvalue()


@contextmanager
def _settings(palette: Palette) -> Iterator[None]:
    import matplotlib

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "pdf.fonttype": 42,  # TrueType, which journals ask for
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
