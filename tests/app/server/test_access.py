"""Servers that ask for a token, or for the user whom a proxy names: over HTTP and over the websocket of a session."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from headlight.app.server.access import COOKIE, NO_TOKEN, NO_USER, Access, Forwarded
from tests.serving import headlight
from tests.sessions.client import Client
from tests.sessions.expected import answer, said

TOKEN = "a secret+&"
LINK = "/?prompt=one%20two%20three&token=a%20secret%2B%26"


def _get(url: str, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, dict(response.getheaders()), text


def _is_refused(url: str, **headers: str) -> bool:
    """Whether a session is, also by the end of an address that is open to all."""
    with pytest.raises(InvalidStatus) as by_health, connect(f"{url.replace('http', 'ws', 1)}/_stcore/stream/healthz"):
        pass
    assert by_health.value.response.status_code == 401
    with pytest.raises(InvalidStatus) as refused, Client(url, headers=headers):
        pass
    return refused.value.response.status_code == 401


def test_nobody_gets_in_without_the_token_and_who_has_it_keeps_it(tmp_path: Path) -> None:
    with headlight(tmp_path, "--threads=1", "--require-token", TOKEN) as url:
        for path in ("/", "/?token=another", "/_stcore/host-config", "/fetch/name/0/0", "/metrics"):
            assert _get(url, path)[::2] == (401, NO_TOKEN)
        assert _get(url, "/healthz")[0] == 200
        assert _is_refused(url)
        assert _is_refused(url, Cookie=f"{COOKIE}={'0' * 64}")
        assert _is_refused(url, Authorization="Bearer another")
        status, headers, _ = _get(url, LINK)
        headers = {name.lower(): value for name, value in headers.items()}
        assert (status, headers["location"]) == (303, "?prompt=one+two+three")  # the token is seen no more
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert TOKEN not in cookie
        kept = {"Cookie": cookie.partition(";")[0]}
        assert _get(url, "/", **kept)[0] == 200
        for welcome in (kept, {"Authorization": f"Bearer {TOKEN}"}):
            with Client(url, headers=welcome) as client:
                client.submit("one two three", True)
                assert said(client.texts).same(answer("one two three", True))
    assert TOKEN not in (tmp_path / "log.txt").read_text()


def test_whom_the_proxy_does_not_name_is_refused(tmp_path: Path) -> None:
    with headlight(tmp_path, "--threads=1", "--user-header", "X-Remote-User") as url:
        assert _get(url, "/")[::2] == (401, NO_USER)
        assert _get(url, "/", **{"X-Remote-User": " "})[0] == 401
        assert _is_refused(url)
        assert _get(url, "/", **{"X-Remote-User": "ada"})[0] == 200
        with Client(url, headers={"X-Remote-User": "ada"}) as client:
            client.submit("one two three", True)
            assert said(client.texts).same(answer("one two three", True))


def _status(peer: str, **headers: str) -> int:
    """What a request by an address is answered."""
    said = list[Message]()

    async def send(message: Message) -> None:
        said.append(message)

    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "client": (peer, 1), "headers": raw}
    asked = Forwarded(Access(PlainTextResponse("in")))(scope | {"scheme": "http"}, None, send)  # type: ignore[arg-type]
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        other.submit(asyncio.run, asked).result()
    return int(said[0]["status"])


def test_a_name_is_believed_of_a_proxy_alone(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches the port may write a header, and say that it is forwarded."""
    settings["user_header"] = "X-Remote-User"
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "172.16.0.0/12")
    user = {"X-Remote-User": "ada"}
    told = user | {"X-Forwarded-For": "203.0.113.5"}
    assert _status("203.0.113.5", **user) == 401
    assert _status("203.0.113.5", **user, **{"X-Forwarded-For": "172.16.0.9"}) == 401
    assert _status("203.0.113.5", **user, **{"X-Forwarded-For": "127.0.0.1:80"}) == 401
    assert [_status(proxy, **told) for proxy in ("127.0.0.1", "::1", "172.16.0.9")] == [200, 200, 200]
    assert _status("172.16.0.9", **{"X-Forwarded-For": "203.0.113.5"}) == 401
