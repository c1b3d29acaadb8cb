"""Protection in front of Streamlit: allowed hosts and addresses, and rules for browsers.

Streamlit itself compares a websocket's origin with addresses of this machine, for which it asks another machine, and
looks at the host of websockets alone.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import streamlit
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import get_option
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from headlight.app.server.flags import HEALTH
from headlight.app.server.settings import settings

STREAMLIT_HEALTH = "_stcore/health"
CLOSED = "_stcore/metrics", "_stcore/agent/"
PORTS = {"http": 80, "https": 443}
WRONG_HOST = (
    "This server is not meant to be reached by the host name {!r}. Use another of its names, or have it started with "
    "--allowed-hosts and this one."
)
WRONG_ORIGIN = "This request comes from a page of {!r}, and this server answers its own pages alone."
INDEX = Path(streamlit.__file__).parent / "static" / "index.html"
INLINE = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Protection:
    """ASGI middleware that refuses other hosts' and other origins' requests, and adds headers to every answer.

    The health addresses are open to any host, because what watches over a server asks by its number.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, refuse, or hand on without the origin, which has been looked at."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        path = scope["path"].removeprefix(f"/{get_option('server.baseUrlPath').strip('/')}").lstrip("/")
        reason = "" if path in (HEALTH, STREAMLIT_HEALTH) else refusal(headers.get("host", ""), headers.get("origin"))

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, policy in policies(INDEX).items():
                    answered.setdefault(name, policy)  # the manual has its own
            await send(message)

        if path.startswith(CLOSED) or reason:
            await _refuse(scope, receive, protected, reason)
            return
        passed = [(name, value) for name, value in scope["headers"] if name != b"origin"]
        await self.app({**scope, "headers": passed}, receive, protected)


async def _refuse(scope: Scope, receive: Receive, send: Send, reason: str) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": ""})  # before it is open: status 403
        return
    answer = PlainTextResponse(reason, 403) if reason else PlainTextResponse("There is nothing here.", 404)
    await answer(scope, receive, send)


def refusal(host: str, origin: str | None) -> str:
    """Why a request by a host name, from a page of an origin if it tells one, is not answered; empty if it is."""
    if not is_host_allowed(host or None):
        return WRONG_HOST.format(host)
    return "" if origin is None or _is_same(origin, host) else WRONG_ORIGIN.format(origin)


def _is_same(origin: str, host: str) -> bool:
    """Whether an origin is the requested host, port included; a default port may be left out."""
    try:
        page = urlsplit(origin)
        own = urlsplit(f"{page.scheme}://{host}")
        port = PORTS[page.scheme]
        return (page.hostname, page.port or port) == (own.hostname, own.port or port)
    except (KeyError, ValueError):  # "null" of a sandbox, another scheme, or a port that is none
        return False


@cache
def policies(*pages: Path) -> dict[str, str]:
    """Headers of every response that limit what a browser may do: only the scripts in these pages may run."""
    scripts = {script for page in pages for script in INLINE.findall(page.read_text(encoding="utf-8"))}
    hashes = "".join(f" 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in sorted(scripts))
    rules = {
        "default-src": "'self'",
        # Components' scripts come with the page's data, and Streamlit compiles WebAssembly, its own.
        "script-src": f"'self' blob: 'wasm-unsafe-eval'{hashes}",
        "style-src": "'self' 'unsafe-inline'",  # Streamlit writes its styles while it runs
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": " ".join(["'self'", *settings().frame_ancestors]),
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in rules.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
