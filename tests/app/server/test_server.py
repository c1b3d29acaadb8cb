"""What the server does besides Streamlit's: it shows the page to who has started it, and hands out heads."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from headlight.app.components.shared.fetchable import Fetchable
from headlight.app.server import server
from tests.serving import headlight


async def _started() -> None:
    async with server._with_browser(server.app):
        pass


@pytest.mark.parametrize(
    ("address", "headless", "opened"),
    [
        ("127.0.0.1", False, ["http://localhost:8600"]),
        ("0.0.0.0", False, ["http://localhost:8600"]),
        ("192.168.0.7", False, ["http://192.168.0.7:8600"]),
        ("127.0.0.1", True, []),
    ],
)
def test_the_page_is_opened_where_there_is_a_screen(
    address: str, headless: bool, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"server.address": address, "server.port": 8600, "server.headless": headless}
    shown: list[str] = []
    monkeypatch.setattr(server, "get_option", options.__getitem__)
    monkeypatch.setattr(server.webbrowser, "open", shown.append)
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        other.submit(asyncio.run, _started()).result()
    assert shown == opened


def test_a_name_that_was_not_told_gets_nothing(tmp_path: Path) -> None:
    held = Fetchable(lambda layer, head: ({}, {}))  # of this process, not of the server's
    with headlight(tmp_path) as url:
        for name in (held.name, "none", "x" * 5000):
            with pytest.raises(HTTPError) as refused:
                urlopen(f"{url}/fetch/{name}/0/0", timeout=60)
            assert refused.value.code == 404
            assert refused.value.headers["Access-Control-Allow-Origin"] is None
            assert "<" not in refused.value.read().decode()  # no page of Streamlit's in its place
