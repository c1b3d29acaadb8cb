"""Streamlit's own theme in the tokens of the visual system, so that its menus and inputs look as the components do."""

from typing import Any

from streamlit import config

from headlight.app.figures.colours import DARK, LIGHT
from headlight.app.figures.tokens import THEMES, colours, pixels, size, tokens

HEADINGS = ("page", "section", "figure", "figure", "figure", "figure")
COLOURS = {
    "primaryColor": "primary",
    "backgroundColor": "bg",
    "secondaryBackgroundColor": "surface",
    "textColor": "text",
    "borderColor": "line",
    "linkColor": "link",
}


def wear() -> None:
    """Set the theme's options, of which config.toml has none but the fonts' files."""
    for name, value in options().items():
        config.set_option(name, value)


def options() -> dict[str, Any]:
    """Streamlit's options by name."""
    everywhere = {
        "font": tokens()["sans"],
        "headingFont": tokens()["sans"],
        "codeFont": tokens()["mono"],
        "baseFontSize": round(size("text")),
        "baseRadius": f"{pixels('radius'):g}px",
        "headingFontSizes": [f"{size(name):g}px" for name in HEADINGS],
        "headingFontWeights": [600] * len(HEADINGS),
        "paddingTop": "0.4rem",
        "paddingBottom": "4rem",
    }
    settings = {f"theme.{name}": value for name, value in everywhere.items()}
    for theme, palette in zip(THEMES, (LIGHT, DARK), strict=True):
        settings |= {f"theme.{theme}.{name}": colours(theme)[token] for name, token in COLOURS.items()}
        settings[f"theme.{theme}.chartSequentialColors"] = list(palette.sequential[1:11])
    return settings
