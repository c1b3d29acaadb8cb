"""What the server does besides Streamlit's: it shows the page to who has started it, and hands out heads."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from starlette.requests import Request

from headlight.app.components import HeadPanel
from headlight.app.components.shared.fetchable import Fetchable
from headlight.app.parts import panels
from headlight.app.runs import runs
from headlight.app.runs.gate import Gate
from headlight.app.server import server
from headlight.model.attention.axis import axis_of
from headlight.model.runs.comparison import Comparison
from headlight.model.runs.run import Run
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
    addresses: list[str] = []
    monkeypatch.setattr(server, "get_option", options.__getitem__)
    monkeypatch.setattr(server.webbrowser, "open", addresses.append)
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        other.submit(asyncio.run, _started()).result()
    assert addresses == opened


def test_a_head_is_fetched_beside_the_runs_a_few_at_a_time(
    run: Run, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.update(runs_at_once=1, runs_waiting=0)
    run = runs.run(run.source.name, run.prompt, run.bos)
    fetchable = panels._fetchable(Comparison(run), axis_of(Comparison(run), "token", "tokens"), "token")
    request = Request({"type": "http", "path_params": {"name": fetchable.name, "layer": 0, "head": 1}})
    gate_states, panel = list[bool](), panels.panel

    def noted(*args: object) -> HeadPanel:
        gate_states.append(runs._gate_beside().is_held)
        return panel(*args)

    monkeypatch.setattr(panels, "panel", noted)
    with runs.turn():  # a run of a minute does not keep it waiting
        assert server._fetched(request).status_code == 200
    assert gate_states == [True]
    monkeypatch.setattr(runs, "_gate_beside", cache(lambda: Gate(1, 0)))
    with ThreadPoolExecutor(1) as other, runs.turn_beside():
        assert other.submit(server._fetched, request).result(10).status_code == 503


def test_a_name_that_was_not_told_gets_nothing(tmp_path: Path) -> None:
    fetchable = Fetchable(lambda layer, head: ({}, {}))  # of this process, not of the server's
    with headlight(tmp_path) as url:
        for name in (fetchable.name, "none", "x" * 5000):
            with pytest.raises(HTTPError) as refused:
                urlopen(f"{url}/fetch/{name}/0/0", timeout=60)
            assert refused.value.code == 404
            assert refused.value.headers["Access-Control-Allow-Origin"] is None
            assert "<" not in refused.value.read().decode()  # no page of Streamlit's in its place
