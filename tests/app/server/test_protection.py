"""Whose requests are answered: the hosts and origins that are meant, of a running server too, which asks nobody."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest
import streamlit
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from headlight.app.server.protection import INDEX, policies, refusal
from headlight.app.server.settings import settings as headlight_settings
from tests.places import ROOT
from tests.serving import headlight

HOSTS = ["localhost", "127.0.0.1", "::1", "headlight.example", "*.b.example"]
SAME = [
    ("127.0.0.1:8501", None),
    ("localhost:8501", "http://localhost:8501"),
    ("[::1]:8501", "http://[::1]:8501"),
    ("headlight.example", "https://headlight.example"),
    ("headlight.example:443", "https://headlight.example"),
    ("Headlight.Example:8443", "https://headlight.example:8443"),
    ("a.b.example", "https://a.b.example"),
]
FOREIGN = [
    ("127.0.0.1:8501", "https://evil.example"),
    ("127.0.0.1:8501", "http://127.0.0.1:8502"),
    ("127.0.0.1:8501", "http://localhost:8501"),
    ("127.0.0.1:8501", "http://127.0.0.1"),
    ("127.0.0.1:8501", "null"),
    ("127.0.0.1:8501", ""),
    ("127.0.0.1:8501", "file://"),
    ("127.0.0.1:8501", "chrome-extension://127.0.0.1:8501"),
    ("127.0.0.1:8501", "http://127.0.0.1:8501.evil.example"),
    ("127.0.0.1:8501", "http://[::1"),
    ("headlight.example", "http://headlight.example:8080"),
    ("evil.example", None),
    ("evil.example", "http://evil.example"),
    ("headlight.example.evil.example", None),
    ("127.0.0.1:port", None),
    ("", None),
]


@pytest.mark.parametrize(("host", "origin"), [*SAME, *FOREIGN])
def test_an_origin_is_answered_that_is_the_host_asked_and_a_host_that_is_meant(
    host: str, origin: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamlit.config, "get_option", {"server.allowedHosts": HOSTS}.__getitem__)
    reason = refusal(host, origin)
    assert bool(reason) == ((host, origin) in FOREIGN)
    assert not reason or repr(host) in reason or repr(origin) in reason


def test_no_site_may_show_the_page_in_a_frame_unless_a_setting_says_so(settings: dict[str, object]) -> None:
    for sites, expected in (((), "'self'"), (("https://a.example",), "'self' https://a.example")):
        settings["frame_ancestors"] = sites
        policies.cache_clear()
        headlight_settings.cache_clear()
        rules = dict(rule.split(" ", 1) for rule in policies(INDEX)["Content-Security-Policy"].split("; "))
        assert rules["frame-ancestors"] == expected
    policies.cache_clear()


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server that listens on every address, as in a container, and its log."""
    folder = tmp_path_factory.mktemp("everywhere")
    with headlight(folder, "--address", "0.0.0.0", "--allowed-hosts", "127.0.0.1,a.example", "--threads", "1") as url:
        yield url, folder / "log.txt"


@dataclass(frozen=True)
class Answer:
    """What a request got."""

    status: int
    headers: dict[str, str]
    text: str


def _get(url: str, path: str, **headers: str) -> Answer:
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=60)) as connection:
        connection.request("GET", quote(path), headers=headers)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.headers.items()}
        return Answer(answer.status, named, answer.read().decode(errors="replace"))


def _stream(url: str, **headers: str) -> ClientConnection:
    return connect(f"{url.replace('http', 'ws', 1)}/_stcore/stream", additional_headers=headers, proxy=None)


def test_a_foreign_page_is_refused_at_once(everywhere: tuple[str, Path]) -> None:
    url, _ = everywhere
    other = url.replace(url.rpartition(":")[2], "1")
    for headers in ({"Origin": "https://evil.example"}, {"Origin": other}, {"Host": "evil.example"}):
        if "Origin" in headers:
            with pytest.raises(InvalidStatus) as refused:
                _stream(url, **headers)
            assert refused.value.response.status_code == 403
        answer = _get(url, "/", **headers)
        assert answer.status == 403
        assert "evil.example" in answer.text or other in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert _get(url, "/_stcore/health", **headers).status == 200
    for path in ("/_stcore/metrics", "//_stcore/metrics", "/_stcore/agent/openapi.json"):
        assert _get(url, path).status == 404


def test_its_own_page_is_answered_with_the_policies_of_browsers(everywhere: tuple[str, Path]) -> None:
    url, log = everywhere
    for path in ("/", "/_stcore/health", "/_stcore/host-config", "/nothing", "/_stcore/metrics"):
        answer = _get(url, path, Origin=url)
        assert answer.headers | {name.lower(): value for name, value in policies(INDEX).items()} == answer.headers
        assert "access-control-allow-origin" not in answer.headers
    assert f"URL: http://localhost:{url.rpartition(':')[2]}" in log.read_text()


@pytest.mark.parametrize("place", ["9" * 5000, "1e3", "-1", "٣", "x", "0x1"])
def test_a_place_that_is_no_number_is_refused_with_a_message(place: str, everywhere: tuple[str, Path]) -> None:
    for path in (f"/fetch/name/{place}/0", f"/fetch/name/0/{place}"):
        answer = _get(everywhere[0], path)
        assert answer.status == 400
        assert "have to be whole numbers" in answer.text


def test_no_visitor_is_told_where_the_server_lies(everywhere: tuple[str, Path]) -> None:
    with _stream(everywhere[0], Origin=everywhere[0]) as line:
        line.send(BackMsg(rerun_script={"query_string": "model=mini&model_b=/etc/passwd"}).SerializeToString())
        heard = [bytes(line.recv(60))]
        while (message := ForwardMsg.FromString(heard[-1])).WhichOneof("type") != "script_finished":
            assert not message.new_session.main_script_path
            heard.append(bytes(line.recv(60)))
    assert len(heard) > 10
    assert str(ROOT).encode() not in b"".join(heard)
