"""What `make bench ARGS=ui` does to a page, done once to Headlight's and to the floor's."""

from collections.abc import Iterator
from itertools import islice

import pytest

from tests.bench import ui, why
from tests.bench.window import Browser, Window, browser
from tests.serving import served

pytestmark = pytest.mark.thorough

ACTS = {
    "submit": lambda window, subject: ui.submit(window, subject, ui.prompts(8)),
    "click_heads": ui.click_heads,
    "hover": ui.hover,
    "scroll": ui.scroll,
    "change_pages": lambda window, subject: ui.change_pages(window, subject, []),
}


@pytest.fixture(scope="module")
def chromium(with_chromium: None) -> Iterator[Browser]:
    """A browser that is driven without Playwright."""
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def floor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Streamlit page with nothing but what answers."""
    with served(str(ui.FLOOR), tmp_path_factory.mktemp("floor")) as url:
        yield url


@pytest.fixture(scope="module", params=["Headlight", "floor"])
def subject(request: pytest.FixtureRequest, server: str, floor: str) -> ui.Subject:
    """The embedded model's page, or the floor's."""
    return ui.Subject("mini", server, (2, 4)) if request.param == "Headlight" else ui.floor_at(floor)


@pytest.fixture(scope="module")
def window(chromium: Browser, subject: ui.Subject) -> Iterator[Window]:
    """A window with it."""
    window = ui.opened(chromium, subject)
    yield window
    window.close()


def test_an_act_takes_time_that_the_page_has_marked(window: Window, subject: ui.Subject) -> None:
    """Each twice, so that it begins where it ended. A page that was not drawn anew would take less than nothing.

    A change of page, the last, says something to the server, so that a count of zero after hovering means something.
    """
    sent = 0
    for name, act in ACTS.items():
        sent = window.ask("watched.sent")
        times = len(subject.views) if name == "change_pages" else 4
        took = [milliseconds for _, milliseconds in islice(act(window, subject), times)]
        assert len(took) == times, name
        assert all(0 < each < 60_000 for each in took), name
    assert window.ask("watched.sent") > sent > 0


def test_the_first_load_takes_longer_than_the_script_alone(chromium: Browser, subject: ui.Subject) -> None:
    """100 ms: Streamlit's own scripts take several times that to be read."""
    _, took = next(ui.first_load(chromium, subject, ""))
    assert took > 100


@pytest.mark.parametrize("subject", ["Headlight"], indirect=True)
def test_charts_are_noted_apart_and_the_first_of_each_page_does_not_count(window: Window, subject: ui.Subject) -> None:
    charts: list[ui.Timed] = []
    pages = [page for page, _ in islice(ui.change_pages(window, subject, charts), 5)]
    assert pages[:2] == ["inside", "residual"]
    assert dict(charts).keys() <= {"residual", "lens", "prompts", "why"}
    assert all(0 < took < 60_000 for _, took in charts)
    assert ui.after_first([("a", 1.0), ("b", 2.0), ("a", 3.0), ("a", 4.0)]) == [("a", 3.0), ("a", 4.0)]


def test_a_click_on_a_head_of_why_fills_its_panel(chromium: Browser, server: str) -> None:
    """Each click is on another head, whose score the page then states."""
    window, texts = Window(chromium), set[str]()
    for took, processor in islice(why.clicks(window, server, 2, 4, 8), 2):
        assert 0 < took < 60
        assert processor >= 0
        texts.add(window.ask("() => document.querySelector('[data-testid=stMain]').innerText"))
    window.close()
    assert len(texts) == 2


def test_what_a_page_cannot_do_is_an_error(window: Window) -> None:
    """Both by the page's own word, which would else pass for an empty answer."""
    with pytest.raises(RuntimeError, match="nowhere"):
        window.ask("() => nowhere")
    with pytest.raises(RuntimeError, match=r"No\.such"):
        window.call("No.such")
