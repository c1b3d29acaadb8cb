"""Plotly's figures in a real browser: only where there is one, with legend, zoom and download."""

from playwright.sync_api import expect

from headlight.app.pages.attention import VIEW as ATTENTION
from headlight.app.pages.residual import VIEW as RESIDUAL
from tests.e2e.driver import Driver

SCRIPT = "PlotlyChart"  # Streamlit's file with Plotly in it


def test_plotlys_script_comes_with_the_first_figure_and_the_legend_switches_lines(app: Driver) -> None:
    app.open(ATTENTION, prompt="The cat sat")
    app.settle()
    assert not [url for url in app.requests if SCRIPT in url]
    app.go_to(RESIDUAL)
    app.settle()
    assert [url for url in app.requests if SCRIPT in url]
    figure = app.page.locator(".js-plotly-plot")
    expect(figure).to_have_count(1)
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
