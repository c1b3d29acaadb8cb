"""A small flood, of one address and of slow readers: those inside are answered, and all is given back."""

import json
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.serving import DRAIN_SECONDS, headlight
from tests.sessions.client import Client
from tests.sessions.expected import answer, distinct, said
from tests.sessions.flood import flood, sleeper


def _n_sessions(url: str) -> int:
    with urlopen(f"{url}/healthz") as healthy:
        sessions: int = json.load(healthy)["sessions"]
        return sessions


@pytest.mark.thorough
def test_those_inside_are_answered_while_others_flood_the_server(tmp_path: Path) -> None:
    with headlight(tmp_path, "--threads=1", "--sessions=40") as url, Client(url) as inside:
        with flood(url, 60, 3) as statuses:
            assert sorted(set(statuses)) == [101, 503]
            assert statuses.count(101) == 10  # a quarter of the sessions
            for prompt, bos in distinct(4, seed=5):
                inside.submit(prompt, bos)
                assert said(inside.texts).same(answer(prompt, bos))
            assert _n_sessions(url) <= 1 + 10 + 3
        give_up = time.monotonic() + 30
        while _n_sessions(url) > 1 and time.monotonic() < give_up:
            time.sleep(0.1)
        assert _n_sessions(url) == 1
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


@pytest.mark.thorough
def test_a_server_that_is_to_stop_waits_for_no_page_that_sleeps(tmp_path: Path) -> None:
    with ExitStack() as pages, ExitStack() as server:
        url = server.enter_context(headlight(tmp_path, "--threads=1"))
        ask = pages.enter_context(sleeper(url))
        with Client(url) as inside:
            for prompt, bos in distinct(24, seed=6):  # more than the 4 MB that a system keeps for a connection
                ask(prompt)
                inside.submit(prompt, bos)
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < DRAIN_SECONDS
