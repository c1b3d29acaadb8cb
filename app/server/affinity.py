"""Which of several workers a request belongs to: the one that has its visitor's sessions."""

import re
from zlib import crc32

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from headlight.app.server.rates import network_of

COOKIE, PARAMETER = "headlight_worker", "worker"
NUMBER = re.compile(rf"(?:^|;\s*){COOKIE}=(\d{{1,4}})(?:;|$)")
ASKED = re.compile(rf"(?:^|&){PARAMETER}=(\d{{1,4}})(?:&|$)")


def scope_of(head: bytes, peer: str) -> Scope:
    """What a request's head says, as ASGI has it; of a head that is none, nothing."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    path, _, query = rest.partition(" ")[0].partition("?")
    headers = [(name.lower().encode("latin-1"), text.strip().encode("latin-1")) for name, _, text in map(_parts, lines)]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode("latin-1")}
    return scope | {"headers": headers, "client": (peer, 0), "scheme": "http"}


def _parts(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def named_worker(scope: Scope, n_workers: int) -> int | None:
    """The worker that a request names, in its address or by the visitor's cookie; None where it names none."""
    by_address = ASKED.search(scope["query_string"].decode("latin-1"))
    match = by_address or NUMBER.search(Headers(scope=scope).get("cookie", ""))
    return number if match and (number := int(match[1])) < n_workers else None


def is_document(scope: Scope) -> bool:
    """Whether a browser asks for a page, of which any worker has the same."""
    return (
        scope["type"] == "http" and scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
    )


async def worker_by_address(scope: Scope, trusted_proxies: str, n_workers: int) -> int:
    """The same worker for all requests of one address, as for a browser that keeps no cookies in a frame."""
    visitors = list[str]()

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        visitors.append(scope["client"][0])

    await ProxyHeadersMiddleware(note, trusted_proxies)(scope, None, None)  # type: ignore[arg-type]
    return crc32(network_of(visitors[0]).encode()) % n_workers
