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

from headlight.app.server import capacity
from headlight.app.server.settings import settings as headlight_settings
from tests.serving import headlight

SOFT, HARD = 40, 200
MOST = (HARD - capacity.RESERVED) // capacity.PER_SESSION
# It becomes the server, whose number it has.
LIMITED = f'echo $$ > "$0"; ulimit -Sn {SOFT} && ulimit -Hn {HARD} && exec "$@"'


def _connection(url: str) -> ClientConnection:
    return connect(f"{url.replace('http', 'ws', 1)}/_stcore/stream", proxy=None, open_timeout=60)


def _status(url: str, path: str) -> tuple[int, str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", path)
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


@pytest.mark.skipif(sys.platform != "linux", reason="it counts the server's open files in /proc")
def test_a_full_server_says_so_and_takes_the_next_when_one_has_left(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = "sh", "-c", LIMITED, str(pid), sys.executable, "-m", "headlight.app"
    with headlight(tmp_path, "--threads", "1", command=command) as url, ExitStack() as first, ExitStack() as others:
        files = Path("/proc", pid.read_text().strip(), "fd")
        before = len(os.listdir(files))
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
        monkeypatch.setattr(capacity.resource, "getrlimit", lambda of, soft=soft: (soft, soft))
        assert capacity.max_sessions() == most


@pytest.mark.parametrize(
    ("limits", "raised"),
    [((1024, 4096), 4096), ((1024, resource.RLIM_INFINITY), 2**16), ((4096, 4096), None), ((2**17, 2**20), None)],
)
def test_the_limit_of_open_files_is_raised(
    limits: tuple[int, int], raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[int, int]]()
    monkeypatch.setattr(capacity.resource, "getrlimit", lambda of: limits)
    monkeypatch.setattr(capacity.resource, "setrlimit", lambda of, to: asked.append(to))
    capacity.raise_files_limit()
    assert asked == ([] if raised is None else [(raised, limits[1])])
