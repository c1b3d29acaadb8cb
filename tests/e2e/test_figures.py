"""Plotly's figures in a real browser: only where there is one, with legend, zoom and download."""

from playwright.sync_api import FloatRect, Locator, expect

from headlight.app.pages.attention import VIEW as ATTENTION
from headlight.app.pages.residual import VIEW as RESIDUAL
from tests.e2e.driver import Driver

SCRIPT = "PlotlyChart"  # Streamlit's file with Plotly in it
BOXES = "parts => parts.map(part => part.getBoundingClientRect().toJSON())"
ROOM = 6  # pixels around a title and a legend within their boxes


def test_plotlys_script_comes_with_the_first_figure_and_the_legend_switches_lines(app: Driver) -> None:
    app.open(ATTENTION, prompt="The cat sat")
    app.settle()
    assert not [url for url in app.requests if SCRIPT in url]
    app.go_to(RESIDUAL)
    app.settle()
    assert [url for url in app.requests if SCRIPT in url]
    figures = app.page.locator(".js-plotly-plot")
    expect(figures).to_have_count(4)
    figure = figures.first
    lines = figure.locator(".scatterlayer .trace:visible")
    expect(lines).to_have_count(2)
    figure.locator(".legendtoggle").first.click()
    expect(lines).to_have_count(1)
    figure.hover(position={"x": 200, "y": 120})
    expect(figure.locator(".modebar-btn[data-title^='Download']")).to_be_visible()
    expect(figure.locator(".modebar a[href]:not([href=''])")).to_have_count(0)


def test_a_figure_has_the_theme_that_is_changed_to_without_another_click(app: Driver) -> None:
    app.open(RESIDUAL, prompt="The cat sat")
    paper = app.page.locator(".js-plotly-plot .main-svg").first
    expect(paper).to_have_css("background-color", "rgb(255, 255, 255)")
    app.page.emulate_media(color_scheme="dark")
    expect(paper).to_have_css("background-color", "rgb(17, 22, 29)")
    app.page.emulate_media(color_scheme="light")
    expect(paper).to_have_css("background-color", "rgb(255, 255, 255)")


def test_plots_beside_each_other_are_below_each_other_on_a_phone_and_all_in_sight(app: Driver) -> None:
    app.page.set_viewport_size({"width": 1280, "height": 900})
    app.open(RESIDUAL, prompt="The cat sat", prompt_b="The dog sat")
    figures = app.page.locator(".js-plotly-plot")
    first, second = figures.nth(0), figures.nth(1)
    expect(second).to_be_visible()
    assert _box(first)["y"] == _box(second)["y"]
    app.page.set_viewport_size({"width": 390, "height": 844})
    app.settle()
    assert _box(second)["y"] >= _box(first)["y"] + _box(first)["height"]
    for figure in figures.all():
        box = _box(figure)
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        titles = figure.locator(".annotation").evaluate_all(BOXES)
        legends = figure.locator(".legend .bg").evaluate_all(BOXES)
        assert not [
            (title, legend)
            for title in titles
            for legend in legends
            if title["bottom"] > legend["top"] + ROOM and legend["bottom"] > title["top"] + ROOM
        ]


def _box(figure: Locator) -> FloatRect:
    box = figure.bounding_box()
    assert box
    return box
