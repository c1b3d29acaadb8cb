"""The manual is served beside the page where it has been built, under policies that its own scripts pass."""

import asyncio
import re
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import Message, Scope

from headlight.app.server import manual
from headlight.app.server.protection import INDEX, Protection, policies

SCRIPT = "document.title = 'A manual'"
PAGE = f'<html><script>{SCRIPT}</script><script type="application/json">{{}}</script></html>'
BUILT = pytest.mark.skipif(not (manual.SITE / "index.html").is_file(), reason="make docs has not been run")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "pages").mkdir()
    for name in ("index.html", "404.html", "pages/index.html"):
        (tmp_path / name).write_text(PAGE)
    (tmp_path / "search.js").write_text("1")
    return tmp_path


def _get(app: Starlette, path: str) -> tuple[int, dict[str, str], str]:
    """The status, headers and text of an answer."""
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()  # the client says nothing more, and stays
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "root_path": "",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        other.submit(asyncio.run, app(scope, receive, send)).result()
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(message.get("body", b"") for message in sent[1:]).decode()


def _server(site: Path, monkeypatch: pytest.MonkeyPatch) -> Starlette:
    options = {"server.allowedHosts": ["localhost"], "server.baseUrlPath": ""}
    monkeypatch.setattr(streamlit.config, "get_option", options.__getitem__)
    monkeypatch.setattr("headlight.app.server.protection.get_option", options.__getitem__)
    return Starlette(routes=manual.routes(site), middleware=[Middleware(Protection)])


@pytest.mark.parametrize("path", ["/manual/", "/manual/pages/", "/manual/search.js", "/manual/nothing/"])
def test_its_files_are_served_and_their_scripts_may_run(path: str, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, headers, text = _get(_server(site, monkeypatch), path)
    assert (status, text) == (404 if "nothing" in path else 200, "1" if path.endswith(".js") else PAGE)
    digest = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in headers["content-security-policy"]
    assert "'unsafe-inline'" not in headers["content-security-policy"].split("style-src")[0]
    theirs = {name.lower(): value for name, value in policies(INDEX).items()} | headers
    assert theirs == headers  # it has every policy that the page has
    assert digest not in policies(INDEX)["Content-Security-Policy"]


def test_no_file_beside_it_is_served(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.parent / "secret.txt").write_text("secret")
    for path in ("/manual/../secret.txt", "/manual/%2e%2e/secret.txt", "/manual//secret.txt"):
        assert "secret" not in _get(_server(site, monkeypatch), path)[2]


def test_the_menu_leads_to_it_where_it_has_been_built(site: Path, tmp_path: Path) -> None:
    assert manual.menu_item("https://a.example/", site) == {"Get help": "https://a.example/manual/"}
    assert manual.menu_item(None, site) == {}
    assert manual.menu_item("https://a.example/", tmp_path / "nowhere") == {}
    assert manual.routes(tmp_path / "nowhere") == []


@BUILT
def test_the_built_manual_loads_nothing_from_elsewhere() -> None:
    loads = r"<(?:script|img|iframe|source)[^>]* src(?:set)?=\"?(https?:[^\" >]+)|<link[^>]* href=\"?(https?:[^\" >]+)"
    for page in manual.SITE.rglob("*.html"):
        assert not re.findall(loads, page.read_text(encoding="utf-8")), page.name


@BUILT
def test_the_built_manual_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, text = _get(_server(manual.SITE, monkeypatch), "/manual/")
    assert status == 200
    assert "<title>Headlight</title>" in text
