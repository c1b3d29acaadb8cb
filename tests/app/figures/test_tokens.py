"""The style sheets keep to the visual system of tokens.css, and its texts can be read on their grounds."""

import re
from collections.abc import Iterator
from itertools import product

import pytest

from headlight.app.figures.colours import DARK, LIGHT, ON_DARK, ON_LIGHT, Palette
from headlight.app.figures.tokens import SHEET, THEMES, Theme, colours, pixels, sizes
from headlight.app.server.theme import options
from tests.places import ROOT

SHEETS = sorted({*(ROOT / "app").rglob("*.css"), *(ROOT / "docs").rglob("manual.css")} - {SHEET})
SCRIPTS = sorted({*(ROOT / "app").rglob("*.js"), *(ROOT / "app").rglob("*.py")})
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
LINE = re.compile(r"([\w-]+):\s*([^;]+);")
COLOUR = re.compile(r"#[0-9a-fA-F]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(")
HEX = re.compile(r"[\"'`]#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})[\"'`]")
CANVAS_SIZE = re.compile(r"\d(?:\.\d+)?px \$\{")
CONTROL = re.compile(r"(?:^|[\s>.(])(?:button|select|input|textarea|segment|opener)(?![\w-])")
PART_OF_CLASS = re.compile(r"\[class[^,]*[\s>~+]\*\s*(?:,|$)|:has\([^)]*\[class")
HEIGHTS = re.compile(r"var\(--height[\w-]*\)|calc\(var\(--height[\w-]*\) .*\)|100%|auto|0|1px|1em", re.DOTALL)
READABLE, VISIBLE = 4.5, 3.0  # WCAG 2.2: contrast of text (1.4.3), and of what a control is known by (1.4.11)


def _lines() -> Iterator[tuple[str, str, str, str]]:
    """Sheet, selector, property and value of every declaration."""
    for sheet in SHEETS:
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        for selector, body in RULE.findall(text):
            for name, value in LINE.findall(body):
                yield str(sheet.relative_to(ROOT)), selector.strip(), name, value.strip()


def test_sheets_have_no_size_but_the_systems() -> None:
    allowed = {*(f"var(--font-{name})" for name in sizes()), "inherit"}
    odd = [line for line in _lines() if line[2] == "font" and line[3] not in allowed]
    odd += [line for line in _lines() if line[2] == "font-size" and line[3] not in ("inherit", "0")]
    assert not odd


def test_controls_have_no_height_but_the_systems() -> None:
    lines = [line for line in _lines() if line[2] in ("height", "min-height") and CONTROL.search(line[1])]
    lines = [line for line in lines if "::" not in line[1]]  # a mark in it
    assert len(lines) > 5  # the pattern finds them
    assert not [line for line in lines if not HEIGHTS.fullmatch(line[3].removesuffix(" !important"))]


def test_no_change_of_a_class_has_the_browser_style_the_page_anew() -> None:
    """Streamlit changes classes at every message: with such a rule 620 elements were styled, 31 without."""
    assert not [line for line in _lines() if PART_OF_CLASS.search(line[1])]


def test_colours_and_sizes_are_the_tokens_alone() -> None:
    assert not [line for line in _lines() if COLOUR.search(line[3])]
    written = {file.name: [*HEX.findall(text), *CANVAS_SIZE.findall(text)] for file, text in _texts()}
    assert {name: rules for name, rules in written.items() if rules} == {}


def _texts() -> Iterator[tuple[object, str]]:
    return ((file, file.read_text(encoding="utf-8")) for file in SCRIPTS)  # type: ignore[misc]


@pytest.mark.parametrize("theme", THEMES)
def test_texts_can_be_read_in_both_themes(theme: Theme) -> None:
    colour = colours(theme)
    texts = {
        (name, ground): _contrast(colour[name], colour[ground])
        for name, ground in product(("text", "muted", "link", "bad"), ("bg", "surface"))
    }
    texts["on-dark", "primary"] = _contrast(colour["on-dark"], colour["primary"])
    texts["pin", "bg"] = _contrast(colour["pin"], colour["bg"])
    assert {pair: ratio for pair, ratio in texts.items() if ratio < READABLE} == {}
    assert _contrast(colour["edge"], colour["bg"]) >= VISIBLE


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=THEMES)
def test_ink_can_be_read_on_every_colour_of_a_map(palette: Palette) -> None:
    """Where the inks change places, both have the same contrast, the least there is: about 4.3 on these hues."""
    stops = {*palette.sequential, *palette.diverging}
    assert min(max(_contrast(ink, stop) for ink in (ON_DARK, ON_LIGHT)) for stop in stops) > 4.3


def test_streamlit_wears_the_tokens() -> None:
    worn = options()
    assert worn["theme.dark.textColor"] == colours("dark")["text"] == DARK.text
    assert worn["theme.light.primaryColor"] == colours("light")["primary"]
    assert worn["theme.baseFontSize"] == sizes()["text"]
    assert worn["theme.baseRadius"] == f"{pixels('radius'):g}px"


def _contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2.

    Source: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    """
    lighter, darker = sorted(map(_luminance, (one, other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    shares = (byte / 255 for byte in bytes.fromhex(colour[1:]))
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
