"""Limit of sessions: one open file each, and a plain message for new ones when the server is full.

No visitor takes them all: an address has a share. Behind a proxy it is the one that the proxy tells, where uvicorn
trusts it: one on this machine, or at the addresses in FORWARDED_ALLOW_IPS.
"""

from asyncio import AbstractEventLoop
from collections import Counter
from functools import cache
from html import escape
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from streamlit import get_option
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession

from headlight.app.server import metrics, worker
from headlight.app.server.open_files import files_limit
from headlight.app.server.rates import RateLimit, network_of
from headlight.app.server.settings import is_loopback, settings

RESERVED = 128  # open files of the process itself: the log, models, scans, uploads
PER_SESSION = 2  # its websocket, and a connection that fetches files for it
SHARE = 4  # an address may have the sessions divided by this, where no setting says how many
FULL = (
    "This server has {:,} sessions open, which is as many as it takes. Close a tab that you need no more, "
    "or try again in a minute."
)
FULL_FOR_ADDRESS = (
    "This server has {:,} sessions open from your address, which is as many as it takes from one. Close a tab that you "
    "need no more, or try again in a minute."
)
FULL_INSIDE = (
    "This server is full: all of its {:,} sessions are open, and nobody else gets in. Close the tabs of Headlight that "
    "you need no more; this one goes on."
)
RETRY_SECONDS = 30  # after which the page of a full server asks again by itself
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="{seconds}">
<title>Headlight is full</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 20vh auto; padding: 0 1rem; }}
</style>
<h1>Headlight is full</h1>
<p>{reason}</p>
<p>This page asks again by itself every {seconds} seconds, and opens as soon as there is room. Keep it open.</p>
</html>
"""

TOO_MANY_UPLOADS = "Your address has uploaded as many files as this server takes within a minute. Try again in {} s."
UPLOADS = "/_stcore/upload_file/"

_open = Counter[str]()  # sessions by address


class Capacity:
    """ASGI middleware that counts websockets, and refuses them and the page itself where there are too many.

    It also refuses uploads where an address sends too many within a minute.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, counted where it is a websocket; status 503 and a message where the server is full."""
        is_websocket, address = scope["type"] == "websocket", visitor(scope)
        if _is_upload(scope) and (seconds := _uploads().seconds_until_free(address)):
            metrics.REFUSALS.labels("uploads").inc()
            answer: Response = PlainTextResponse(TOO_MANY_UPLOADS.format(seconds), 429, {"Retry-After": str(seconds)})
            await answer(scope, receive, send)
            return
        if (is_websocket or is_page(scope)) and (reason := _refusal(address)):
            metrics.REFUSALS.labels("sessions").inc()
            answer = _say_full(reason, "text/html" in Headers(scope=scope).get("accept", ""))
            if is_websocket:
                await WebSocket(scope, receive, send).send_denial_response(answer)
            else:
                await answer(scope, receive, send)
            return
        if not is_websocket:
            await self.app(scope, receive, send)
            return
        _open[address] += 1
        worker.tell_full(n_sessions() >= max_sessions())
        try:
            await self.app(scope, receive, send)
        finally:
            _open[address] -= 1
            if not _open[address]:
                del _open[address]
            worker.tell_full(n_sessions() >= max_sessions())


def _refusal(address: str) -> str:
    """Why one session more is not taken from an address; empty if it is."""
    if n_sessions() >= (most := max_sessions()):
        return FULL.format(most)
    most = max_sessions_of(address)
    return FULL_FOR_ADDRESS.format(most) if _open[address] >= most else ""


def _say_full(reason: str, is_for_browser: bool) -> Response:
    headers = {"Retry-After": f"{RETRY_SECONDS}", "Cache-Control": "no-store"}
    if is_for_browser:
        return HTMLResponse(PAGE.format(reason=escape(reason), seconds=RETRY_SECONDS), 503, headers)
    return PlainTextResponse(reason, 503, headers)


def full_inside() -> str:
    """What those who are inside read while the server is full; empty while it is not."""
    most = max_sessions()
    return FULL_INSIDE.format(most) if n_sessions() >= most else ""


def visitor(scope: Scope) -> str:
    """The address that a request comes from, of an IPv6 one the network that it is in; empty where none is known."""
    return network_of(str((scope.get("client") or ("",))[0]))


def n_sessions() -> int:
    """Number of sessions that are connected."""
    return _open.total()


def is_page(scope: Scope) -> bool:
    """Whether a request is for the page, not for a file that a session which is open needs."""
    return scope["type"] == "http" and scope["path"].strip("/") == get_option("server.baseUrlPath").strip("/")


def _is_upload(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in ("PUT", "POST") and UPLOADS in scope["path"]


def max_sessions() -> int:
    """The setting, or fewer where the system lets the process open fewer files."""
    return min(settings().sessions, max(1, (files_limit() - RESERVED) // PER_SESSION))


def max_sessions_of(address: str) -> int:
    """Maximum number of sessions of one address: all on this machine, where a proxy has the same address."""
    most = max_sessions()
    if not address or is_loopback(address):
        return most
    return min(most, settings().sessions_of_address or max(1, most // SHARE))


@cache
def _uploads() -> RateLimit:
    return RateLimit(settings().uploads_per_minute)


class _NoLoop(AbstractEventLoop):
    """The event loop of sessions' threads, whose scripts run none."""

    def is_running(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return False


def _begun(session: AppSession, *args: Any, **named: Any) -> None:
    """A session without an event loop of its own: three open files, until minutes after it has ended."""
    _begin(session, *args, **named)
    session._script_event_loop.close()
    session._script_event_loop = _NO_LOOP


_NO_LOOP = _NoLoop()  # type: ignore[abstract]
_begin = AppSession.__init__


def spare_files() -> None:
    """Have Streamlit open no files for a session besides its websocket, for which it has no setting."""
    AppSession.__init__ = _begun  # type: ignore[method-assign, assignment]
    app_session._close_script_event_loop = lambda loop: None
