"""A file that was sent once is sent again without a look at it, as it was; all else is left to the app."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.kept_files import KeptFiles

HEADERS = [(b"content-type", b"text/javascript"), (b"cache-control", b"public, immutable")]


class _Files:
    """An app with one file, which comes in two parts, a page for all others there, and how often it was asked."""

    asked = 0
    breaks_off = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        path = scope["path"]
        headers = HEADERS if "index" in path else [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": 404 if "none" in path else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        if not self.breaks_off:
            await send({"type": "http.response.body", "body": str(self.asked).encode()})


def _answer(app: KeptFiles, path: str = "/static/js/index.js", **scope: Any) -> tuple[int, list[Any], bytes]:
    told: list[Message] = []

    async def send(message: Message) -> None:
        told.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    request = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept", b"*/*")]} | scope
    with ThreadPoolExecutor(1) as other:  # in this thread a browser's test may have a loop of its own
        other.submit(asyncio.run, app(request, receive, send)).result()
    begin, *parts = told
    return begin["status"], begin["headers"], b"".join(part["body"] for part in parts)


def test_a_file_is_asked_for_once_and_sent_as_it_was() -> None:
    files = _Files()
    app = KeptFiles(files)
    assert _answer(app) == _answer(app) == (200, HEADERS, b"one 1")
    assert files.asked == 1


def test_a_file_that_ends_early_is_not_kept() -> None:
    files = _Files()
    files.breaks_off = True
    app = KeptFiles(files)
    assert _answer(app) == (200, HEADERS, b"one ")
    files.breaks_off = False
    assert _answer(app) == (200, HEADERS, b"one 2")


@pytest.mark.parametrize(
    "scope",
    [
        {"path": "/static/js/other.js"},
        {"path": "/static/none/index.js"},
        {"path": "/static/js//index.js"},  # a file has any number of such names
        {"path": "/static/js/./index.js"},
        {"path": "/"},
        {"path": "/fetch/static/0/0"},
        {"method": "HEAD"},
        {"headers": [(b"range", b"bytes=0-1")]},
        {"headers": [(b"if-none-match", b"etag")]},
        {"type": "websocket"},
    ],
)
def test_what_is_no_whole_file_is_asked_for_each_time(scope: dict[str, Any]) -> None:
    files = _Files()
    app = KeptFiles(files)
    _answer(app)
    for _ in range(2):
        _answer(app, **scope)
    assert files.asked == 3
