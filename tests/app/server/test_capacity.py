"""A server that is full says so, stays alive, and takes a session as soon as another has left."""

import os
import resource
import sys
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headlight.app.server import capacity, open_files
from headlight.app.server.settings import settings as headlight_settings
from tests.serving import headlight

SOFT, HARD = 40, 200
MOST = (HARD - capacity.RESERVED) // capacity.PER_SESSION
# It becomes the server, whose number it has.
LIMITED = f'echo $$ > "$0"; ulimit -Sn {SOFT} && ulimit -Hn {HARD} && exec "$@"'


def _from(visitor: str) -> dict[str, str]:
    """What a proxy on this machine says of a request."""
    return {"X-Forwarded-For": visitor} if visitor else {}


def _connection(url: str, visitor: str = "") -> ClientConnection:
    stream = f"{url.replace('http', 'ws', 1)}/_stcore/stream"
    return connect(stream, proxy=None, open_timeout=60, additional_headers=_from(visitor))


def _status(url: str, path: str, visitor: str = "", **headers: str) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", path, headers=_from(visitor) | headers)
    answer = connection.getresponse()
    text = answer.read().decode("latin-1")
    connection.close()
    return answer.status, text


def _wait_until_open(url: str) -> None:
    for _ in range(100):
        if _status(url, "/")[0] == 200:
            return
        time.sleep(0.1)
    raise AssertionError("it stays full")


def _check_share(url: str) -> None:
    """One address has a quarter, however it is written and whatever it says of itself; the others go on."""
    share, one, network = MOST // capacity.SHARE, "198.51.100.7", "2001:db8::{:x}:1"
    with ExitStack() as connections:
        for number in range(share):
            connections.enter_context(_connection(url, f"203.0.113.{number}, {one}"))
            connections.enter_context(_connection(url, network.format(number)))
        for visitor in (one, f"::ffff:{one}", f"127.0.0.1, {one}", network.format(2**16 - 1)):
            assert _status(url, "/", visitor) == (503, capacity.FULL_FOR_ADDRESS.format(share))
            with pytest.raises(InvalidStatus) as refused, _connection(url, visitor):
                pass
            assert refused.value.response.status_code == 503
        for visitor in ("198.51.100.8", "2001:db8:0:1::", ""):
            assert _status(url, "/", visitor)[0] == 200
            connections.enter_context(_connection(url, visitor))
    for _ in range(100):
        if _status(url, "/", one)[0] == 200:
            return
        time.sleep(0.1)
    raise AssertionError("its share is not given back")


@pytest.mark.skipif(sys.platform != "linux", reason="it counts the server's open files in /proc")
def test_a_full_server_says_so_and_takes_the_next_when_one_has_left(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = "sh", "-c", LIMITED, str(pid), sys.executable, "-m", "headlight.app"
    with headlight(tmp_path, "--threads", "1", command=command) as url, ExitStack() as first, ExitStack() as others:
        guard = pid.read_text().strip()
        files = Path("/proc", Path("/proc", guard, "task", guard, "children").read_text().strip(), "fd")
        before = len(os.listdir(files))
        _check_share(url)
        first.enter_context(_connection(url))
        for _ in range(MOST - 1):
            others.enter_context(_connection(url))
        assert before + MOST > SOFT  # more than it was started with
        assert len(os.listdir(files)) <= before + MOST + 2  # a file each, and what a request takes meanwhile
        with pytest.raises(InvalidStatus) as refused, _connection(url):
            pass
        assert refused.value.response.status_code == 503
        assert _status(url, "/?page=why") == (503, capacity.FULL.format(MOST))
        assert refused.value.response.body.decode() == capacity.FULL.format(MOST)
        status, page = _status(url, "/", Accept="text/html,*/*")
        assert status == 503
        assert capacity.FULL.format(MOST) in page
        assert '<meta http-equiv="refresh"' in page  # it opens by itself when there is room
        assert _status(url, "/_stcore/health")[0] == 200
        assert _status(url, "/favicon.png")[0] == 200
        first.close()
        _wait_until_open(url)
        others.enter_context(_connection(url))
        others.close()
        _wait_until_open(url)
        assert len(os.listdir(files)) <= before + 2  # nothing is kept for those that have left
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def test_fewer_sessions_are_taken_where_fewer_files_may_be_opened(
    settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for chosen, soft, most in ((500, 1024, 448), (20, 1024, 20), (500, resource.RLIM_INFINITY, 500), (5, 10, 1)):
        settings["sessions"] = chosen
        headlight_settings.cache_clear()
        monkeypatch.setattr(resource, "getrlimit", lambda kind, soft=soft: (soft, soft))
        assert capacity.max_sessions() == most


@pytest.mark.parametrize(
    ("chosen", "address", "most"),
    [(0, "192.0.2.1", 2), (5, "192.0.2.1", 5), (99, "192.0.2.1", 8), (1, "127.0.0.9", 8), (1, "::1", 8), (1, "", 8)],
)
def test_an_address_has_a_share_but_for_this_machines_own(
    chosen: int, address: str, most: int, settings: dict[str, object]
) -> None:
    settings.update(sessions=8, sessions_of_address=chosen)
    headlight_settings.cache_clear()
    assert capacity.max_sessions_of(address) == most


@pytest.mark.parametrize(
    ("limits", "raised"),
    [((1024, 4096), 4096), ((1024, resource.RLIM_INFINITY), 2**16), ((4096, 4096), None), ((2**17, 2**20), None)],
)
def test_the_limit_of_open_files_is_raised(
    limits: tuple[int, int], raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[tuple[int, int]]()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, to: calls.append(to))
    open_files.raise_files_limit()
    assert calls == ([] if raised is None else [(raised, limits[1])])
