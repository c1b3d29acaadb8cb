"""A page's figure as Plotly's files: the numbers of the page, and html that asks nobody for anything."""

import json

import plotly.io
import pytest
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs

from headlight.app.exports.export import Export
from headlight.app.figures import files
from headlight.app.pages.generate import EXPORT as GENERATE
from headlight.app.pages.lens import EXPORT as LENS
from headlight.app.pages.residual import EXPORT as RESIDUAL
from headlight.app.pages.why import EXPORT as WHY
from headlight.model.runs.comparison import Comparison
from tests.app.exports.hostile import OTHER, PROMPTS, chosen

pytestmark = pytest.mark.usefixtures("unchecked")  # a batch grows on the way where interventions run side by side


@pytest.mark.parametrize("export", [RESIDUAL, LENS, WHY, GENERATE, PROMPTS], ids=lambda export: export.name)
def test_the_figure_comes_as_plotlys_own_files(export: Export, two: Comparison, folder: str) -> None:
    assert export.plots
    rows = export.plots(two, chosen(folder, prompt_b=OTHER))
    n_plots = sum(map(len, rows))
    assert n_plots > 1
    written = json.loads(files.as_json(rows, False))
    figure = plotly.io.from_json(json.dumps(written))
    assert len({trace.xaxis for trace in figure.data}) == n_plots
    for dark in (False, True):
        html = files.as_html(rows, dark)
        assert html == files.as_html(rows, dark)
        own = html.decode().replace(get_plotlyjs(), "")
        assert "http" not in own.replace('http-equiv="Content', "").replace("https://plot.ly", "")
        assert " src=" not in own
        assert "default-src 'none'" in own


def test_the_html_is_drawn_without_a_network(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, two: Comparison, folder: str
) -> None:
    path = tmp_path_factory.mktemp("figure") / "figure.html"
    assert RESIDUAL.plots
    path.write_bytes(files.as_html(RESIDUAL.plots(two, chosen(folder, prompt_b=OTHER)), False))
    context = browser.new_context(offline=True)
    page = context.new_page()
    requests, said = list[str](), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda line: said.append(line.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".js-plotly-plot .scatterlayer .points path").first.wait_for()
    assert not said
    assert not [url for url in requests if not url.startswith(("file:///", "data:", "blob:"))]
    context.close()
