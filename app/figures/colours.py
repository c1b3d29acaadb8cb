"""The colours of pictures, light and dark: the same in Plotly's figures, in the files for papers and on the canvas."""

from dataclasses import dataclass

BLUE, ORANGE, PURPLE, GREY, FAINT = "#4f8fd0", "#cc7722", "#9064c0", "#87919d", "#a9b2bc"  # on either ground


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
    bars: tuple[str, str] = (BLUE, ORANGE)

    @property
    def diverging(self) -> tuple[str, ...]:
        """From orange (less) over the background to blue (more)."""
        return (*self.less, *self.more[1:])


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
